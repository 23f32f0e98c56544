"""The bundled datasets as shipped: splits without leaks, readable labels, known facts."""

import gzip
import json
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.support import ROOT

BUNDLED = ROOT / "src" / "hyperfact" / "data" / "bundled"
SPLITS = ("train", "valid", "test")
SIZES = {"baseball": (22_000, 26_000), "world": (9_500, 11_500)}
POSITIONS = {
    "P",
    "C",
    "1B",
    "2B",
    "3B",
    "SS",
    "LF",
    "CF",
    "RF",
    "OF",
    "DH",
    "RP",
    "SP",
    "LHP",
    "RHP",
}

Fact = dict[str, Any]
Triple = tuple[str, str, str]

each_dataset = pytest.mark.parametrize("name", sorted(SIZES))
each_held_out = pytest.mark.parametrize("split", SPLITS[1:])


@cache
def read(name: str, split: str) -> list[Fact]:
    with gzip.open(BUNDLED / name / f"{split}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def facts(name: str) -> list[Fact]:
    return [fact for split in SPLITS for fact in read(name, split)]


def triple(fact: Fact) -> Triple:
    return fact["subject"], fact["relation"], fact["object"]


def pairs(fact: Fact) -> list[tuple[str, str]]:
    return [(attribute, value) for attribute, value in fact.get("qualifiers", [])]


def entities(fact: Fact) -> Iterator[str]:
    yield fact["subject"]
    yield fact["object"]
    yield from (value for _, value in pairs(fact))


def relations(fact: Fact) -> Iterator[str]:
    yield fact["relation"]
    yield from (attribute for attribute, _ in pairs(fact))


@each_dataset
def test_the_files_are_small_and_complete(name: str) -> None:
    files = list((BUNDLED / name).iterdir())
    expected = {"CARD.md", "LICENSE", *(f"{split}.jsonl.gz" for split in SPLITS)}
    assert {file.name for file in files} == expected
    assert sum(file.stat().st_size for file in files) < 1_000_000


@each_dataset
def test_the_archives_hold_no_time_stamp(name: str) -> None:
    for split in SPLITS:
        header = (BUNDLED / name / f"{split}.jsonl.gz").read_bytes()[:8]
        assert header[4:] == bytes(4)


@each_dataset
def test_the_counts_are_as_promised(name: str) -> None:
    total = len(facts(name))
    least, most = SIZES[name]
    assert least <= total <= most
    assert f"| Facts | {total:,} |" in (BUNDLED / name / "CARD.md").read_text("utf-8")
    assert 0.8 <= sum("qualifiers" in fact for fact in facts(name)) / total <= 0.95
    for split in SPLITS[1:]:
        assert 0.09 <= len(read(name, split)) / total <= 0.11


@each_dataset
def test_every_line_is_a_fact_of_plain_strings(name: str) -> None:
    for fact in facts(name):
        assert set(fact) <= {"subject", "relation", "object", "qualifiers"}
        assert fact.get("qualifiers", True), f"empty qualifiers in {fact}"
        labels = [*entities(fact), *relations(fact)]
        assert all(isinstance(label, str) and label for label in labels), fact
        assert fact["subject"] != fact["object"], fact


@each_dataset
def test_no_fact_is_repeated(name: str) -> None:
    counts = Counter((triple(fact), frozenset(pairs(fact))) for fact in facts(name))
    assert [fact for fact, n in counts.items() if n > 1] == []


@each_dataset
def test_no_attribute_is_repeated_within_a_fact(name: str) -> None:
    for fact in facts(name):
        attributes = [attribute for attribute, _ in pairs(fact)]
        assert len(attributes) == len(set(attributes)), fact


@each_dataset
def test_no_fact_is_the_bare_twin_of_a_qualified_one(name: str) -> None:
    qualified = {triple(fact) for fact in facts(name) if pairs(fact)}
    assert [fact for fact in facts(name) if not pairs(fact) and triple(fact) in qualified] == []


@each_dataset
def test_no_triple_stands_in_two_splits_in_either_direction(name: str) -> None:
    where: dict[tuple[str, frozenset[str]], set[str]] = {}
    for split in SPLITS:
        for fact in read(name, split):
            key = fact["relation"], frozenset((fact["subject"], fact["object"]))
            where.setdefault(key, set()).add(split)
    assert [key for key, splits in where.items() if len(splits) > 1] == []


@each_dataset
@each_held_out
def test_train_has_seen_every_entity_and_relation(name: str, split: str) -> None:
    train, held_out = read(name, "train"), read(name, split)
    for labels in (entities, relations):
        seen = {label for fact in train for label in labels(fact)}
        assert {label for fact in held_out for label in labels(fact)} <= seen


@each_dataset
def test_no_relation_is_the_inverse_of_another(name: str) -> None:
    by_relation: dict[str, set[tuple[str, str]]] = {}
    for fact in facts(name):
        by_relation.setdefault(fact["relation"], set()).add((fact["subject"], fact["object"]))
    for first, forward in by_relation.items():
        for second, backward in by_relation.items():
            share = sum((o, s) in backward for s, o in forward) / len(forward)
            assert share < 0.5, f"{first} and {second} mirror each other: {share:.0%}"


@each_dataset
def test_labels_are_names_not_codes(name: str) -> None:
    labels = {label for fact in facts(name) for label in entities(fact)}
    codes = {label for label in labels if re.fullmatch(r"[A-Z0-9]{1,4}|[a-z]{1,3}", label)}
    years = {label for label in codes if re.fullmatch(r"1[6-9]\d\d|20\d\d", label)}
    assert codes - years <= (POSITIONS if name == "baseball" else set())
    assert {
        x for x in labels if x != " ".join(x.split()) or re.search(r"[_\t|]|\bZZ\b", x)
    } == set()
    assert not labels & {
        "Unknown Region",
        "Unknown Currency",
        "Testing Currency Code",
        "nan",
        "None",
    }


@each_dataset
def test_relations_read_as_words(name: str) -> None:
    words = {label for fact in facts(name) for label in relations(fact)}
    assert all(re.fullmatch(r"[a-z][a-z -]+", word) for word in words)


@each_dataset
def test_relations_are_never_entities(name: str) -> None:
    words = {label for fact in facts(name) for label in relations(fact)}
    assert not words & {label for fact in facts(name) for label in entities(fact)}


def test_hank_aaron_began_in_milwaukee() -> None:
    stints = [
        pairs(fact)
        for fact in facts("baseball")
        if triple(fact) == ("Hank Aaron", "played for", "Milwaukee Braves")
    ]
    assert len(stints) == 1
    assert ("start season", "1954") in stints[0]
    assert ("position", "OF") in stints[0]


def test_baseball_has_its_eleven_relations() -> None:
    assert {fact["relation"] for fact in facts("baseball")} == {
        "all-star with",
        "attended",
        "bats",
        "born in",
        "defeated",
        "home games at",
        "inducted into",
        "managed",
        "played for",
        "throws",
        "won award",
    }


def test_people_who_share_a_name_are_told_apart() -> None:
    names = {fact["subject"] for fact in facts("baseball") if fact["relation"] == "born in"}
    assert {"Ken Griffey (born 1950)", "Ken Griffey (born 1969)"} <= names
    births = Counter(fact["subject"] for fact in facts("baseball") if fact["relation"] == "born in")
    assert set(births.values()) == {1}


def test_germany_changed_its_currency() -> None:
    money = {
        fact["object"]: dict(pairs(fact))
        for fact in facts("world")
        if (fact["subject"], fact["relation"]) == ("Germany", "currency")
    }
    assert money["Euro"] == {"from": "1999"}
    assert money["German Mark"]["to"] == "2002"


def test_christmas_is_in_december() -> None:
    months = [
        dict(pairs(fact))["month"]
        for fact in facts("world")
        if (fact["subject"], fact["object"]) == ("Italy", "Christmas Day")
    ]
    assert months == ["December"]
