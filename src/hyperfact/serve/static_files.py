"""The files of the page: a frozen list, each with a mark of its content in its address."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256

from hyperfact.draw.pages.environment import static_content
from hyperfact.draw.svg import STYLE

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
_NAMES = (
    *("page.css", "service.css", "parts.css", "mark.svg"),
    *("names.js", "question.js", "query.js", "query.css", "page.js", "map.js"),
)
_DRAWING = "drawing.css"


@dataclass(frozen=True)
class StaticFile:
    """A file as it is sent."""

    name: str
    content: bytes
    kind: str  # for the header content-type

    @property
    def mark(self) -> str:
        """Another content has another mark, so a browser may keep the file for good."""
        return sha256(self.content).hexdigest()[:12]

    @property
    def address(self) -> str:
        """Where the page finds it."""
        return f"/static/{self.name}?v={self.mark}"


@lru_cache
def static_files() -> Mapping[str, StaticFile]:
    """Every file by its name; read once."""
    contents = {name: static_content(name) for name in _NAMES}
    contents[_DRAWING] = STYLE.encode("utf-8")
    return {
        name: StaticFile(name, content, _TYPES["." + name.rpartition(".")[2]])
        for name, content in contents.items()
    }


def static_address(name: str) -> str:
    """Where the page finds a file."""
    return static_files()[name].address
