"""Partial questions against a scan of all facts."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.partial import AgreeingAnswers, PartialQueries
from hyperfact.graph.queries import Queries
from tests.support.models import random_facts, toy

Pairs = tuple[tuple[str, str], ...]


def scan(graph: HKG, fact: Fact, slot: int, kept: Pairs) -> list[int]:
    """The answers by definition: `kept` are the given qualifiers beside the asked one."""
    found = set()
    for other in graph:
        if other.relation != fact.relation or not set(kept) <= set(other.qualifiers):
            continue
        if slot == 0 and other.object == fact.object:
            found.add(other.subject)
        elif slot == 1 and other.subject == fact.subject:
            found.add(other.object)
        elif slot >= 2 and (other.subject, other.object) == (fact.subject, fact.object):
            asked = fact.qualifiers[slot - 2][0]
            found |= {v for a, v in other.qualifiers if a == asked and (a, v) not in kept}
    return sorted(graph.entities.id(name) for name in found)


def check(graph: HKG, seed: int, share: float) -> None:
    queries = Queries.of(graph)
    counts = np.diff(graph.columns.offsets)[queries.fact]
    keep = np.random.default_rng(seed).random(int(counts.sum())) < share
    asked = PartialQueries.of(graph.columns, queries, keep)
    offsets, answers = AgreeingAnswers.build(graph).of(asked)
    starts = np.concatenate([[0], np.cumsum(counts)])
    for i, (low, high) in enumerate(pairwise(offsets.tolist())):
        fact, slot = graph[int(queries.fact[i])], int(queries.slot[i])
        given = keep[starts[i] : starts[i + 1]]
        kept = tuple(pair for j, pair in enumerate(fact.qualifiers) if given[j] and j != slot - 2)
        assert answers[low:high].tolist() == scan(graph, fact, slot, kept)
        mine = asked.columns
        begin, end = mine.offsets[i], mine.offsets[i + 1]
        names = [
            (graph.relations[int(a)], graph.entities[int(v)])
            for a, v in zip(mine.attributes[begin:end], mine.values[begin:end], strict=True)
        ]
        assert names == [
            pair for j, pair in enumerate(fact.qualifiers) if given[j] or j == slot - 2
        ]
        if slot >= 2:
            assert names[int(asked.queries.slot[i]) - 2] == fact.qualifiers[slot - 2]
        else:
            assert asked.queries.slot[i] == slot


@given(st.integers(0, 2**20), st.sampled_from([0.0, 0.4, 1.0]))
def test_answers_are_those_of_a_scan(seed: int, share: float) -> None:
    check(random_facts(25, entities=5, seed=seed), seed, share)


def test_twins_and_repeated_attributes() -> None:
    for share in (0.0, 0.5, 1.0):
        check(toy(), 3, share)


def test_nothing_agrees_with_what_no_fact_says() -> None:
    graph = toy()
    index = AgreeingAnswers.build(graph.select(np.array([0])))
    offsets, answers = index.of(PartialQueries.bare(graph.columns, Queries.of(graph)))
    assert (
        offsets[-1]
        == len(answers)
        == sum(
            1
            for fact in graph
            for slot in range(2 + len(fact.qualifiers))
            if slot < 2
            and fact.relation == "r"
            and (fact.subject if slot else fact.object) in "ab"
            and (fact.subject == "a" if slot else fact.object == "b")
        )
    )


def test_no_facts_and_no_qualifiers() -> None:
    empty = HKG.from_facts([], entities="ab", relations="r")
    asked = PartialQueries.bare(empty.columns, Queries.of(empty))
    assert AgreeingAnswers.build(empty).of(asked)[0].tolist() == [0]
    check(HKG.from_facts([Fact("a", "r", "b"), Fact("a", "r", "c")]), 0, 0.5)
