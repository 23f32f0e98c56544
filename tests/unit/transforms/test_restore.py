"""Graphs that no HKG is transformed to are refused, each with its reason (X13)."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG, Kind
from hyperfact.transforms import REASONS, NotInImageError, equivalent, plain, restore

S_R_O = Fact("s", "r", "o")
QUALIFIED = Fact("s", "r", "o", (("a", "v"),))


def hkg_of(*facts: Fact, entities: Any = None, relations: Any = None) -> HKG:
    return HKG.from_facts(facts, entities=entities, relations=relations)


BASE_KG = equivalent(
    hkg_of(QUALIFIED, Fact("v", "q", "o", (("a", "s"),)), entities="sovx", relations="raq")
)
COLUMNS = ("source", "relation", "target", "kind", "place")


def edit(kg: KG, rows: Any = None, **changes: dict[int, int]) -> KG:
    """A graph with some rows kept, then some cells changed."""
    columns = {n: getattr(kg, n)[... if rows is None else rows].copy() for n in COLUMNS}
    columns["place"] = columns["place"].copy()
    for name, cells in changes.items():
        for row, value in cells.items():
            columns[name][row] = value
    return replace(kg, **columns)


def at(kind: Kind, mediator: int = 0) -> int:
    found = (BASE_KG.kind == kind) & (
        (BASE_KG.source == 4 + mediator) if kind != Kind.BASE else (BASE_KG.relation == 0)
    )
    return int(np.flatnonzero(found)[0])


def without(*rows: int) -> Any:
    return np.setdiff1d(np.arange(len(BASE_KG)), rows)


ALL = np.arange(len(BASE_KG))
TWIN = equivalent(hkg_of(QUALIFIED, S_R_O, entities="sovx", relations="raq"))
BAD: dict[str, KG] = {
    "lossy_transformation": plain(hkg_of(QUALIFIED)),
    "unknown_mode": replace(BASE_KG, mode="fancy"),
    "unequal_columns": replace(BASE_KG, target=BASE_KG.target[1:]),
    "unknown_id": edit(BASE_KG, relation={0: 9}),
    "wrong_kind": edit(BASE_KG, kind={at(Kind.QUALIFIER): Kind.MEMBER}),
    "incoming_edge": edit(BASE_KG, target={at(Kind.QUALIFIER): 5}),
    "base_edge_from_mediator": edit(BASE_KG, kind={at(Kind.QUALIFIER): Kind.BASE}),
    "role_edge_from_entity": edit(BASE_KG, source={at(Kind.QUALIFIER): 3}),
    "repeated_edge": edit(BASE_KG, np.append(ALL, at(Kind.QUALIFIER))),
    "no_subject": edit(BASE_KG, without(at(Kind.SUB))),
    "two_subjects": edit(BASE_KG, kind={at(Kind.QUALIFIER): Kind.SUB}),
    "no_object": edit(BASE_KG, without(at(Kind.OBJ))),
    "two_objects": edit(BASE_KG, kind={at(Kind.QUALIFIER): Kind.OBJ}),
    "two_relations": edit(BASE_KG, relation={at(Kind.OBJ): 2}),
    "wrong_primary_relation": replace(BASE_KG, mediator_relation=np.array([1, 2], dtype=np.int32)),
    "same_fact_twice": edit(
        BASE_KG,
        relation={at(k, 1): int(BASE_KG.relation[at(k)]) for k in (Kind.SUB, Kind.OBJ)},
        target={at(k, 1): int(BASE_KG.target[at(k)]) for k in list(Kind)[1:4]},
    ),
    "no_base_edge": edit(BASE_KG, without(at(Kind.BASE))),
    "needless_mediator": edit(BASE_KG, without(at(Kind.QUALIFIER))),
    "uncovered_base_edge": replace(
        equivalent(hkg_of(QUALIFIED, Fact("v", "r", "o"))), mode="literal"
    ),
}
BAD["same_fact_twice"] = replace(
    BAD["same_fact_twice"], mediator_relation=np.zeros(2, dtype=np.int32)
)


@pytest.mark.parametrize("reason", REASONS)
def test_x13_graphs_outside_the_image_are_refused(reason: str) -> None:
    with pytest.raises(NotInImageError) as caught:
        restore(BAD[reason])
    assert caught.value.reason == reason
    assert REASONS[reason] in str(caught.value)


def test_the_first_offender_is_named() -> None:
    with pytest.raises(NotInImageError, match=r"mediator 0 \| a \| mediator 1, kind 3"):
        restore(BAD["incoming_edge"])
    with pytest.raises(NotInImageError, match="relation 9"):
        restore(BAD["unknown_id"])


def test_a_twin_mediator_belongs_to_its_mode() -> None:
    assert restore(TWIN) == hkg_of(QUALIFIED, S_R_O, entities="sovx", relations="raq")
    assert restore(replace(TWIN, mode="literal")) == restore(TWIN)
    for other in (replace(TWIN, mode="paper-text"), replace(TWIN, transformation="no_distinction")):
        with pytest.raises(NotInImageError):
            restore(other)
