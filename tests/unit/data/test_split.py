"""Train, valid and test of one file: at random, by time, by entity."""

import random

import numpy as np
import pytest

from hyperfact.data import load
from hyperfact.data.split import (
    ensure_splits,
    split_by_entity,
    split_by_time,
    split_facts,
    unseen_names,
)
from hyperfact.errors import DataError, UnknownNameError, UserError
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from tests.support.graphs import random_graph

BASEBALL = load("baseball").all
JOBS = HKG.from_facts(
    Fact(f"p{i % 50}", "worked at", f"c{i % 7}", (("start", f"{2000 + i // 10}-01-02"),))
    for i in range(200)
)


def triples(graph: HKG) -> set[tuple[str, str, str]]:
    return {(fact.subject, fact.relation, fact.object) for fact in graph}


def named(graph: HKG) -> dict[tuple[str, str, str], set[str]]:
    """The entities that the facts of each primary triple name."""
    found: dict[tuple[str, str, str], set[str]] = {}
    for fact in graph:
        names = found.setdefault((fact.subject, fact.relation, fact.object), set())
        names |= {fact.subject, fact.object, *(value for _, value in fact.qualifiers)}
    return found


def check_parts(whole: HKG, splits: Splits) -> None:
    """Every fact once, and no primary triple in two splits."""
    assert list(splits) == ["train", "valid", "test"]
    assert sum(map(len, splits.values())) == len(whole)
    assert splits.all == whole
    found = [triples(part) for part in splits.values()]
    assert sum(map(len, found)) == len(set.union(*found))


def test_at_random_everything_is_seen_in_train() -> None:
    splits = split_facts(BASEBALL)
    check_parts(BASEBALL, splits)
    assert [unseen_names(splits, name) for name in splits] == [0, 0, 0]
    shares = [len(part) / len(BASEBALL) for part in splits.values()]
    assert np.allclose(shares, (0.8, 0.1, 0.1), atol=0.002)


def test_the_seed_decides() -> None:
    one, same, other = (split_facts(BASEBALL, seed=seed) for seed in (0, 0, 1))
    assert one.test == same.test
    assert one.test != other.test


@pytest.mark.parametrize("seed", range(20))
def test_small_graphs_are_split_as_far_as_names_repeat(seed: int) -> None:
    graph = random_graph(random.Random(seed)).compact()
    splits = split_facts(graph, seed=seed)
    check_parts(graph, splits)
    assert [unseen_names(splits, name) for name in splits] == [0, 0, 0]


def test_by_time_the_newest_are_tested() -> None:
    splits = split_by_time(JOBS, "start", (70, 10, 20))
    check_parts(JOBS, splits)
    years = [{fact.qualifiers[0][1][:4] for fact in part} for part in splits.values()]
    assert max(years[0]) < min(years[1]) <= max(years[1]) < min(years[2])
    assert [len(part) for part in splits.values()] == [140, 20, 40]


def test_by_time_facts_without_a_time_are_trained_on_and_whole_times_stay_together() -> None:
    facts = [Fact("a", "r", f"x{i}") for i in range(5)]
    facts += [Fact(f"y{i}", "r", "b", (("in", "+9" if i < 3 else "+10"),)) for i in range(6)]
    splits = split_by_time(HKG.from_facts(facts), "in", (8, 0, 1))
    assert {q[1] for fact in splits.test for q in fact.qualifiers} == {"+10"}
    assert (len(splits.train), len(splits.test)) == (8, 3)


def test_by_time_needs_times() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'start'"):
        split_by_time(JOBS, "strat")
    for value, reason in (("soon", "'soon' is no time"), ("2000", "has 1 times")):
        graph = HKG.from_facts([Fact("a", "r", "b", (("in", value),))])
        with pytest.raises(DataError, match=reason):
            split_by_time(graph, "in")


def test_by_entity_some_are_held_out() -> None:
    splits = split_by_entity(BASEBALL)
    check_parts(BASEBALL, splits)
    seen = set.union(*named(splits.train).values())
    for part in (splits.valid, splits.test):
        assert len(part)
        assert all(names - seen for names in named(part).values())


@pytest.mark.parametrize("ratios", [(1, 1), (0, 1, 1), (1, -1, 1)])
def test_wrong_ratios_are_refused(ratios: tuple[float, ...]) -> None:
    with pytest.raises(UserError, match="expected shares"):
        split_facts(JOBS, ratios)


def test_a_dataset_without_test_facts_is_split_and_this_is_said() -> None:
    both = load("baseball")
    assert ensure_splits(both) == (both, "")
    splits, note = ensure_splits(Splits({"train": BASEBALL}, "mine"))
    assert splits.name == "mine"
    assert note == (
        "mine: no valid and test facts, so split at random (seed 0): "
        f"train {len(splits.train):,}, valid {len(splits.valid):,}, test {len(splits.test):,}"
    )
    few = Splits({"train": JOBS[:19]}, "few")
    assert ensure_splits(few) == (few, "few: 19 facts are too few to split; not evaluated")
    single = HKG.from_facts(Fact(f"s{i}", "r", f"o{i}") for i in range(20))
    assert ensure_splits(Splits({"train": single}))[1].endswith("so not evaluated")
