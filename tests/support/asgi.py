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
    return _sent(app, "GET", parts.path, text, b"", {"accept": "text/html", **headers})


def post(app: App, path: str, body: bytes, **headers: str) -> Reply:
    """A POST as a program on this machine sends it."""
    return _sent(app, "POST", path, "", body, {"content_type": "application/json", **headers})


def _sent(
    app: App, method: str, path: str, query: str, body: bytes, headers: Mapping[str, str]
) -> Reply:
    sent = {"host": "127.0.0.1", **headers}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "root_path": "",
        "query_string": query.encode(),
        "headers": [(k.replace("_", "-").encode(), v.encode()) for k, v in sent.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 80),
    }
    messages: list[Mapping[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Mapping[str, Any]) -> None:
        messages.append(message)

    asyncio.run(app(scope, receive, send))
    start = messages[0]
    found = {name.decode().lower(): value.decode() for name, value in start["headers"]}
    return Reply(start["status"], found, b"".join(m.get("body", b"") for m in messages[1:]))
