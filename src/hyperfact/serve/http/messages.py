"""What passes between the wire and the application: the types of ASGI, and a whole response."""

from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]


@dataclass(frozen=True)
class Response:
    """A whole response; whoever writes it adds its length."""

    status: int
    headers: Headers
    body: bytes
