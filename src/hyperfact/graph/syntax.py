"""How people write facts and questions: `s | r | o | a = v | …`, and `?` for the blank.

A name that would be misread is put in double quotes with JSON's escapes; a literal stands in single
quotes. Space around `|` and `=` does not count, space inside a name does.
"""

import json
import re
from dataclasses import dataclass

from hyperfact.errors import FactSyntaxError

BLANK = "?"
_BARE = re.compile(r"[^|=\"'\s](?:[^|=\n\r\t\v\f]*[^|=\s])?")
_SPACES = " \t"


@dataclass(frozen=True)
class Token:
    """One field of a fact as written: its text, and how it was quoted."""

    text: str
    quote: str = ""  # '' bare, '"' a name, "'" a literal

    @property
    def is_blank(self) -> bool:
        """Whether this is the unquoted question mark."""
        return not self.quote and self.text == BLANK


@dataclass(frozen=True)
class Written:
    """A fact or question as written: three fields and the qualifiers, not yet looked up."""

    subject: Token
    relation: Token
    object: Token
    qualifiers: tuple[tuple[Token, Token], ...] = ()

    @property
    def tokens(self) -> tuple[Token, ...]:
        """Every field, in the order of writing."""
        pairs = [token for pair in self.qualifiers for token in pair]
        return (self.subject, self.relation, self.object, *pairs)

    @property
    def blanks(self) -> int:
        """How many fields are blank."""
        return sum(token.is_blank for token in self.tokens)

    @property
    def asks_relation(self) -> bool:
        """Whether the relation or an attribute is blank."""
        return self.relation.is_blank or any(a.is_blank for a, _ in self.qualifiers)


def quote(name: str) -> str:
    """A name as it must be written: bare where that is unambiguous."""
    bare = _BARE.fullmatch(name) is not None and name != BLANK and name.isprintable()
    return name if bare else json.dumps(name, ensure_ascii=not name.isprintable())


def quote_literal(text: str) -> str:
    """A literal as it must be written: in single quotes, with JSON's escapes."""
    inner = json.dumps(text, ensure_ascii=not text.isprintable())[1:-1]
    return "'" + inner.replace('\\"', '"').replace("'", "\\u0027") + "'"


def parse(text: str) -> Written:
    """Read one fact or question.

    Raises:
        FactSyntaxError: with the place in the text and what was expected there.
    """
    fields = _fields(text)
    if len(fields) < 3:
        raise FactSyntaxError(f"{text!r}: expected 's | r | o', got {len(fields)} field(s)")
    for number, field in enumerate(fields[:3]):
        if len(field) != 1:
            part = ("subject", "relation", "object")[number]
            raise FactSyntaxError(f"{text!r}: the {part} holds '='; quote the name that holds it")
    pairs = []
    for number, field in enumerate(fields[3:], start=1):
        if len(field) != 2:
            raise FactSyntaxError(
                f"{text!r}: qualifier {number} is not 'attribute = value'; "
                "a name that holds '=' or '|' must stand in double quotes"
            )
        pairs.append((field[0], field[1]))
    subject, relation, obj = (field[0] for field in fields[:3])
    return Written(subject, relation, obj, tuple(pairs))


def _fields(text: str) -> list[list[Token]]:
    """The tokens between bars; within a field, those between equals signs."""
    fields: list[list[Token]] = [[]]
    place = 0
    while True:
        token, place = _token(text, _skip(text, place))
        fields[-1].append(token)
        place = _skip(text, place)
        if place == len(text):
            return fields
        if text[place] == "|":
            fields.append([])
        elif text[place] != "=":
            raise FactSyntaxError(f"{text!r}: expected '|' or '=' at character {place + 1}")
        place += 1


def _skip(text: str, place: int) -> int:
    while place < len(text) and text[place] in _SPACES:
        place += 1
    return place


def _token(text: str, place: int) -> tuple[Token, int]:
    if place < len(text) and text[place] in "\"'":
        return quoted(text, place)
    end = place
    while end < len(text) and text[end] not in "|=":
        end += 1
    bare = text[place:end].rstrip(_SPACES)
    if not bare:
        raise FactSyntaxError(f'{text!r}: a name is missing at character {place + 1} (empty: "")')
    return Token(bare), end


def quoted(text: str, place: int) -> tuple[Token, int]:
    """The quoted field that begins here, and where it ends."""
    mark = text[place]
    end = place + 1
    while end < len(text) and text[end] != mark:
        end += 2 if text[end] == "\\" else 1
    if end >= len(text):
        raise FactSyntaxError(f"{text!r}: the quote opened at character {place + 1} is not closed")
    inner = text[place + 1 : end]
    if mark == "'":
        inner = re.sub(r'(\\.)|"', lambda m: m.group(1) or '\\"', inner)
    try:
        return Token(str(json.loads(f'"{inner}"', strict=False)), mark), end + 1
    except ValueError as error:
        raise FactSyntaxError(f"{text!r}: wrong escape in {mark}{inner}{mark}") from error
