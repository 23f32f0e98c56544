"""The N-Triples form of a literal, taken apart and put together: `"3.73"^^<km2>`, `"chat"@fr`."""

import re
from typing import NamedTuple

from hyperfact.graph.facts import Literal

XSD = "http://www.w3.org/2001/XMLSchema#"
_SHORT = re.compile(r'(".*"\^\^)xsd:(\w+)', re.DOTALL)  # as some files abbreviate the type
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})
_PLAIN = {"n": "\n", "r": "\r"}
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_FORM = re.compile(
    r'"((?:[^"\\\n\r]|\\["\\nr])*)"'
    r"(?:@([A-Za-z]+(?:-[A-Za-z0-9]+)*)|\^\^<([^<>\s]+)>)?"
)


class Form(NamedTuple):
    """The parts of a literal."""

    text: str
    language: str = ""
    datatype: str = ""

    def literal(self) -> Literal:
        """The literal that has these parts."""
        tail = f"@{self.language}" if self.language else ""
        tail = f"^^<{self.datatype}>" if self.datatype else tail
        return Literal(f'"{self.text.translate(_ESCAPES)}"{tail}')


def form_of(literal: str) -> Form | None:
    """The parts of a literal in N-Triples form; None of any other."""
    match = _FORM.fullmatch(literal)
    if match is None:
        return None
    inner, language, datatype = match.groups(default="")
    return Form(_ESCAPED.sub(lambda m: _PLAIN.get(m[1], m[1]), inner), language, datatype)


def typed_form(literal: str) -> Form | None:
    """The same, of `"2016"^^xsd:integer` too: for reading what it says, not for writing it."""
    return form_of(_SHORT.sub(rf"\1<{XSD}\2>", str.__str__(literal)))
