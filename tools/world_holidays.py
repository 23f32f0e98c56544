"""Holidays that territories and their subdivisions keep year after year, in English."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import holidays

from tools.bundle import MONTHS

YEARS = range(2015, 2025)
RECENT = {2023, 2024}  # a holiday that missed both has been abolished
LASTING = 6  # years of the ten; fewer are funerals, jubilees and elections
MONTHS_OF_SEASON = 2  # a date that strays over more months has no usual month

# Categories of the package that say how a day is kept; others name the faith that keeps it.
KINDS = {
    "public": "public holiday",
    "government": "government holiday",
    "bank": "bank holiday",
    "school": "school holiday",
    "half_day": "half-day holiday",
    "optional": "optional holiday",
    "unofficial": "unofficial holiday",
    "workday": "working-day observance",
}
# Days that exist only because another one fell on a weekend, and names that say nothing.
NOISE = re.compile(
    r"substitut|in lieu|additional|extra |bridge|squeeze|first (working|week)day|"
    r"first working day|second weekday|overlapping|joint holiday|election|referendum|"
    r"^(special |temporary |local |national )?(public|bank|public sector)? ?holiday$|"
    r"workday|shortened|day off|^inauguration day$|public sector",
    re.IGNORECASE,
)
SAME = {
    "Assumption Of Mary Day": "Assumption Day",
    "Assumption of Mary Day": "Assumption Day",
    "Christmas": "Christmas Day",
    "Chinese New Year (Spring Festival)": "Chinese New Year",
    "Chinese New Year's Day": "Chinese New Year",
    "Eid-ul-Adha": "Eid al-Adha",
    "Eid-ul-Fitr": "Eid al-Fitr",
    "National Labour Day": "National Labor Day",
    "Pan American Day": "Panamerican Day",
    "Patriots Day": "Patriots' Day",
    "President's Day": "Presidents' Day",
    "Presidents Day": "Presidents' Day",
    "Prophet Mohammed's Birthday": "Prophet's Birthday",
    "Prophet Muhammad's Birthday": "Prophet's Birthday",
    "Saints Peter and Paul Day": "Saint Peter and Saint Paul's Day",
    "Saints Peter and Paul's Day": "Saint Peter and Saint Paul's Day",
    "Veteran's Day": "Veterans Day",
    "Worker's Day": "Workers' Day",
}


@dataclass(frozen=True)
class Holiday:
    """A holiday of one place: its name, usual month, how its date moves, how it is kept."""

    name: str
    month: str | None
    timing: str
    kind: str


def national(country: str) -> list[Holiday]:
    """The holidays of a country; each in the first of its categories."""
    if country not in holidays.list_supported_countries(include_aliases=False):
        return []
    found: dict[str, Holiday] = {}
    supported = holidays.country_holidays(country).supported_categories
    for category in (category for category in KINDS if category in supported):
        for holiday in _lasting(country, category, None):
            found.setdefault(holiday.name, holiday)
    return list(found.values())


def regional(country: str) -> Iterator[tuple[str, list[Holiday]]]:
    """Each subdivision's code with the public holidays that the whole country does not keep."""
    known = {holiday.name for holiday in national(country)}
    subdivisions = holidays.list_supported_countries(include_aliases=False).get(country, [])
    for subdivision in subdivisions:
        own = _lasting(country, "public", subdivision)
        yield subdivision, [holiday for holiday in own if holiday.name not in known]


def tidy(name: str) -> str | None:
    """A holiday's name without remarks; None if it is not a holiday in its own right."""
    if NOISE.search(name):
        return None
    name = re.sub(r" \((observed|estimated|from|in honor|Guam).*\)", "", name)
    name = name.replace("Labour", "Labor").replace("ANZAC", "Anzac").strip()
    name = re.sub(r"^(The )?Day (following|after) (the )?", "Day after ", name, flags=re.IGNORECASE)
    name = re.sub(r"^(Eid .*|.* Day|Christmas) Holiday$", r"\1", name)
    name = re.sub(r" (Second Day|\((Second Day|Day 2|afternoon|by ... style)\))$", "", name)
    return SAME.get(name, name.replace(" Of ", " of "))


def _lasting(country: str, category: str, subdivision: str | None) -> list[Holiday]:
    dates: dict[str, list[date]] = defaultdict(list)
    for day, names in _calendar(country, category, subdivision).items():
        for name in {tidy(name) for name in names.split("; ")} - {None}:
            dates[str(name)].append(day)
    return [
        Holiday(name, *_timing(days), KINDS[category])
        for name, days in sorted(dates.items())
        if len({day.year for day in days}) >= LASTING and RECENT & {day.year for day in days}
    ]


def _calendar(country: str, category: str, subdivision: str | None) -> Any:
    locales = holidays.list_localized_countries().get(country, [])
    english = sorted((lang for lang in locales if lang.startswith("en")), key="en_US".__ne__)
    return holidays.country_holidays(
        country,
        subdiv=subdivision,
        years=YEARS,
        observed=False,
        language=english[0] if english else None,
        categories=(category,),
    )


def _timing(days: list[date]) -> tuple[str | None, str]:
    """The usual month, if any, and how the date moves from year to year."""
    months = Counter(day.month for day in days)
    usual = MONTHS[min(months, key=lambda month: (-months[month], month)) - 1]
    if len({(day.month, day.day) for day in days}) == 1:
        return usual, "fixed date"
    if len(months) <= MONTHS_OF_SEASON:
        return usual, "movable date"
    return None, "moves through the year"
