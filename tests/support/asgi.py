"""Asks an ASGI app directly, without a server."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

App = Any


@dataclass(frozen=True)
class Reply:
    """What the app said."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def text(self) -> str:
        return self.content.decode("utf-8")


def get(app: App, path: str, query: Any = (), **headers: str) -> Reply:
    """A GET as a browser on this machine sends it; a redirect is not followed."""
    parts = urlsplit(path)
    text = urlencode(query, quote_via=quote, doseq=True) if query else parts.query
    sent = {"host": "127.0.0.1", "accept": "text/html", **headers}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": parts.path,
        "raw_path": parts.path.encode(),
        "root_path": "",
        "query_string": text.encode(),
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in sent.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    messages: list[Mapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Mapping[str, Any]) -> None:
        messages.append(message)

    asyncio.run(app(scope, receive, send))
    start = messages[0]
    found = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return Reply(start["status"], found, b"".join(m.get("body", b"") for m in messages[1:]))
