"""What every transformation promises, found in the table: a new line there is tested here."""

import random
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG, Kind
from hyperfact.graph.ragged import Array
from hyperfact.transforms import MODES, TRANSFORMS, find_losses, transform, verify
from hyperfact.transforms.complexity import FORMULAS, costs
from tests.support.adversarial import build, draw_case
from tests.support.universe import Edge, naive_edges

CASES = 60


def graphs(seed: str) -> list[HKG]:
    rng = random.Random(seed)
    return [build(draw_case(rng)) for _ in range(CASES)]


def edges(kg: KG, hkg: HKG) -> Counter[Edge]:
    """The edges by name; a mediator is the fact that it stands for."""
    n = kg.num_entities

    def node(i: int) -> object:
        return kg.entities[i] if i < n else hkg[int(kg.mediator_fact[i - n])]

    found = Counter[Edge]()
    columns = (kg.kind, kg.source, kg.relation, kg.target, kg.place)
    for kind, s, r, t, place in zip(*(c.tolist() for c in columns), strict=True):
        edge = (Kind(kind).name.lower(), node(s), kg.relations[r], node(t))
        found[(*edge, place) if place else edge] += 1
    return found


@pytest.mark.parametrize("name", TRANSFORMS)
def test_edges_are_those_of_the_definition(name: str) -> None:
    for hkg in graphs(name):
        mode = "paper-text" if name == "equivalent" else None  # the others add to these
        found = edges(transform(hkg, name, mode=mode), hkg)
        assert found == Counter({e for fact in hkg for e in naive_edges(fact, name)})


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_input_is_left_alone(name: str) -> None:
    for hkg in graphs(name)[:10]:
        before = hkg.fingerprint, list(hkg)
        transform(hkg, name)
        assert (HKG(hkg.entities, hkg.relations, hkg.columns).fingerprint, list(hkg)) == before


@pytest.mark.parametrize("name", TRANSFORMS)
def test_edge_types_are_a_range_over_kind_and_relation(name: str) -> None:
    for hkg in graphs(name):
        kg = transform(hkg, name)
        assert len(kg) == 0 or 0 <= kg.edge_type.min() <= kg.edge_type.max() < kg.num_edge_types
        labels = set(zip(_variant(kg), kg.relation.tolist(), strict=True))
        assert len(labels) == len(np.unique(kg.edge_type))


def _variant(kg: KG) -> list[tuple[int, int]]:
    """Kind and place; base, qualifier and member edges of a relation share its type."""
    kinds = [k if k in (Kind.SUB, Kind.OBJ) else Kind.BASE for k in kg.kind.tolist()]
    return list(zip(kinds, kg.place.tolist(), strict=True))


@pytest.mark.parametrize("name", TRANSFORMS)
def test_provenance_names_the_facts_of_each_edge(name: str) -> None:
    rng = np.random.default_rng(5)
    for hkg in graphs(name):
        kg = transform(hkg, name)
        assert len(kg.provenance.offsets) == len(hkg) + 1
        assert (kg.support >= 1).all()
        assert len(kg) == 0 or (kg.support[kg.provenance.edges] > 0).all()
        rows = np.flatnonzero(rng.random(len(hkg)) < 0.5)
        others = np.setdiff1d(np.arange(len(hkg)), rows)
        gone = np.setdiff1d(kg.provenance.of(rows), kg.provenance.of(others))
        assert kg.edges_only_of(rows).tolist() == gone.tolist()
        uses = [kg.provenance.of(np.array([i])).tolist() for i in range(len(hkg))]
        owners = [[i for i, used in enumerate(uses) if e in used] for e in range(len(kg))]
        assert kg.support.tolist() == [len(o) for o in owners]


@pytest.mark.parametrize("name", TRANSFORMS)
def test_hiding_facts_leaves_the_graph_of_the_others(name: str) -> None:
    """Without the edges of some facts alone, the edges are those of the remaining facts."""
    for hkg in graphs(name):
        mode = "literal" if name == "equivalent" else None
        kg = transform(hkg, name, mode=mode)
        rows = np.arange(0, len(hkg), 2)
        keep = np.setdiff1d(np.arange(len(kg)), kg.edges_only_of(rows))
        rest = hkg.select(np.arange(1, len(hkg), 2))
        assert edges(_take(kg, keep), hkg) == edges(transform(rest, name, mode=mode), rest)


def _take(kg: KG, keep: Array) -> KG:
    return replace(
        kg,
        source=kg.source[keep],
        relation=kg.relation[keep],
        target=kg.target[keep],
        kind=kg.kind[keep],
        place=kg.place[keep],
    )


@pytest.mark.parametrize("name", TRANSFORMS)
def test_facts_without_qualifiers_keep_their_triple(name: str) -> None:
    triples = [Fact("a", "r", "b"), Fact("b", "r", "a"), Fact("a", "q", "a")]
    hkg = HKG.from_facts(triples)
    kg = transform(hkg, name)
    assert edges(kg, hkg) == Counter(e for f in triples for e in naive_edges(f, name))
    assert kg.num_mediators == 0


@pytest.mark.parametrize("name", TRANSFORMS)
def test_mediators_know_their_fact_and_relation(name: str) -> None:
    for hkg in graphs(name):
        kg = transform(hkg, name)
        assert (kg.mediator_relation == hkg.columns.relation[kg.mediator_fact]).all()
        assert len(set(kg.mediator_fact.tolist())) == kg.num_mediators
        assert len(set(kg.mediator_names())) == kg.num_mediators


@pytest.mark.parametrize("name", TRANSFORMS)
def test_counts_stay_within_the_bounds_of_the_paper(name: str) -> None:
    for hkg in graphs(name):
        for cost in costs(hkg):
            if cost.transformation == name:
                assert cost.counted <= cost.bound, cost
    assert set(FORMULAS) == set(TRANSFORMS)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_the_certificate_adds_up(name: str) -> None:
    for hkg in graphs(name):
        for mode in MODES if name == "equivalent" else (None,):
            found = verify(hkg, name, mode=mode)
            rows = [i for loss in find_losses(hkg, name, mode) for i in loss.rows.tolist()]
            assert found.lossless == (not rows)
            assert found.lost == len(set(rows)) == found.counts["lost_facts"]
            if found.lossless and found.restored:
                assert found.restored_fingerprint == found.hkg_fingerprint
