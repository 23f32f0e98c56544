"""The KG itself: sizes, edge types, equality, fingerprints, where edges come from."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG, Kind
from hyperfact.transforms import equivalent, no_distinction, plain

QUALIFIED = Fact("a", "r", "b", (("q", "c"), ("q", "d")))
BARE = Fact("a", "r", "b")
OTHER = Fact("b", "q", "a")


def kg_of(*facts: Fact, mode: str = "compact") -> KG:
    return equivalent(HKG.from_facts(facts, entities="abcde", relations="qrz"), mode)


def test_sizes_and_repr() -> None:
    kg = kg_of(QUALIFIED, BARE, OTHER)
    assert (kg.num_entities, kg.num_mediators, kg.num_nodes) == (5, 2, 7)
    assert len(kg) == 2 + 2 + 2 + 2  # base, sub, obj, qualifier
    assert repr(kg) == "KG(equivalent/compact: 8 edges, 5 entities, 2 mediators, 3 relations)"
    assert repr(plain(HKG.from_facts([BARE]))).startswith("KG(plain: 1 edges")


def test_edge_types_number_relation_sub_and_obj() -> None:
    kg = kg_of(QUALIFIED)
    q, r = 0, 1
    assert kg.num_edge_types == 9
    assert dict(zip(kg.kind.tolist(), kg.edge_type.tolist(), strict=True)) == {
        Kind.BASE: r,
        Kind.SUB: 3 + r,
        Kind.OBJ: 6 + r,
        Kind.QUALIFIER: q,
    }


def test_equality_does_not_see_the_numbers_of_mediators() -> None:
    one = kg_of(QUALIFIED, BARE, OTHER)
    two = kg_of(OTHER, BARE, QUALIFIED)
    assert one.mediator_fact.tolist() == [0, 1]
    assert two.mediator_fact.tolist() == [1, 2]
    assert one == two
    assert hash(one) == hash(two)
    assert one.fingerprint == two.fingerprint
    assert sorted(one.mediator_names()) == sorted(two.mediator_names())


@pytest.mark.parametrize(
    "other",
    [
        kg_of(QUALIFIED, OTHER),
        kg_of(QUALIFIED, BARE, OTHER, mode="literal"),
        no_distinction(HKG.from_facts([QUALIFIED, BARE, OTHER], entities="abcde", relations="qrz")),
        equivalent(HKG.from_facts([QUALIFIED, BARE, OTHER], entities="abced", relations="qrz")),
        equivalent(HKG.from_facts([QUALIFIED, BARE, OTHER], entities="abcde", relations="qrzy")),
        kg_of(Fact("a", "r", "b", (("q", "c"), ("z", "d"))), BARE, OTHER),
        "not a KG",
    ],
)
def test_what_differs_is_not_equal(other: object) -> None:
    kg = kg_of(QUALIFIED, BARE, OTHER)
    assert kg != other
    if isinstance(other, KG) and set(other.entities) == set(kg.entities) != other.entities:
        assert (other.fingerprint == kg.fingerprint) == (other.entities[:] == tuple("abced"))


def test_a_moved_edge_changes_the_fingerprint() -> None:
    kg = kg_of(QUALIFIED, BARE, OTHER)
    for column in ("source", "relation", "target", "kind"):
        values = getattr(kg, column).copy()
        values[0] = (values[0] + 1) % 3
        assert replace(kg, **{column: values}).fingerprint != kg.fingerprint, column
    assert replace(kg, mode="literal").fingerprint != kg.fingerprint


def test_equal_stars_of_a_lossy_graph_keep_different_names() -> None:
    facts = [Fact("a", "r", "b", (("q", "c"),)), Fact("b", "r", "c", (("q", "a"),))]
    names = plain(HKG.from_facts(facts)).mediator_names()
    assert len(set(names)) == 2
    assert names[1] == f"{names[0]}.2"


def test_a_shared_base_edge_belongs_to_all_its_facts() -> None:
    kg = kg_of(QUALIFIED, BARE, OTHER)
    base = int(np.flatnonzero((kg.kind == Kind.BASE) & (kg.relation == 1))[0])
    assert kg.support[base] == 2
    assert all(base in kg.provenance.of(np.array([row])) for row in (0, 1))
    assert base not in kg.edges_only_of(np.array([0]))
    assert base in kg.edges_only_of(np.array([0, 1]))
    assert len(kg.edges_only_of(np.arange(3))) == len(kg)


def test_canonical_order_is_that_of_content() -> None:
    kg = kg_of(OTHER, BARE, QUALIFIED).canonical()
    again = kg_of(QUALIFIED, BARE, OTHER).canonical()
    for name in ("source", "relation", "target", "kind", "mediator_relation"):
        assert getattr(kg, name).tolist() == getattr(again, name).tolist()
    for row, fact in enumerate((OTHER, BARE, QUALIFIED)):
        edges = kg.provenance.of(np.array([row]))
        assert len(edges) == {OTHER: 1, BARE: 3, QUALIFIED: 5}[fact]


def test_no_facts_make_an_empty_graph() -> None:
    kg = kg_of()
    assert (len(kg), kg.num_mediators, kg.num_nodes) == (0, 0, 5)
    assert kg == kg.canonical()
    assert kg.edges_only_of(np.zeros(0, dtype=np.int64)).tolist() == []
    assert len(kg.edge_type) == 0


def test_a_graph_needs_no_torch() -> None:
    code = "import sys, hyperfact.transforms.interchange, hyperfact.draw, hyperfact.cli.graph"
    code += "; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
