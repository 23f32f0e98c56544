"""Requests that are refused: codes, the body of every error, the headers of every response."""

import json
from collections.abc import Iterable

from hyperfact.serve.http.messages import Headers, Response

#: On every response, also on those that the application has not made.
HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
)
#: A word for each status that stays the same.
CODES = {
    400: "bad_request",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "timeout",
    413: "too_large",
    414: "address_too_long",
    415: "unsupported_media_type",
    421: "wrong_host",
    431: "headers_too_large",
    500: "internal",
    503: "overloaded",
}


class RefusedError(Exception):
    """A request that is refused, with a status and one line for people."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status, self.message = status, message

    @property
    def headers(self) -> dict[str, str]:
        """What the response says beside; a busy service says when to come again."""
        return {"retry-after": "1"} if self.status == 503 else {}


def error_json(code: str, message: str) -> bytes:
    """The body of every error."""
    text = " ".join(message.split())[:1000]
    return json.dumps({"error": {"code": code, "message": text}}, separators=(",", ":")).encode()


def with_common(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Headers of a response with those that every response has."""
    given = [(name.lower(), value) for name, value in headers]
    names = {name for name, _ in given}
    extra = [] if b"cache-control" in names else [(b"cache-control", b"no-store")]
    return [*given, *extra, *HEADERS]


def refused(error: RefusedError) -> Response:
    """The response to a request that the application never sees."""
    pairs = {"content-type": "application/json", **error.headers}
    headers = [(name.encode(), value.encode()) for name, value in pairs.items()]
    body = error_json(CODES[error.status], error.message)
    return Response(error.status, with_common(headers), body)
