"""Literals as a person writes them: `1964`, `1954-02-05`, `3.5 km2`, `chat (fr)`.

Only how they are shown: the name keeps every field. Dates stay year-month-day, which every language
reads alike. A literal whose form is not known here is shown by its text.
"""

import re
from collections.abc import Callable

from hyperfact.graph.literal_forms import XSD, Form, typed_form

WIKIBASE = "http://wikiba.se/ontology#"
TIMES = {XSD + kind for kind in ("date", "dateTime", "gYear", "gYearMonth")} | {WIKIBASE + "Time"}
UNITLESS = (XSD, WIKIBASE)
_TIME = re.compile(
    r"([+-]?)(\d{4,16})(?:-(\d\d)(?:-(\d\d))?)?(?:T(\d\d:\d\d)(?::(\d\d)(?:\.\d+)?)?)?"
    r"(Z|[+-]\d\d:\d\d)?",
    re.ASCII,
)
_AMOUNT = r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?"
_NUMBER = re.compile(rf"({_AMOUNT})(?:\[({_AMOUNT}),({_AMOUNT})\])?", re.ASCII)
_POINT = re.compile(r"Point\((-?[\d.]+) (-?[\d.]+)\)", re.ASCII)
_COORDINATE = re.compile(r"(-?[\d.e-]+),(-?[\d.e-]+)(?:,[^#]*)?(?:#.*)?", re.ASCII)
_MONTH, _YEAR, _DECADE, _CENTURY, _MILLENNIUM = 10, 9, 8, 7, 6  # precisions of Wikidata


def literal_text(literal: str, unit_text: Callable[[str], str] = str) -> str:
    """The literal as a person writes it.

    Args:
        literal: Its lexical or its N-Triples form.
        unit_text: How a unit is shown, by its IRI or its own word.
    """
    form = typed_form(literal)
    if form is None:
        return _bare_text(str.__str__(literal), unit_text)
    if form.language:
        return f"{form.text} ({form.language})"
    return _typed_text(form, unit_text) if form.datatype else form.text


def _bare_text(text: str, unit_text: Callable[[str], str]) -> str:
    """A time or a quantity without quotes: `+1964-00-00T00:00:00Z#…`, `+5#unit`."""
    if text[:1] not in {"+", "-"}:
        return text
    head, _, unit = text.partition("#")
    number = _number(head)
    if number is None or not head:
        return _time(text) or text
    return f"{number} {unit_text(unit)}" if unit else number


def _typed_text(form: Form, unit_text: Callable[[str], str]) -> str:
    if form.datatype in TIMES:
        return _time(form.text) or form.text
    place = _place(form)
    if place is not None:
        return place
    number = _number(form.text)
    if number is None or form.datatype.startswith(UNITLESS):
        return number or form.text
    return f"{number} {unit_text(form.datatype)}"


def _number(text: str) -> str | None:
    match = _NUMBER.fullmatch(text)
    if match is None:
        return None
    amount, low, high = (part.removeprefix("+") for part in match.groups(default=""))
    return f"{amount} ({low} to {high})" if low else amount


def _time(text: str) -> str | None:
    """As precise as the time says that it is."""
    fields = text.split("#")
    match = _TIME.fullmatch(fields[0])
    if match is None:
        return None
    sign, digits, month, day, clock, seconds, zone = match.groups(default="")
    year, era = int(digits), " BC" if sign == "-" else ""
    precision = int(fields[4]) if len(fields) > 4 and fields[4].isdecimal() else 14
    if precision in _ROUND:
        return _ROUND[precision](year) + era
    if precision <= _YEAR or month in {"", "00"}:
        return f"{year}{era}"
    date = f"{year:04}-{month}"
    if precision <= _MONTH or day in {"", "00"}:
        return date + era
    exact = f"{clock}:{seconds}" if seconds.strip("0") else clock
    time = f" {exact}{' UTC' if zone == 'Z' else zone}" if exact.strip("0:") else ""
    return f"{date}-{day}{era}{time}"


def _ordinal(number: int) -> str:
    tens = number // 10 % 10
    return f"{number}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th') if tens != 1 else 'th' }"


_ROUND: dict[int, Callable[[int], str]] = {
    _DECADE: lambda year: f"{year // 10 * 10}s",
    _CENTURY: lambda year: f"{_ordinal(-(-year // 100))} century",
    _MILLENNIUM: lambda year: f"{_ordinal(-(-year // 1000))} millennium",
}


def _place(form: Form) -> str | None:
    """A point on a globe by latitude and longitude."""
    if form.datatype == WIKIBASE + "GlobeCoordinate":
        match = _COORDINATE.fullmatch(form.text)
        north, east = match.groups() if match is not None else ("", "")
    elif form.datatype.endswith("wktLiteral"):
        match = _POINT.fullmatch(form.text)
        east, north = match.groups() if match is not None else ("", "")
    else:
        return None
    if not north:
        return None
    return f"{_degrees(north, 'N', 'S')}, {_degrees(east, 'E', 'W')}"


def _degrees(number: str, positive: str, negative: str) -> str:
    return f"{number.removeprefix('-')}° {negative if number.startswith('-') else positive}"
