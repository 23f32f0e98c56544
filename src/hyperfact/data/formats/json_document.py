"""One JSON document, walked member by member, so that every complaint has its line."""

import json
import re
from collections.abc import Callable
from typing import Any

from hyperfact.data.formats.json_rows import strict_json
from hyperfact.errors import FormatError
from hyperfact.system.source import Fault, Source

_SPACE = re.compile(r"[ \t\n\r]*")
Handle = Callable[[str, str, Any, int], None]


def walk(source: Source, handle: Handle, *, inside: frozenset[str]) -> set[str]:
    """Give the members of the top object to `handle`: key, inner key, value and line.

    Args:
        source: a file that is one JSON object.
        handle: called in the order of the file; what it finds wrong gets the member's line.
        inside: keys whose list or object is given member by member.

    Returns:
        The keys of the top object.
    """
    walker = _Walker(source.text(), handle)
    try:
        return walker.top(inside)
    except json.JSONDecodeError as error:
        reason = f"not JSON: {error.msg} at column {error.colno}"
        raise FormatError(source.path, error.lineno, reason) from None
    except Fault as fault:
        raise FormatError(source.path, walker.line, str(fault)) from None


class _Walker:
    def __init__(self, text: str, handle: Handle):
        self._text, self._handle = text, handle
        self._decode = json.JSONDecoder().raw_decode
        self._place = self._counted = 0
        self._line = 1

    @property
    def line(self) -> int:
        """The line of the member at hand."""
        self._line += self._text.count("\n", self._counted, self._place)
        self._counted = self._place
        return self._line

    def top(self, inside: frozenset[str]) -> set[str]:
        """The whole document; its keys."""
        at = self._expect("{", 0)
        seen: set[str] = set()
        if self._peek(at) == "}":
            return self._end(at + 1, seen)
        while True:
            key, at = self._key(at, seen)
            if key in inside and self._peek(at) in "[{":
                at = self._inner(key, at)
            else:
                at = self._member(key, "", at)
            if self._peek(at) == "}":
                return self._end(at + 1, seen)
            at = self._expect(",", at)

    def _inner(self, key: str, at: int) -> int:
        closing = "]" if self._text[at] == "[" else "}"
        at = self._skip(at + 1)
        if self._peek(at) == closing:
            return self._skip(at + 1)
        seen: set[str] = set()
        while True:
            name, at = ("", at) if closing == "]" else self._key(at, seen)
            at = self._member(key, name, at)
            if self._peek(at) == closing:
                return self._skip(at + 1)
            at = self._expect(",", at)

    def _key(self, at: int, seen: set[str]) -> tuple[str, int]:
        self._place = at
        if self._peek(at) != '"':
            raise json.JSONDecodeError("expected a key in double quotes", self._text, at)
        key, end = self._decode(self._text, at)
        strict_json(self._text[at:end])
        if key in seen:
            raise Fault(f"the key {key!r} stands twice; the first value would be lost")
        seen.add(key)
        return key, self._expect(":", self._skip(end))

    def _member(self, key: str, name: str, at: int) -> int:
        self._place = at
        try:
            _, end = self._decode(self._text, at)
        except json.JSONDecodeError:
            raise
        except (RecursionError, ValueError):
            raise Fault("nested too deeply, or a number of too many digits") from None
        self._handle(key, name, strict_json(self._text[at:end]), self.line)
        return self._skip(end)

    def _peek(self, at: int) -> str:
        if at >= len(self._text):
            raise json.JSONDecodeError("the document is cut off", self._text, at)
        return self._text[at]

    def _expect(self, char: str, at: int) -> int:
        at = self._skip(at)
        if self._peek(at) != char:
            raise json.JSONDecodeError(f"expected {char!r}", self._text, at)
        return self._skip(at + 1)

    def _skip(self, at: int) -> int:
        match = _SPACE.match(self._text, at)
        return match.end() if match else at

    def _end(self, at: int, keys: set[str]) -> set[str]:
        if self._skip(at) != len(self._text):
            raise json.JSONDecodeError("text behind the document", self._text, self._skip(at))
        return keys
