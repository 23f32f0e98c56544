"""Different HKGs have different KGs: every graph of a small universe (A2), and what is lost."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from numpy.typing import NDArray

from hyperfact.graph.facts import Fact, Vocabulary
from hyperfact.graph.hkg import HKG, Columns
from hyperfact.graph.kg import KG, Kind
from hyperfact.graph.mediator_hashes import star_hashes
from hyperfact.graph.ragged import offsets_of
from hyperfact.transforms import TRANSFORMS, equivalent, find_losses, no_distinction, restore
from tests.support.universe import facts_of, naive_edges

E, R = "abc", ("r", "q")


def many(facts: list[Fact], sizes: range, entities: str, relations: tuple[str, ...]) -> HKG:
    """Every set of these facts side by side in one graph: set i uses the i-th copy of the names."""
    sets = [list(s) for k in sizes for s in combinations(range(len(facts)), k)]
    row = np.array([f for s in sets for f in s])
    copy = np.repeat(np.arange(len(sets)), [len(s) for s in sets]) * len(entities)
    e, r = entities.index, relations.index
    small = Columns(
        np.array([e(f.subject) for f in facts], dtype=np.int32),
        np.array([r(f.relation) for f in facts], dtype=np.int32),
        np.array([e(f.object) for f in facts], dtype=np.int32),
        offsets_of(np.array([len(f.qualifiers) for f in facts])),
        np.array([r(a) for f in facts for a, _ in f.qualifiers], dtype=np.int32),
        np.array([e(v) for f in facts for _, v in f.qualifiers], dtype=np.int32),
    )
    c = small.take(row)
    own = np.repeat(copy, np.diff(c.offsets))
    c = replace(
        c,
        subject=(c.subject + copy).astype(np.int32),
        object=(c.object + copy).astype(np.int32),
        values=(c.values + own).astype(np.int32),
    )
    names = (f"{i} {n}" for i in range(len(sets)) for n in entities)
    return HKG.from_columns(Vocabulary(names), Vocabulary(relations), c)


def distinct_graphs(kg: KG, entities: int, labels: NDArray[np.int64]) -> int:
    """How many different KGs stand side by side; `labels` are what an edge is told apart by.

    Equal graphs always count once. So the number can be too small, by a collision of 128-bit
    hashes, but never too large.
    """
    n = kg.num_entities
    rows = np.c_[kg.source, labels, kg.target]
    source, label, target = np.unique(rows, axis=0).T  # a set: edges called the same collapse
    edges = replace(
        kg,
        source=source,
        relation=label,
        target=target,
        kind=np.zeros(len(source), dtype=np.int8),
        place=np.zeros(len(source), dtype=np.int32),
    )
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**63, (entities + int(labels.max()) + 1, 2), dtype=np.uint64)
    names = np.tile(words[:entities], (n // entities, 1))
    nodes = np.concatenate([names, star_hashes(edges.edges, names, words[entities:])])
    mix = (nodes[source] * np.uint64(3)) ^ (nodes[target] * np.uint64(7))
    mix = (mix ^ words[entities:][label]) * np.uint64(0x9E3779B97F4A7C15)
    mix = (mix ^ (mix >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    totals = np.zeros((n // entities, 2), dtype=np.uint64)
    np.add.at(totals, target // entities, mix)
    return len(np.unique(totals, axis=0))


def typed(kg: KG) -> NDArray[np.int64]:
    return kg.kind.astype(np.int64) * len(kg.relations) + kg.relation


def suffixed(kg: KG) -> NDArray[np.int64]:
    """What edges are called if r^sub is written `r_sub` and the user has a relation `r_sub`."""
    names = {Kind.BASE: "", Kind.SUB: "_sub", Kind.OBJ: "_obj", Kind.QUALIFIER: ""}
    known: dict[str, int] = {}
    called = [
        f"{kg.relations[r]}{names[Kind(k)]}"
        for k, r in zip(kg.kind.tolist(), kg.relation.tolist(), strict=True)
    ]
    return np.array([known.setdefault(name, len(known)) for name in called])


ONE = many(facts_of("ab", R, 1), range(1, 4), "ab", R)
TWO = many(facts_of("ab", R, 2), range(1, 3), "ab", R)
CLASH = many(facts_of("abc", ("r", "r_sub"), 1), range(1, 3), "abc", ("r", "r_sub"))


@pytest.mark.parametrize(
    ("hkg", "mode", "graphs", "different"),
    [
        (ONE, "paper-text", 10_700, 9_500),
        (TWO, "paper-text", 3_916, 3_836),
        (ONE, "literal", 10_700, 10_700),
        (TWO, "literal", 3_916, 3_916),
        (ONE, "compact", 10_700, 10_700),
        (TWO, "compact", 3_916, 3_916),
    ],
)
def test_different_graphs_stay_different(hkg: HKG, mode: str, graphs: int, different: int) -> None:
    assert len(hkg.entities) == 2 * graphs
    kg = equivalent(hkg, mode)
    assert distinct_graphs(kg, 2, typed(kg)) == different
    assert (restore(kg) == hkg) == (different == graphs)


@pytest.mark.parametrize(
    ("mode", "by_suffix"), [("literal", 6_912), ("compact", 7_947), ("paper-text", 7_884)]
)
def test_suffixed_names_clash_and_kinds_do_not(mode: str, by_suffix: int) -> None:
    assert len(CLASH.entities) == 3 * 8_001
    kg = equivalent(CLASH, mode)
    assert distinct_graphs(kg, 3, suffixed(kg)) == by_suffix
    if mode != "paper-text":
        assert distinct_graphs(kg, 3, typed(kg)) == 8_001
        assert restore(kg) == CLASH


def test_no_distinction_is_injective_too() -> None:
    for hkg in (ONE, TWO):
        assert restore(no_distinction(hkg)) == hkg


def test_side_by_side_is_as_strict_as_one_by_one() -> None:
    """The same count with one KG for each HKG, and their fingerprints, on a smaller universe."""
    facts = facts_of("ab", ("r",), 1)
    sets = [s for k in range(3) for s in combinations(facts, k)]
    for mode, different in (("paper-text", 79 - 8), ("compact", 79), ("literal", 79)):
        prints = {
            equivalent(HKG.from_facts(s, entities="ab", relations=["r"]), mode).fingerprint
            for s in sets
        }
        assert (len(sets), len(prints)) == (79, different)


# -- what is lost ---------------------------------------------------------------------------------


def lost_by_definition(hkg: HKG, name: str, facts: list[Fact]) -> set[Fact]:
    """Facts that some other HKG with the same KG lacks, by trying: for clique transformations.

    All facts that fit the edges together give the KG; leave one out and see whether it changes.
    """
    edges = {e for f in hkg for e in naive_edges(f, name)}
    fitting = [f for f in facts if edges.issuperset(naive_edges(f, name))]
    return {
        fact
        for fact in hkg
        if {e for f in fitting if f != fact for e in naive_edges(f, name)} == edges
    }


def lost(hkg: HKG, name: str) -> set[Fact]:
    return {hkg[int(i)] for loss in find_losses(hkg, name) for i in loss.rows}


@pytest.mark.parametrize("name", ["clique_plain", "clique_semantic"])
@pytest.mark.parametrize(
    ("entities", "relations", "qualifiers", "cases"),
    [("ab", ("r",), 2, 150), ("abc", ("r", "q"), 2, 120), ("ab", ("r", "q"), 4, 150)],
)
def test_losses_of_cliques_are_exact(
    name: str, entities: str, relations: tuple[str, ...], qualifiers: int, cases: int
) -> None:
    facts = facts_of(entities, relations, qualifiers)
    rng = np.random.default_rng(len(facts))
    kept = 0
    for _ in range(cases):
        few = [f for f in facts if len(f.qualifiers) < qualifiers]  # a rival may have one more
        chosen = rng.choice(len(few), size=int(rng.integers(1, 5)), replace=False)
        hkg = HKG.from_facts([few[i] for i in chosen], entities=entities, relations=relations)
        found = lost(hkg, name)
        assert found == lost_by_definition(hkg, name, facts)
        kept += len(hkg) - len(found)
    assert (kept > 0) == (name == "clique_semantic")


def subsets(facts: list[Fact]) -> Iterator[tuple[Fact, ...]]:
    for choice in product((False, True), repeat=len(facts)):
        yield tuple(f for f, taken in zip(facts, choice, strict=True) if taken)


def test_losses_of_plain_are_exact() -> None:
    """All sets of facts on one entity and two relations; and enough on two entities."""
    universes = [
        (facts_of("a", ("r", "q"), 2), "a", ("r", "q")),
        (facts_of("ab", ("r",), 2)[:10], "ab", ("r",)),
    ]
    for facts, entities, relations in universes:
        classes: dict[str, list[tuple[Fact, ...]]] = {}
        for chosen in subsets(facts):
            hkg = HKG.from_facts(chosen, entities=entities, relations=relations)
            classes.setdefault(TRANSFORMS["plain"](hkg).fingerprint, []).append(chosen)
        whole = entities == "a"  # the second universe is cut, so it shows fewer rivals
        for graphs in classes.values():
            sure = set(graphs[0]).intersection(*graphs[1:])
            for chosen in graphs[:3]:
                hkg = HKG.from_facts(chosen, entities=entities, relations=relations)
                found = lost(hkg, "plain")
                assert found >= set(chosen) - sure
                assert not whole or found == set(chosen) - sure
