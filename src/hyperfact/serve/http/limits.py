"""What one client may take."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Seconds and sizes; beyond them a client is refused or dropped."""

    idle: float = 5.0  # seconds until the first byte of a request
    request: float = 9.0  # seconds for the rest of it
    response: float = 10.0  # seconds to take the response
    linger: float = 0.5  # seconds in which the rest of a refused request is thrown away
    header_bytes: int = 32_768
    headers: int = 100
    target: int = 8_192  # bytes of the address
    body: int = 2**20
    chunks: int = 4_096  # pieces of a body
