"""A whole request to the app, and its whole response."""

import asyncio
from typing import Any
from urllib.parse import unquote_to_bytes

from hyperfact.serve.http.messages import App, Message, Response
from hyperfact.serve.http.refusals import RefusedError

_LENGTH = b"content-length"  # whoever writes the response knows it


async def answered(app: App, scope: dict[str, Any], body: bytes) -> Response:
    """The response of an app to a request."""
    heads: list[Message] = []
    parts: list[bytes] = []
    sent = False

    async def receive() -> Message:
        nonlocal sent
        if sent:
            await asyncio.Future()  # there is nothing more to come
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Message) -> None:
        if message["type"] == "http.response.start":
            heads.append(message)
        else:
            parts.append(message.get("body", b""))

    await app(scope, receive, send)
    headers = [(name, value) for name, value in heads[0]["headers"] if name != _LENGTH]
    return Response(heads[0]["status"], headers, b"".join(parts))


def address_of(target: bytes) -> dict[str, Any]:
    """Path and query of an address.

    Raises:
        RefusedError: It is none: not from the root, not UTF-8, or with what no address here has.
    """
    path, _, query = target.partition(b"?")
    if not path.startswith(b"/"):
        raise RefusedError(400, "an address begins with /")
    try:
        target.decode("ascii")
        text = unquote_to_bytes(path).decode("utf-8")
        unquote_to_bytes(query).decode("utf-8")
    except UnicodeDecodeError:
        raise RefusedError(400, "an address is ASCII, anything else in it UTF-8 after %") from None
    if "\\" in text or "#" in text or not text.isprintable():
        raise RefusedError(400, "the address holds characters that no address here has")
    if any(part in (".", "..") for part in text.split("/")):
        raise RefusedError(400, "the address holds . or .. as a step")
    return {"path": text, "raw_path": path, "query_string": query}
