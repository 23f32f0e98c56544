"""Quantities: what a literal says as a number.

`"73.32"^^<km2>` is 73.32 km2; `"1912-09-21"^^xsd:date` is a moment, counted in years: 1912.72.
Whatever else a literal may be, such as a text or a point on a globe, is no number here. A name such
as `1954` can be read the same way where its role says that it is one.
"""

import calendar
import math
import re
from typing import NamedTuple

from hyperfact.graph.facts import Literal
from hyperfact.graph.literal_forms import typed_form
from hyperfact.graph.literal_texts import TIMES, UNITLESS

_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"([+-]?\d{4,16})(?:-(\d\d))?(?:-(\d\d))?(?:T.*)?", re.ASCII)
_PLAIN = re.compile(r"[+-]?(?:0|[1-9]\d{0,14})(?:\.\d+)?", re.ASCII)  # 007 is an identifier
_DAY = re.compile(r"\d{4}-\d\d(?:-\d\d)?", re.ASCII)
_MONTHS = 12


class Quantity(NamedTuple):
    """A number with its unit, or a moment in years."""

    value: float
    unit: str = ""
    is_date: bool = False

    @property
    def text(self) -> str:
        """As a person writes it: a date to the month, a number to four digits."""
        if self.is_date:
            year, month = divmod(math.floor(self.value * _MONTHS), _MONTHS)
            return f"{year:04}-{month + 1:02}"
        number = f"{self.value:.4g}" if abs(self.value) < 1e4 else f"{self.value:.0f}"
        return f"{number} {self.unit}".rstrip()


def quantity_of(name: str) -> Quantity | None:
    """The number that a literal says; None of anything else."""
    if not isinstance(name, Literal):
        return None
    form = typed_form(name)
    if form is None:
        head, _, unit = str(name).partition("#")
        return _number(head, unit) or _moment(head)
    if form.datatype in TIMES:
        return _moment(form.text)
    unit = "" if form.datatype.startswith(UNITLESS) else form.datatype
    return None if form.language else _number(form.text, unit)


def quantity_of_name(name: str) -> Quantity | None:
    """The same, and of a name that is written as a number or as a day: `1954`, `1954-02-05`."""
    if isinstance(name, Literal):
        return quantity_of(name)
    if _PLAIN.fullmatch(name) is not None:
        return _number(name, "")
    return _moment(name) if _DAY.fullmatch(name) is not None else None


def _number(text: str, unit: str) -> Quantity | None:
    if _NUMBER.fullmatch(text) is None:
        return None
    value = float(text)
    return Quantity(value, unit) if math.isfinite(value) else None


def _moment(text: str) -> Quantity | None:
    """The year, and the part of it that has passed; a day that is not given is the middle."""
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day = (int(part or 0) for part in match.groups())
    if not 1 <= month <= _MONTHS:
        return Quantity(year + 0.5, is_date=True)
    days = calendar.monthrange(2001, month)[1]
    passed = (min(day, days) - 0.5) / days if day else 0.5
    return Quantity(year + (month - 1 + passed) / _MONTHS, is_date=True)
