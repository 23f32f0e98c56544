"""Values of Wikidata statements to names and back, exactly.

An item, property or lexeme is an entity by its id. Everything else is a literal: a text `"x"`, a
text with language `"x"@en`, a number `+5`, a quantity `"+5"^^<unit>`, a day, month or year by its
XML Schema type, any other time and every coordinate by a Wikibase type with all its fields.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from hyperfact.graph.facts import Literal
from hyperfact.graph.literal_forms import Form, form_of
from hyperfact.system.source import Fault

ENTITY = re.compile(r"[QPEM][1-9]\d*|L[1-9]\d*(?:-[FS][1-9]\d*)?", re.ASCII)
PROPERTY = re.compile(r"P[1-9]\d*", re.ASCII)
KINDS = {"Q": "item", "P": "property", "L": "lexeme", "E": "entity-schema", "M": "mediainfo"}
GREGORIAN = "http://www.wikidata.org/entity/Q1985727"
XSD = "http://www.w3.org/2001/XMLSchema#"
WIKIBASE = "http://wikiba.se/ontology#"

_LETTERS = {kind: letter for letter, kind in KINDS.items()}
_LANGUAGE = re.compile(r"[A-Za-z]+(?:-[A-Za-z0-9]+)*", re.ASCII)
_AMOUNT = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_BOUNDED = re.compile(rf"({_AMOUNT.pattern})(?:\[({_AMOUNT.pattern}),({_AMOUNT.pattern})\])?", re.A)
_UNIT = re.compile(r"https?://[^<>\s]+/entity/Q[1-9]\d*", re.ASCII)
_IRI = re.compile(r"https?://[^<>\s#]+")
_TIME = re.compile(r"[+-]\d{4,16}-\d\d-\d\dT\d\d:\d\d:\d\dZ", re.ASCII)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
#: Times that XML Schema writes: precision, the time's text, its type.
_SCHEMA = (
    (11, re.compile(r"\+((?!0000)\d{4}-(?!00)\d\d-(?!00)\d\d)T00:00:00Z", re.A), "date"),
    (10, re.compile(r"\+((?!0000)\d{4}-(?!00)\d\d)-00T00:00:00Z", re.A), "gYearMonth"),
    (9, re.compile(r"\+((?!0000)\d{4})-00-00T00:00:00Z", re.A), "gYear"),
)
_TAILS = {"date": "", "gYearMonth": "-00", "gYear": "-00-00"}

_INTEGER = re.compile(r"-?\d{1,9}", re.ASCII)
_INFINITE = (float("inf"), float("-inf"))
_Value = Mapping[str, Any]


def name_of(datavalue: object) -> str | None:
    """The entity or literal that a value means; None if its type is unknown here."""
    if not isinstance(datavalue, dict) or not isinstance(datavalue.get("type"), str):
        raise Fault("a value must be an object with a type")
    reader = _READERS.get(datavalue["type"])
    if reader is None:
        return None
    value = datavalue.get("value")
    if reader is not _text and not isinstance(value, dict):
        raise Fault(f"the value of type {datavalue['type']!r} must be an object")
    return reader(value)


def value_of(name: str) -> tuple[str, dict[str, Any]] | None:
    """Datatype and value that mean a name; None if Wikidata has no such value."""
    if not isinstance(name, Literal):
        return _entity_value(name)
    form = form_of(name)
    found = _number_value(str(name)) if form is None else _form_value(form)
    try:
        return found if found is not None and name_of(found[1]) == name else None
    except Fault:
        return None


def _entity(value: _Value) -> str:
    name = value.get("id")
    if name is None:  # as older dumps write it
        letter, number = _LETTERS.get(str(value.get("entity-type"))), value.get("numeric-id")
        name = f"{letter}{number}" if letter and isinstance(number, int) else None
    if not isinstance(name, str) or not ENTITY.fullmatch(name):
        raise Fault(f"expected the id of an item, property or lexeme, got {name!r}")
    return name


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise Fault("a value of type 'string' must be a string")
    return Form(value).literal()


def _monolingual(value: _Value) -> str:
    language = _field(value, "language", _LANGUAGE)
    text = value.get("text")
    if not isinstance(text, str):
        raise Fault("a text with language needs a 'text'")
    return Form(text, language).literal()


def _quantity(value: _Value) -> str:
    amount, unit = _field(value, "amount", _AMOUNT), value.get("unit")
    bounded = "lowerBound" in value or "upperBound" in value
    if bounded:
        low, high = (_field(value, key, _AMOUNT) for key in ("lowerBound", "upperBound"))
        amount = f"{amount}[{low},{high}]"
    if unit == "1":
        return Form(amount, "", WIKIBASE + "Quantity").literal() if bounded else Literal(amount)
    return Form(amount, "", _field(value, "unit", _UNIT)).literal()


def _time(value: _Value) -> str:
    time, calendar = _field(value, "time", _TIME), _field(value, "calendarmodel", _IRI)
    zone, before, after, precision = (
        _integer(value, key) for key in ("timezone", "before", "after", "precision")
    )
    if calendar == GREGORIAN and zone == before == after == 0:
        for known, pattern, kind in _SCHEMA:
            match = pattern.fullmatch(time) if precision == known else None
            if match is not None:
                return Form(match[1], "", XSD + kind).literal()
    fields = (time, zone, before, after, precision, calendar)
    return Form("#".join(map(str, fields)), "", WIKIBASE + "Time").literal()


def _coordinate(value: _Value) -> str:
    numbers = [_number(value, key) for key in ("latitude", "longitude", "altitude", "precision")]
    if not numbers[0] or not numbers[1]:
        raise Fault("a coordinate needs a latitude and a longitude")
    place = ",".join(numbers[:3] if numbers[2] else numbers[:2])
    text = f"{place}#{numbers[3]}#{_field(value, 'globe', _IRI)}"
    return Form(text, "", WIKIBASE + "GlobeCoordinate").literal()


_READERS: Mapping[str, Callable[[Any], str]] = {
    "wikibase-entityid": _entity,
    "string": _text,
    "monolingualtext": _monolingual,
    "quantity": _quantity,
    "time": _time,
    "globecoordinate": _coordinate,
}


def _field(value: _Value, key: str, pattern: re.Pattern[str]) -> str:
    found = value.get(key)
    if not isinstance(found, str) or not pattern.fullmatch(found):
        raise Fault(f"{key!r} cannot be {found!r}"[:200])
    return found


def _integer(value: _Value, key: str) -> int:
    found = value.get(key)
    if isinstance(found, bool) or not isinstance(found, int):
        raise Fault(f"{key!r} must be an integer, got {found!r}"[:200])
    return found


def _number(value: _Value, key: str) -> str:
    """A number as JSON writes it, empty for none."""
    found = value.get(key)
    if found is None:
        return ""
    if isinstance(found, bool) or not isinstance(found, int | float) or found in _INFINITE:
        raise Fault(f"{key!r} must be a number, got {found!r}"[:200])
    return repr(found)


def _entity_value(name: str) -> tuple[str, dict[str, Any]] | None:
    if not ENTITY.fullmatch(name):
        return None
    kind = {"F": "form", "S": "sense"}.get(name.partition("-")[2][:1]) or KINDS[name[0]]
    datatype = f"wikibase-{kind}" if kind != "entity-schema" else kind
    value = {"entity-type": kind, "id": name}
    return datatype, {"value": value, "type": "wikibase-entityid"}


def _number_value(text: str) -> tuple[str, dict[str, Any]] | None:
    if not _AMOUNT.fullmatch(text):
        return None
    return "quantity", {"value": {"amount": text, "unit": "1"}, "type": "quantity"}


def _form_value(form: Form) -> tuple[str, dict[str, Any]] | None:
    if form.language:
        value: dict[str, Any] = {"text": form.text, "language": form.language}
        return "monolingualtext", {"value": value, "type": "monolingualtext"}
    if not form.datatype:
        return "string", {"value": form.text, "type": "string"}
    if form.datatype.startswith(XSD) or form.datatype == WIKIBASE + "Time":
        return _time_value(form)
    if form.datatype == WIKIBASE + "GlobeCoordinate":
        return _coordinate_value(form.text)
    match = _BOUNDED.fullmatch(form.text)
    if match is None:
        return None
    unit = "1" if form.datatype == WIKIBASE + "Quantity" else form.datatype
    value = {"amount": match[1], "unit": unit}
    if match[2]:
        value |= {"upperBound": match[3], "lowerBound": match[2]}
    return "quantity", {"value": value, "type": "quantity"}


def _time_value(form: Form) -> tuple[str, dict[str, Any]] | None:
    kind = form.datatype.removeprefix(XSD)
    precision = {"date": 11, "gYearMonth": 10, "gYear": 9}.get(kind)
    fields = [f"+{form.text}{_TAILS.get(kind, '')}T00:00:00Z", "0", "0", "0", f"{precision}"]
    fields = [*fields, GREGORIAN] if precision else form.text.split("#")
    if len(fields) != 6 or not all(_INTEGER.fullmatch(field) for field in fields[1:5]):
        return None
    value: dict[str, Any] = {"time": fields[0]}
    for key, field in zip(("timezone", "before", "after", "precision"), fields[1:5], strict=True):
        value[key] = int(field)
    return "time", {"value": value | {"calendarmodel": fields[5]}, "type": "time"}


def _coordinate_value(text: str) -> tuple[str, dict[str, Any]] | None:
    place, _, rest = text.partition("#")
    precision, _, globe = rest.partition("#")
    numbers = [*place.split(","), ""]
    if len(numbers) not in (3, 4) or not all(_NUMBER.fullmatch(n) for n in numbers[:-1]):
        return None
    if precision and not _NUMBER.fullmatch(precision):
        return None
    latitude, longitude, altitude = numbers[:3]
    keys = {"latitude": latitude, "longitude": longitude, "altitude": altitude}
    value: dict[str, Any] = {
        key: _parsed(number) for key, number in {**keys, "precision": precision}.items()
    }
    return "globe-coordinate", {"value": {**value, "globe": globe}, "type": "globecoordinate"}


def _parsed(number: str) -> int | float | None:
    """A number from its text; a long one is read as a float, which then does not match."""
    if not number:
        return None
    return int(number) if number.lstrip("-").isdecimal() and len(number) < 30 else float(number)
