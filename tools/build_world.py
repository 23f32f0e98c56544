"""Build the bundled dataset `world` from Unicode CLDR and the Python package holidays."""

import argparse
import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from tools import world_languages
from tools.bundle import Fact, clean, describe, qualifiers, split, write
from tools.world_holidays import Holiday, national, regional
from tools.world_names import GROUPS, Cldr

RANKS = ("first", "second", "third", "fourth", "fifth")
SYSTEMS = {"metric": "metric system", "US": "US customary system", "UK": "British imperial system"}
PAPER = {"A4": "A4 paper", "US-Letter": "US Letter paper"}
CLOCKS = {"H": "24-hour clock", "k": "24-hour clock", "h": "12-hour clock", "K": "12-hour clock"}
# Zones whose short code does not begin with the code of the territory.
ZONE_TERRITORY = {"gaza": "PS", "gazastrp": "PS", "hebron": "PS", "jeruslm": "IL"}


def currencies(cldr: Cldr) -> Iterator[Fact]:
    """Legal tender with its years."""
    regions = cldr.supplemental("currencyData")["currencyData"]["region"]
    for code in cldr.countries():
        for entry in regions.get(code, []):
            for currency, use in entry.items():
                name, place = cldr.currency(currency), cldr.territory(code)
                if name and place and use.get("_tender") != "false":
                    years = ("from", cldr.year(use.get("_from"))), ("to", cldr.year(use.get("_to")))
                    yield Fact(place, "currency", name, qualifiers(*years))


def zones(cldr: Cldr) -> Iterator[Fact]:
    """What the clocks of each zone have shown, with the years of change."""
    territory: dict[str, str] = {}
    for short, zone in cldr.read("cldr-bcp47/bcp47/timezone.json")["keyword"]["u"]["tz"].items():
        if isinstance(zone, dict):
            code = zone.get("_region") or ZONE_TERRITORY.get(short) or short[:2].upper()
            territory |= dict.fromkeys(zone.get("_alias", "").split(), code)
    table = cldr.supplemental("metaZones")["metaZones"]["metazoneInfo"]["timezone"]
    for path, periods in _walk(table, ""):
        place = cldr.territory(territory.get(path, ""))
        for period in (entry["usesMetazone"] for entry in periods):
            time = cldr.metazone(period["_mzone"])
            if place and time and not path.startswith("Etc/"):
                extra = qualifiers(
                    ("zone", cldr.zone(path)),
                    ("from", cldr.year(period.get("_from"))),
                    ("to", cldr.year(period.get("_to"))),
                )
                yield Fact(place, "time zone", time, extra)


def _walk(table: object, path: str) -> Iterator[tuple[str, list[dict[str, dict[str, str]]]]]:
    """The leaves of the tree of zones, with names such as America/Argentina/Salta."""
    if isinstance(table, list):
        yield path, table
    elif isinstance(table, dict):
        for name, below in table.items():
            yield from _walk(below, f"{path}/{name}" if path else name)


def calendars(cldr: Cldr) -> Iterator[Fact]:
    """Calendars in use, by preference."""
    table = cldr.supplemental("calendarPreferenceData")["calendarPreferenceData"]
    for code in cldr.countries():
        place = cldr.territory(code)
        for rank, calendar in zip(RANKS, table.get(code, table["001"]), strict=False):
            name = cldr.calendar(calendar)
            if name and place:
                extra = qualifiers(("preference", cldr.kinds("rank", rank)))
                yield Fact(place, "uses calendar", name, extra)


def weeks(cldr: Cldr) -> Iterator[Fact]:
    """First day of the week, and the weekend."""
    table = cldr.supplemental("weekData")["weekData"]
    for code in cldr.countries():
        first, start, end = (
            cldr.day(table[key].get(code, table[key]["001"]))
            for key in ("firstDay", "weekendStart", "weekendEnd")
        )
        if place := cldr.territory(code):
            extra = qualifiers(("weekend start", start), ("weekend end", end))
            yield Fact(place, "week starts on", first, extra)


def measures(cldr: Cldr) -> Iterator[Fact]:
    """System of measurement, with paper and thermometer."""
    table = cldr.supplemental("measurementData")["measurementData"]
    systems, papers = table["measurementSystem"], table["paperSize"]
    warmth = table["measurementSystem-category-temperature"]
    for code in cldr.countries():
        system = systems.get(code, systems["001"])
        scale = "Fahrenheit" if warmth.get(code, system) == "US" else "Celsius"
        if place := cldr.territory(code):
            extra = qualifiers(
                ("paper", cldr.kinds("paper", PAPER[papers.get(code, papers["001"])])),
                ("temperature", cldr.kinds("scale", scale)),
            )
            yield Fact(place, "measures in", cldr.kinds("system", SYSTEMS[system]), extra)


def clocks(cldr: Cldr) -> Iterator[Fact]:
    """Hours counted to 12 or to 24."""
    table = cldr.supplemental("timeData")["timeData"]
    for code in cldr.countries():
        use = table.get(code, table["001"])
        if place := cldr.territory(code):
            yield Fact(place, "tells time by", cldr.kinds("clock", CLOCKS[use["_preferred"][0]]))


def containment(cldr: Cldr) -> Iterator[Fact]:
    """Regions of the world and groups of states."""
    table = cldr.supplemental("territoryContainment")["territoryContainment"]
    for key, entry in table.items():
        code, _, status = key.partition("-status-")
        if status == "deprecated":
            continue
        relation = "member of" if code in GROUPS else "part of"
        for inner in entry["_contains"]:
            part, whole = cldr.territory(inner), cldr.territory(code)
            if part and whole and inner not in GROUPS:
                yield Fact(part, relation, whole)


def observances(cldr: Cldr) -> Iterator[Fact]:
    """Holidays of countries, and the known ones that subdivisions keep beyond them.

    Known is what two places keep. Subdivisions named like a territory are left out: most are
    that territory seen from afar.
    """
    names = cldr.read("cldr-subdivisions-full/subdivisions/en/en.json")["subdivisions"]
    subdivisions = names["localeDisplayNames"]["subdivisions"]
    countries = {code: (national(code), dict(regional(code))) for code in cldr.countries()}
    everywhere = chain.from_iterable(
        (whole, *parts.values()) for whole, parts in countries.values()
    )
    places = Counter(holiday.name for kept in everywhere for holiday in kept)
    for code, (whole, parts) in countries.items():
        country = cldr.territory(code)
        yield from (_observes(cldr, country, holiday) for holiday in whole if country)
        for part, kept in parts.items():
            own = [holiday for holiday in kept if places[holiday.name] > 1]
            name = subdivisions.get(f"{code}{part}".lower())
            known = name and cldr.kinds.kind_of.get(name) != "territory"
            if country and known and own:
                place = _subdivision(cldr, name, country, list(subdivisions.values()))
                yield Fact(place, "part of", country)
                yield from (_observes(cldr, place, holiday) for holiday in own)


def _subdivision(cldr: Cldr, name: str, country: str, names: list[str]) -> str:
    """A subdivision's label, with the country where the name alone is not enough."""
    name = re.sub(r"\s*\[.*\]$", "", name)
    shared = names.count(name) > 1 or cldr.kinds.kind_of.get(name, "subdivision") != "subdivision"
    return cldr.kinds("subdivision", f"{name} ({country})" if shared else name)


def _observes(cldr: Cldr, place: str, holiday: Holiday) -> Fact:
    month = cldr.kinds("month", holiday.month) if holiday.month else None
    extra = qualifiers(
        ("month", month),
        ("timing", cldr.kinds("timing", holiday.timing)),
        ("kept as", cldr.kinds("holiday kind", holiday.kind)),
    )
    return Fact(place, "observes", cldr.kinds("holiday", holiday.name), extra)


RELATIONS = (
    *world_languages.RELATIONS,
    currencies,
    calendars,
    weeks,
    measures,
    clocks,
    containment,
    observances,
    zones,  # last: zones give way to whatever bears their names
)


def main() -> None:
    """Build, split, write and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cldr", type=Path, help="folder with the unpacked packages cldr-*")
    parser.add_argument("folder", type=Path, help="where train, valid and test go")
    arguments = parser.parse_args()
    cldr = Cldr(arguments.cldr)
    splits = split(clean(fact for relation in RELATIONS for fact in relation(cldr)))
    write(arguments.folder, splits)
    print(describe(splits))


if __name__ == "__main__":
    main()
