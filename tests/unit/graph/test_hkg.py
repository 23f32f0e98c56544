import random

import numpy as np
import pytest
from hypothesis import given

from hyperfact.errors import DataError, UnknownNameError
from hyperfact.graph.facts import Fact, Vocabulary
from hyperfact.graph.hkg import HKG, Columns, Splits, union
from tests.support.graphs import hkgs, random_graph

AARON = Fact(
    "Hank Aaron", "played for", "Milwaukee Braves", (("position", "OF"), ("start", "1954"))
)
BATS = Fact("Hank Aaron", "bats", "right")


def test_facts_are_a_set_and_what_repeats_is_counted() -> None:
    again = Fact(*AARON.primary, (*AARON.qualifiers[::-1], ("position", "OF")))
    graph = HKG.from_facts([AARON, BATS, again, AARON])
    assert list(graph) == [AARON, BATS]
    assert graph.repeats.facts.tolist() == [2, 3]
    assert graph.repeats.qualifiers == 1


def test_qualifiers_stand_in_canonical_order() -> None:
    graph = HKG.from_facts([Fact("s", "r", "o", (("b", "x"), ("a", "y"), ("a", "x")))])
    assert graph[0].qualifiers == (("a", "x"), ("a", "y"), ("b", "x"))


def test_views_hold_the_facts_asked_for() -> None:
    graph = HKG.from_facts([AARON, BATS])
    assert list(graph[1:]) == [BATS]
    assert graph[-1] == BATS
    assert list(graph.of_entity("OF")) == [AARON]
    assert list(graph.of_relation("position")) == [AARON]
    assert list(graph.of_relation("bats")) == [BATS]
    assert list(graph.select(np.array([False, True]))) == [BATS]
    assert graph.arity.tolist() == [4, 2]
    with pytest.raises(UnknownNameError, match="did you mean 'bats'"):
        graph.of_relation("bat")
    with pytest.raises(IndexError):
        graph[2]


@given(hkgs())
def test_views_agree_with_a_scan(graph: HKG) -> None:
    for name in graph.entities:
        slots = [{f.subject, f.object, *(v for _, v in f.qualifiers)} for f in graph]
        wanted = [i for i, names in enumerate(slots) if name in names]
        assert graph.rows_of_entity(graph.entities.id(name)).tolist() == wanted


def test_equality_and_fingerprint_see_content_only() -> None:
    rng = random.Random(1)
    for _ in range(300):
        graph = random_graph(rng)
        facts = list(graph)
        rng.shuffle(facts)
        mixed = [
            Fact(*f.primary, tuple(rng.sample(f.qualifiers, len(f.qualifiers)))) for f in facts
        ]
        same = HKG.from_facts(mixed, entities=graph.entities, relations=graph.relations)
        assert same == graph
        assert same.fingerprint == graph.fingerprint
        turned = HKG.from_facts(
            mixed, entities=reversed(graph.entities), relations=reversed(graph.relations)
        )
        assert turned.fingerprint == graph.fingerprint
        assert (turned == graph) == (len(graph.entities) <= 1 and len(graph.relations) <= 1)


def test_fingerprints_of_different_graphs_differ() -> None:
    rng = random.Random(2)
    seen: dict[str, tuple[object, ...]] = {}
    for _ in range(2000):
        graph = random_graph(rng)
        key = (frozenset(graph.entities), frozenset(graph.relations), frozenset(graph))
        assert seen.setdefault(graph.fingerprint, key) == key
    assert len(seen) > 1000


def test_compact_keeps_the_facts_and_drops_unused_names() -> None:
    graph = HKG.from_facts([BATS], entities=["z", "right", "Hank Aaron"], relations=["x", "bats"])
    compact = graph.compact()
    assert list(compact) == [BATS]
    assert list(compact.entities) == ["Hank Aaron", "right"]
    assert list(compact.relations) == ["bats"]


def test_repr_shows_sizes_and_facts() -> None:
    text = repr(HKG.from_facts([AARON, BATS]))
    assert text.startswith("HKG(2 facts, 1 qualified, 5 entities, 4 relations)")
    assert "Hank Aaron | bats | right" in text


def test_ids_outside_the_vocabulary_are_refused() -> None:
    one, none = np.zeros(1, np.int32), np.zeros(0, np.int32)
    columns = Columns(one, one, one + 5, np.zeros(2, np.int64), none, none)
    with pytest.raises(DataError, match="entity 5 of 1"):
        HKG.from_columns(Vocabulary(["a"]), Vocabulary(["r"]), columns)


def test_splits_share_their_vocabularies() -> None:
    graph = HKG.from_facts([AARON, BATS])
    splits = Splits({"train": graph[:1], "test": graph[1:]}, "small")
    assert (len(splits.train), len(splits.valid), len(splits.test)) == (1, 0, 1)
    assert splits.all == graph
    assert "small: train 1, test 1 facts" in repr(splits)
    with pytest.raises(DataError, match="share their vocabularies"):
        Splits({"train": graph, "test": HKG.from_facts([BATS])})
    with pytest.raises(DataError, match="same vocabularies"):
        union(graph, HKG.from_facts([BATS]))
