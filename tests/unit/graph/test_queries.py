import random
from collections import defaultdict

import numpy as np

from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact, Slot
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import KnownAnswers, Queries
from tests.support.graphs import random_graph

_Key = tuple[object, ...]


def _blanked(fact: Fact, slot: int) -> _Key:
    """The known part of a fact, naively."""
    pairs = [(a, None if i == slot - 2 else v) for i, (a, v) in enumerate(fact.qualifiers)]
    subject = None if slot == 0 else fact.subject
    obj = None if slot == 1 else fact.object
    return subject, fact.relation, obj, tuple(sorted(pairs, key=repr))


def _scan(graph: HKG) -> dict[_Key, set[str]]:
    known: dict[_Key, set[str]] = defaultdict(set)
    for fact in graph:
        entities = [fact.subject, fact.object, *(v for _, v in fact.qualifiers)]
        for slot, entity in enumerate(entities):
            known[_blanked(fact, slot)].add(entity)
    return known


def test_known_answers_agree_with_a_scan() -> None:
    rng = random.Random(3)
    for _ in range(500):
        graph = random_graph(rng, hostile=rng.random() < 0.5)
        known, naive = KnownAnswers.build(graph), _scan(graph)
        assert len(known) == len(naive)
        queries = Queries.of(graph)
        offsets, values = known.of(graph, queries)
        for i in range(len(queries)):
            fact = graph[int(queries.fact[i])]
            found = {graph.entities[v] for v in values[offsets[i] : offsets[i + 1]]}
            assert found == naive[_blanked(fact, int(queries.slot[i]))]
            assert len(found) == offsets[i + 1] - offsets[i]


def test_queries_of_other_facts_find_only_what_is_known() -> None:
    rng = random.Random(4)
    for _ in range(300):
        graph = random_graph(rng, hostile=False)
        half = len(graph) // 2
        known, naive = KnownAnswers.build(graph[:half]), _scan(graph[:half])
        rest = graph[half:]
        queries = Queries.of(rest)
        offsets, values = known.of(rest, queries)
        for i in range(len(queries)):
            fact = rest[int(queries.fact[i])]
            found = {graph.entities[v] for v in values[offsets[i] : offsets[i + 1]]}
            assert found == naive.get(_blanked(fact, int(queries.slot[i])), set())


def test_a_batch_pads_and_masks() -> None:
    graph = HKG.from_facts([Fact("a", "r", "b", (("x", "c"), ("y", "d"))), Fact("b", "r", "a")])
    batch = FactBatch.of(graph, np.array([1, 0]))
    assert batch.entities.tolist() == [[1, 0, 0, 0], [0, 1, 2, 3]]
    assert batch.relations.tolist() == [[0, 0, 0], [0, 1, 2]]
    assert batch.mask.tolist() == [[True, True, False, False], [True] * 4]
    assert batch.fill(Slot.OBJECT, 3).entities[:, 1].tolist() == [3, 3]
    assert batch.entities[0, 1] == 0  # the original is untouched
    assert batch.to("cpu").mask.tolist() == batch.mask.tolist()
