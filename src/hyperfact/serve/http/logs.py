"""One line for each request, whatever the request holds."""

from datetime import UTC, datetime

#: Bytes of a line at most, its end included.
LONGEST = 1024
_SHOWN = 800  # characters of the address


def line(*, client: str, method: str, target: str, status: int, seconds: float, size: int) -> str:
    """The line of one request.

    Args:
        client: Where it came from.
        method: As it was sent.
        target: The address as it was sent, not decoded.
        status: Of the response.
        seconds: From the first byte of the request to the last of the response.
        size: Bytes of the response's body.
    """
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    shown = target if len(target) <= _SHOWN else f"{target[:_SHOWN]}..."
    words = (client, method[:20], shown)
    safe = " ".join(escaped(word) for word in words)
    return f"{now} {safe}"[: LONGEST - 40] + f" {status} {seconds * 1e3:.1f}ms {size}B\n"


def escaped(text: str) -> str:
    """Text that is one word on one line and moves no cursor."""
    return "".join(c if "!" <= c <= "~" and c != "\\" else f"\\x{ord(c):02x}" for c in text)
