"""What stands before every route: who may ask, how many at once, the headers of every answer."""

import logging
import re
from collections.abc import Callable, Iterable, Mapping

from starlette.exceptions import HTTPException
from starlette.responses import Response

from hyperfact.errors import (
    FactSyntaxError,
    HyperfactError,
    NumericalError,
    UnknownNameError,
    UserError,
)
from hyperfact.serve.http.messages import App, Message, Receive, Scope, Send
from hyperfact.serve.http.refusals import CODES, RefusedError, error_json, with_common
from hyperfact.serve.requests import RequestError

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::(\d{1,5}))?")
_FAMILIES: tuple[tuple[type[HyperfactError], int, str], ...] = (
    (RequestError, 400, "invalid_request"),
    (UnknownNameError, 404, "unknown_name"),
    (FactSyntaxError, 400, "bad_question"),
    (UserError, 400, "bad_request"),
    (NumericalError, 500, "not_a_number"),
)
_LOG = logging.getLogger(__name__)


def error_body(error: Exception) -> bytes:
    """What a client reads of an error, as JSON."""
    _, code, message, _ = _described(error)
    return error_json(code, message)


def _described(error: Exception) -> tuple[int, str, str, Mapping[str, str]]:
    """Status, code, message and further headers."""
    if isinstance(error, RefusedError):
        return error.status, CODES[error.status], error.message, error.headers
    if isinstance(error, HTTPException):
        code = CODES.get(error.status_code, "error")
        return error.status_code, code, error.detail, error.headers or {}
    for family, status, code in _FAMILIES:
        if isinstance(error, family):
            return status, code, str(error), {}
    return 500, CODES[500], "something went wrong here; the log of the service says what", {}


class Guard:
    """The outermost layer of the app.

    Args:
        app: What is guarded.
        hosts: Names under which the service may be asked, beside those of this machine.
        at_once: Requests in work; others are refused at once.
        page: Makes an error page for people; called with status and message.
    """

    def __init__(
        self,
        app: App,
        *,
        hosts: Iterable[str] = (),
        at_once: int = 64,
        page: Callable[[int, str], Response] | None = None,
    ) -> None:
        self.app, self.at_once, self.in_work = app, at_once, 0
        self.hosts = LOOPBACK | {host.lower() for host in hosts}
        self._page = page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check, count, answer."""
        if scope["type"] != "http":
            raise RuntimeError(f"no {scope['type']} here")

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = with_common(message.get("headers", ()))
            await send(message)

        scope["app"] = self  # so that the router raises, and every error is written here
        try:
            self._check(scope)
            await self._counted(scope, receive, send_with_headers)
        except Exception as error:
            if _described(error)[0] == 500:
                _LOG.exception("internal error")
            await self._response(scope, error)(scope, receive, send_with_headers)

    async def _counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] == "/api/health":
            await self.app(scope, receive, send)
            return
        if self.in_work >= self.at_once:
            raise RefusedError(503, f"{self.at_once} requests are in work; try again in a second")
        self.in_work += 1
        try:
            await self.app(scope, receive, send)
        finally:
            self.in_work -= 1

    def _response(self, scope: Scope, error: Exception) -> Response:
        status, _, message, extra = _described(error)
        for_people = any(
            name == b"accept" and b"text/html" in value for name, value in scope["headers"]
        )
        if self._page is None or not for_people or scope["path"].startswith("/api"):
            body = error_body(error)
            return Response(body, status, headers=extra, media_type="application/json")
        response = self._page(status, message)
        response.headers.update(extra)
        return response

    def _check(self, scope: Scope) -> None:
        """Refuse requests to another host, and those that another site made a browser send."""
        headers: dict[bytes, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value.decode("latin-1"))
        host = headers.get(b"host", [])
        found = _HOST.fullmatch(host[0]) if len(host) == 1 else None
        if found is None:
            raise RefusedError(400, "the Host header is missing or malformed")
        if found.group(1).lower() not in self.hosts:
            raise RefusedError(421, "this service does not answer for that host (--allow-host)")
        for origin in headers.get(b"origin", []):
            if origin.lower() not in {f"{s}://{host[0].lower()}" for s in ("http", "https")}:
                raise RefusedError(403, "requests of other sites are refused")
        site, mode = (headers.get(n, [""])[-1] for n in (b"sec-fetch-site", b"sec-fetch-mode"))
        followed = site == "same-site" and mode == "navigate" and scope["method"] == "GET"
        if site not in ("", "same-origin", "none") and not followed:
            raise RefusedError(403, "requests of other sites are refused")
