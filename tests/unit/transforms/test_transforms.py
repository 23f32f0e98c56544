"""The counter-examples to the paper's text, each by name; and the certificate."""

import json
from typing import Any

import numpy as np
import pytest

from hyperfact.data import load
from hyperfact.errors import ConfigError, DataError, UnknownNameError
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.transforms import (
    MODES,
    equivalent,
    find_losses,
    no_distinction,
    restore,
    transform,
    twins,
    unite,
    verify,
)
from hyperfact.transforms.complexity import Sizes, costs
from hyperfact.transforms.edge_blocks import distinct
from tests.support.benchmarks import data_folder
from tests.support.motifs import motifs_of


def hkg_of(*facts: Fact, entities: Any = None, relations: Any = None) -> HKG:
    return HKG.from_facts(facts, entities=entities, relations=relations)


S_R_O = Fact("s", "r", "o")
QUALIFIED = Fact("s", "r", "o", (("a", "v"),))


def test_x1_a_bare_twin_is_lost_by_the_text_and_kept_by_the_twin_rule() -> None:
    names: dict[str, Any] = {"entities": "sov", "relations": "ra"}
    one, two = hkg_of(QUALIFIED, **names), hkg_of(QUALIFIED, S_R_O, **names)
    assert one != two
    assert equivalent(one, "paper-text") == equivalent(two, "paper-text")
    assert restore(equivalent(two, "paper-text")) == one  # X2: no rule serves both
    for mode in ("compact", "literal"):
        assert equivalent(one, mode) != equivalent(two, mode)
        assert restore(equivalent(one, mode)) == one
        assert restore(equivalent(two, mode)) == two
    assert equivalent(one).num_mediators == 1
    assert equivalent(two).num_mediators == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param(
            (Fact("s", "r", "o", (("r_sub", "v"),)), Fact("v", "r", "o")),
            (Fact("v", "r", "o", (("r_sub", "s"),)), Fact("s", "r", "o")),
            id="X3 suffix clash",
        ),
        pytest.param(
            (Fact("s", "r", "o", (("q_sub", "v"), ("q_obj", "w"))), Fact("v", "q", "w")),
            (Fact("v", "q", "w", (("r_sub", "s"), ("r_obj", "o"))), Fact("s", "r", "o")),
            id="X4 two relations",
        ),
        pytest.param(
            (Fact("s", "r", "o", (("r_sub", "s"),)),),
            (Fact("s", "r", "o"),),
            id="X5 collapsed edge",
        ),
    ],
)
@pytest.mark.parametrize("mode", ["compact", "literal"])
def test_x3_to_x5_names_of_relations_cannot_clash(
    first: tuple[Fact, ...], second: tuple[Fact, ...], mode: str
) -> None:
    relations = ["r", "q", "r_sub", "r_obj", "q_sub", "q_obj"]
    one, two = (hkg_of(*facts, entities="sovw", relations=relations) for facts in (first, second))
    assert equivalent(one, mode) != equivalent(two, mode)
    assert restore(equivalent(one, mode)) == one
    assert restore(equivalent(two, mode)) == two


def test_x6_to_x8_motifs_without_labels_are_ambiguous_or_wrong() -> None:
    located = [
        Fact("Turing", "educated at", "Cambridge", (("country", "England"),)),
        Fact("Cambridge", "located in", "England"),
    ]
    symmetric = [Fact("a", "spouse", "b", (("since", "1990"),)), Fact("b", "spouse", "a")]
    for facts in (located, symmetric):
        (motifs,) = motifs_of(equivalent(hkg_of(*facts)))
        assert len(motifs) == 2
    loop = equivalent(hkg_of(Fact("s", "r", "s", (("a", "v"),)), Fact("s", "p", "v")))
    ((wrong,),) = motifs_of(loop)
    assert loop.relations[loop.relation[wrong]] == "p"
    alone = equivalent(hkg_of(QUALIFIED))
    ((right,),) = motifs_of(alone)
    assert alone.relations[alone.relation[right]] == "r"
    assert motifs_of(equivalent(hkg_of(S_R_O))) == []


def test_x9_x10_mediators_have_no_names_to_clash() -> None:
    facts = [Fact("b_0", "p", "c"), QUALIFIED]
    names: dict[str, Any] = {"entities": ["b_0", *"socv"], "relations": "pra"}
    a, b = hkg_of(*facts, **names), hkg_of(Fact("c", "r", "o", (("a", "v"),)), **names)
    assert restore(equivalent(a)) == a
    both = unite(equivalent(a), equivalent(b))  # mediator 0 of each is another fact
    assert both.num_mediators == 2
    assert restore(both) == hkg_of(*a, *b, **names)


def test_x11_unused_names_and_their_order_survive() -> None:
    hkg = hkg_of(QUALIFIED, entities=["z", "v", "o", "alone", "s"], relations=["b", "r", "a"])
    back = restore(equivalent(hkg))
    assert back.entities[:] == ("z", "v", "o", "alone", "s")
    assert back.relations[:] == ("b", "r", "a")


def test_x12_facts_are_a_set() -> None:
    twice = Fact("s", "r", "o", (("b", "w"), ("a", "v"), ("a", "v")))
    hkg = hkg_of(twice, twice)
    assert equivalent(hkg).num_mediators == 1
    assert len(hkg.repeats.facts) == 1
    assert restore(equivalent(hkg)) == hkg_of(Fact("s", "r", "o", (("a", "v"), ("b", "w"))))


# -- names, certificates, counts ------------------------------------------------------------------


def test_unknown_names_are_told() -> None:
    hkg = hkg_of(QUALIFIED)
    with pytest.raises(UnknownNameError, match="did you mean 'equivalent'"):
        transform(hkg, "equivalant")
    with pytest.raises(UnknownNameError, match="did you mean 'literal'"):
        transform(hkg, mode="litteral")
    with pytest.raises(ConfigError, match="'plain' has no modes, got 'compact'"):
        transform(hkg, "plain", mode="compact")
    with pytest.raises(UnknownNameError, match="unknown transformation"):
        find_losses(hkg, "fancy")
    with pytest.raises(DataError, match="same transformation and mode"):
        unite(equivalent(hkg), equivalent(hkg, "literal"))


def test_no_distinction_graphs_unite_too() -> None:
    names: dict[str, Any] = {"entities": "sov", "relations": "ra"}
    parts = [hkg_of(QUALIFIED, **names), hkg_of(S_R_O, **names)]
    assert restore(unite(*map(no_distinction, parts))) == hkg_of(QUALIFIED, S_R_O, **names)


def test_a_certificate_of_a_lossless_transformation() -> None:
    found = verify(hkg_of(QUALIFIED, S_R_O))
    assert found.lossless
    assert found.restored
    assert found.restored_fingerprint == found.hkg_fingerprint != found.kg_fingerprint
    assert found.counts["mediators"] == 2
    assert json.loads(json.dumps(found.to_dict()))["losses"] == []


def test_a_certificate_of_a_lossy_one_names_the_facts() -> None:
    found = verify(hkg_of(QUALIFIED, S_R_O, Fact("v", "r", "o")), mode="paper-text")
    assert not found.lossless
    document = json.loads(json.dumps(found.to_dict()))
    assert document["counts"]["lost_facts"] == 1
    assert document["losses"][0]["rows"] == [1]
    assert document["losses"][0]["reason"] == "bare twin"
    assert document["losses"][0]["examples"] == ["s | r | o"]
    assert verify(hkg_of(S_R_O), "plain").lossless  # nothing to lose
    stars = verify(hkg_of(QUALIFIED, S_R_O), "plain", examples=0)
    assert (stars.lost, stars.restored_fingerprint, stars.examples) == (1, None, ((),))


def test_costs_are_counted_beside_the_formulas() -> None:
    hkg = hkg_of(QUALIFIED, S_R_O, Fact("v", "r", "s", (("a", "o"), ("b", "o"))))
    assert Sizes.of(hkg) == Sizes(n_e=3, n_pri=1, n_qua=2, n_a=2, N_pri=1, N_qua=2, N_twin=1)
    rows = {(c.transformation, c.mode, c.measure): (c.counted, c.bound) for c in costs(hkg)}
    assert rows["equivalent", "compact", "nodes"] == (6, 6)
    assert rows["equivalent", "literal", "edges"] == (2 + 6 + 3, 3 + 2 * 5)
    assert rows["equivalent", "paper-text", "relations"] == (1 + 2 + 2, 5)
    assert rows["clique_plain", None, "nodes"] == (3, 3)
    assert rows["clique_semantic", None, "relations"][1] == 1 + 2 * 2


def test_distinct_rows_are_numbered_alike_however_many() -> None:
    rng = np.random.default_rng(1)
    for size, spans in ((0, (5, 5)), (300, (4, 5)), (200_000, (300, 900)), (200_000, (2**31, 9))):
        columns = [rng.integers(0, span, size) for span in (*spans, 2**31)]
        for chosen in (columns[:2], columns):
            first, number = distinct(*chosen)
            rows, inverse = np.unique(np.stack(chosen), axis=1, return_inverse=True)
            assert np.array_equal(np.stack(chosen)[:, first], rows)
            assert np.array_equal(number, inverse)


# -- the benchmarks -------------------------------------------------------------------------------


@pytest.mark.bench_data
@pytest.mark.parametrize(
    ("name", "facts", "qualified", "bare_twins", "ambiguous"),
    [
        ("FB-AUTO", 6_778, 4_537, 0, 468),
        ("JF17K", 61_104, 25_662, 0, 5_825),
        ("WD50K", 166_435, 22_890, 170, 10_903),
    ],
)
def test_real_data_loses_nothing(
    name: str, facts: int, qualified: int, bare_twins: int, ambiguous: int
) -> None:
    hkg = load(name, data_dir=data_folder()).train
    assert (len(hkg), int((hkg.num_qualifiers > 0).sum())) == (facts, qualified)
    assert int(twins(hkg).sum()) == bare_twins
    mediators = {"compact": qualified + bare_twins, "literal": facts, "paper-text": qualified}
    for mode in MODES:
        kg = equivalent(hkg, mode)
        assert kg.num_mediators == mediators[mode]
        assert (restore(kg) == hkg) == (mode != "paper-text" or bare_twins == 0)
        if mode == "paper-text":
            assert sum(len(motifs) != 1 for motifs in motifs_of(kg)) == ambiguous
    assert restore(no_distinction(hkg)) == hkg
    assert verify(hkg).lossless
