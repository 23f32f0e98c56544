"""The equivalent transformation loses nothing, and `restore` never guesses (A1, A3 to A5)."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from hyperfact.graph.hkg import HKG, union
from hyperfact.graph.kg import KG, Kind
from hyperfact.transforms import MODES, NotInImageError, equivalent, no_distinction, restore, unite
from tests.support.adversarial import EVENTS, beside, build, draw_case, events
from tests.support.graphs import hkgs

#: 20,000 examples: some graph by graph, the others side by side in one graph, which is as strict
#: (the entities of two examples are different ones) and fifty times faster.
ALONE, TOGETHER, SIDE = 2_000, 18_000, 100


def test_transform_and_restore_lose_nothing() -> None:
    rng = random.Random("restore")
    seen = Counter[str]()
    for _ in range(ALONE):
        case = draw_case(rng)
        seen.update(events(case))
        hkg = build(case)
        for mode in ("compact", "literal"):
            back = restore(equivalent(hkg, mode))
            assert back == hkg, (mode, case)
            assert back.entities[:] == tuple(case[1])
            assert back.relations[:] == tuple(case[2])
    for _ in range(TOGETHER // SIDE):
        cases = [draw_case(rng) for _ in range(SIDE)]
        for case in cases:
            seen.update(events(case))
        hkg = build(beside(cases))
        for mode in ("compact", "literal"):
            assert restore(equivalent(hkg, mode)) == hkg
    rare = {event: seen[event] for event in EVENTS if seen[event] < 100}
    assert not rare, f"the generator hardly makes these: {rare}"


@pytest.mark.slow
@pytest.mark.parametrize("chunk", range(10))
def test_a_million_examples_lose_nothing(chunk: int) -> None:
    rng = random.Random(f"night {chunk}")
    for _ in range(1_000):
        hkg = build(beside([draw_case(rng) for _ in range(SIDE)]))
        assert restore(equivalent(hkg)) == hkg
        assert restore(equivalent(hkg, "literal")) == hkg


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(hkgs())
def test_every_typed_transformation_is_inverted(hkg: HKG) -> None:
    for kg in (equivalent(hkg), equivalent(hkg, "literal"), no_distinction(hkg)):
        assert restore(kg) == hkg
        assert restore(kg).fingerprint == hkg.fingerprint


def _again(kg: KG, hkg: HKG) -> KG:
    return no_distinction(hkg) if kg.mode is None else equivalent(hkg, kg.mode)


def _mutate(kg: KG, rng: random.Random) -> KG:
    """Drop, repeat, retarget or relabel one edge, or move the mark between the modes."""
    change = rng.randrange(7)
    if change == 0 or not len(kg):
        mode = rng.choice(MODES)
        return replace(kg, mode=mode, transformation="equivalent")
    at = rng.randrange(len(kg))
    columns = {n: getattr(kg, n).copy() for n in ("source", "relation", "target", "kind", "place")}
    if change in (1, 2):
        rows = np.delete(np.arange(len(kg)), at) if change == 1 else np.r_[: len(kg), at]
        return replace(kg, **{n: c[rows] for n, c in columns.items()})
    name, span = {
        3: ("target", kg.num_nodes),
        4: ("source", kg.num_nodes),
        5: ("relation", len(kg.relations) + 1),
        6: ("kind", len(Kind)),
    }[change]
    columns[name][at] = rng.randrange(span)
    return replace(kg, **columns)


def test_restore_refuses_or_is_the_inverse() -> None:
    rng = random.Random("mutations")
    outcomes = Counter[str]()
    for _ in range(2_000):
        hkg = build(draw_case(rng))
        kg = no_distinction(hkg) if rng.random() < 0.2 else equivalent(hkg, rng.choice(MODES))
        for _ in range(rng.choice((1, 1, 2))):
            kg = _mutate(kg, rng)
        try:
            back = restore(kg)
        except NotInImageError as error:
            outcomes[error.reason] += 1
        else:
            outcomes["restored"] += 1
            assert _again(kg, back) == kg
    assert outcomes["restored"] >= 100
    assert len(outcomes) >= 12, outcomes


def test_random_edges_are_refused_or_restored() -> None:
    rng = np.random.default_rng(3)
    hkg = build((list(restore_example()), ["a", "b", "c"], ["r", "q"]))
    for _ in range(500):
        size = int(rng.integers(0, 6))
        mediators = int(rng.integers(0, 3))
        kg = replace(
            equivalent(hkg),
            source=rng.integers(0, 3 + mediators, size, dtype=np.int32),
            relation=rng.integers(0, 2, size, dtype=np.int32),
            target=rng.integers(0, 3 + mediators, size, dtype=np.int32),
            kind=rng.integers(0, 4, size, dtype=np.int8),
            place=np.zeros(size, dtype=np.int32),
            mediator_relation=np.zeros(mediators, dtype=np.int32),
            mediator_fact=np.full(mediators, -1),
            mode=MODES[int(rng.integers(0, 3))],
        )
        try:
            back = restore(kg)
        except NotInImageError:
            continue
        assert _again(kg, back) == kg


def restore_example() -> HKG:
    return build(draw_case(random.Random(0)))[0:0]


def test_splits_compose() -> None:
    rng = random.Random("splits")
    alone = [draw_case(rng) for _ in range(300)]
    together = [beside([draw_case(rng) for _ in range(100)]) for _ in range(17)]
    for case in (*alone, *together):  # 2,000 examples
        hkg = build(case)
        side = np.array([rng.random() < 0.5 for _ in range(len(hkg))], dtype=bool)
        a, b = hkg.select(side), hkg.select(~side)
        for mode in MODES:
            whole = equivalent(union(a, b), mode)
            assert unite(equivalent(a, mode), equivalent(b, mode)) == whole


def test_literal_graphs_are_united_by_pooling_their_edges() -> None:
    """Only the twin rule looks at other facts; without it a union of edge sets is enough."""
    rng = random.Random("pool")
    for _ in range(200):
        hkg = build(draw_case(rng))
        half = len(hkg) // 2
        a, b = equivalent(hkg[:half], "literal"), equivalent(hkg[half:], "literal")
        assert _pooled(a, b) == equivalent(hkg, "literal")


def _pooled(a: KG, b: KG) -> KG:
    n = a.num_entities
    shift = np.arange(b.num_nodes, dtype=np.int32)
    shift[n:] += a.num_mediators
    edges = {
        "source": np.r_[a.source, shift[b.source]],
        "target": np.r_[a.target, shift[b.target]],
        **{k: np.r_[getattr(a, k), getattr(b, k)] for k in ("relation", "kind", "place")},
    }
    table = np.stack([edges[k] for k in ("source", "relation", "target", "kind", "place")])
    _, keep = np.unique(table, axis=1, return_index=True)
    return replace(
        a,
        **{k: v[keep] for k, v in edges.items()},
        mediator_relation=np.r_[a.mediator_relation, b.mediator_relation],
        mediator_fact=np.r_[a.mediator_fact, b.mediator_fact],
    )


def test_shuffled_facts_give_the_same_graph() -> None:
    rng = random.Random("shuffle")
    for _ in range(300):
        facts, entities, relations = draw_case(rng)
        kg = equivalent(build((facts, entities, relations)))
        rng.shuffle(facts)
        again = equivalent(build((facts, entities, relations)))
        assert again == kg
        assert again.fingerprint == kg.fingerprint
        assert again.canonical().mediator_names() == kg.canonical().mediator_names()
