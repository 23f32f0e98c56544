"""KGTK's symbols and literals to names and back, exactly.

The first character of a field tells its kind. Texts and quantities get their N-Triples form and
days, months and years the types of XML Schema, as Wikidata's do; every other literal keeps its
KGTK text. `!` marks a literal that KGTK has no kind for.
"""

import re
from collections.abc import Callable, Mapping

from hyperfact.data.formats.wikidata_values import XSD
from hyperfact.graph import reserved
from hyperfact.graph.facts import Derived, Literal
from hyperfact.graph.literal_forms import Form, form_of
from hyperfact.system.source import Fault

_ENTITY_URL = "http://www.wikidata.org/entity/"
_ESCAPES = str.maketrans(
    {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "|": "\\|", "\f": "\\f", "\v": "\\v"}
)
_PLAIN = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "b": "\b"}
_ESCAPED = re.compile(r"\\(.|$)", re.DOTALL)
_SIGILS = frozenset("\"'^@!+-.0123456789")
_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_QUANTITY = re.compile(
    rf"({_NUMBER}(?:\[{_NUMBER},{_NUMBER}\])?)(?:(Q[1-9]\d*)|[A-Za-z%°Ωµ][^\s|]*)?"
    r"|[+-]?0[xX][0-9A-Fa-f]+|[+-]?0[bB][01]+|[+-]?0[oO][0-7]+",
    re.ASCII,
)
_DATE = re.compile(
    r"\^[-+]?\d{1,16}(?:-?\d\d(?:-?\d\d)?)?(?:T[0-9:.]+)?(?:Z|[+-][0-9:]+)?(?:/\d+)?"
)
_TIME = re.compile(r"\^T?\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-][0-9:]+)?(?:/\d+)?")
_PLACE = re.compile(r"@[-+]?\d+(?:\.\d*)?/[-+]?\d+(?:\.\d*)?", re.ASCII)
_LANGUAGE = re.compile(r"'((?:[^'\\]|\\.)*)'@([A-Za-z]+(?:-[A-Za-z0-9]+)*)", re.DOTALL)
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_SCHEMA = (
    (re.compile(r"\^((?!0000)\d{4}-(?!00)\d\d-(?!00)\d\d)T00:00:00Z/11", re.A), "date"),
    (re.compile(r"\^((?!0000)\d{4}-(?!00)\d\d)-00T00:00:00Z/10", re.A), "gYearMonth"),
    (re.compile(r"\^((?!0000)\d{4})-00-00T00:00:00Z/9", re.A), "gYear"),
)
_DATES = {"date": "^{}T00:00:00Z/11", "gYearMonth": "^{}-00T00:00:00Z/10",
          "gYear": "^{}-00-00T00:00:00Z/9"}  # fmt: skip


def entity_of(field: str) -> str:
    """The entity or literal that a field means."""
    first = field[0]
    if first in _SIGILS:
        return _literal(field, first)
    if field in ("True", "False"):
        return Literal(field)
    return reserved.entity_of(_symbol(field))


def relation_of(field: str) -> str:
    """The relation that a label means; a literal stands for its own text there."""
    if field[0] in _SIGILS:
        raise Fault(f"a label must be a symbol, got {field[:80]!r}")
    return reserved.relation_of(_symbol(field))


def entity_field(name: str) -> str:
    """The field of an entity or literal."""
    reserved.check_text(name)
    text = str.__str__(name)
    tries = _literal_fields(text) if isinstance(name, Literal) else _symbol_fields(text)
    for field in tries:
        if _reads_as(field, name, entity_of):
            return field
    if isinstance(name, Literal):
        return reserved.reserve(reserved.LITERAL, name)
    return reserved.reserve(reserved.NAME, name)


def relation_field(name: str) -> str:
    """The field of a relation or attribute."""
    reserved.check_text(name)
    if isinstance(name, Derived):
        return reserved.reserve(reserved.DERIVED, name)
    for field in _symbol_fields(str.__str__(name)):
        if _reads_as(field, name, relation_of):
            return field
    return reserved.reserve(reserved.NAME, name)


def _symbol(field: str) -> str:
    if field[0] == " " or field[-1] == " ":
        raise Fault(f"space around the symbol {field[:80]!r}")
    return _unescape(field, field)


def _literal(field: str, first: str) -> str:
    if first in _READERS:
        return _READERS[first](field)
    return _number(field)


def _string(field: str) -> str:
    match = _STRING.fullmatch(field)
    if match is None:
        raise Fault(f"{field[:80]!r} is not a string in double quotes")
    return Form(_unescape(match[1], field)).literal()


def _text(field: str) -> str:
    match = _LANGUAGE.fullmatch(field)
    if match is None:
        raise Fault(f"{field[:80]!r} is not a text in single quotes with its language")
    return Form(_unescape(match[1], field), match[2]).literal()


def _place(field: str) -> str:
    if not _PLACE.fullmatch(field):
        raise Fault(f"{field[:80]!r} is not a latitude and a longitude")
    return Literal(field)


def _date(field: str) -> str:
    for pattern, kind in _SCHEMA:
        match = pattern.fullmatch(field)
        if match is not None:
            return Form(match[1], "", XSD + kind).literal()
    if _DATE.fullmatch(field) or _TIME.fullmatch(field):
        return Literal(field)
    raise Fault(f"{field[:80]!r} is not a date")


def _number(field: str) -> str:
    match = _QUANTITY.fullmatch(field)
    if match is None:
        raise Fault(f"{field[:80]!r} is not a number or quantity; a symbol like it begins with \\")
    if match[2]:
        return Form(match[1], "", _ENTITY_URL + match[2]).literal()
    return Literal(field)


_READERS: Mapping[str, Callable[[str], str]] = {
    '"': _string,
    "'": _text,
    "^": _date,
    "@": _place,
    "!": lambda field: Literal(_unescape(field[1:], field)),
}


def _literal_fields(text: str) -> list[str]:
    """Fields that could mean a literal, the most native first."""
    form, fields = form_of(text), []
    if form is None:
        fields.append(text)
    elif form.language:
        fields.append(f"'{_escape(form.text, chr(39))}'@{form.language}")
    elif not form.datatype:
        fields.append(f'"{_escape(form.text, chr(34))}"')
    elif form.datatype.startswith(_ENTITY_URL):
        fields.append(form.text + form.datatype.removeprefix(_ENTITY_URL))
    elif form.datatype.removeprefix(XSD) in _DATES:
        fields.append(_DATES[form.datatype.removeprefix(XSD)].format(form.text))
    return [*fields, "!" + text.translate(_ESCAPES)]


def _symbol_fields(text: str) -> list[str]:
    field = text.translate(_ESCAPES)
    return [field, f"\\{field}"]


def _reads_as(field: str, name: str, read: Callable[[str], str]) -> bool:
    try:
        return _is_safe(field) and read(field) == name
    except Fault:
        return False


def _is_safe(field: str) -> bool:
    """Whether a field stays one field of one line, without space that readers may take away."""
    return (
        bool(field)
        and field[0] not in " #\ufeff"
        and field.strip() == field
        and not any(char in "\t\n\r" for char in field)
        and not has_list(field)
    )


def has_list(field: str) -> bool:
    """Whether a field is a list, with a bar that no backslash precedes."""
    return "|" in field and "|" in re.sub(r"\\.", "", field)


def _escape(text: str, quote: str) -> str:
    return text.translate(_ESCAPES).replace(quote, f"\\{quote}")


def _unescape(text: str, field: str) -> str:
    if "\\" not in text:
        return text
    if re.sub(r"\\.", "", text, flags=re.DOTALL).endswith("\\"):
        raise Fault(f"a backslash ends {field[:80]!r}")
    return _ESCAPED.sub(lambda match: _PLAIN.get(match[1], match[1]), text)
