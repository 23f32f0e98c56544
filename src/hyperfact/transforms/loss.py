"""Exactly which facts a transformation loses: those that some other HKG with the same KG lacks.

A fact is recovered if every HKG over the same vocabularies with the same KG holds it. That is a
statement about all HKGs, not about one decoder, and it is decided here for each transformation.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hyperfact.errors import UnknownNameError
from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Places, Table, group, offsets_of
from hyperfact.transforms.edge_blocks import Mask
from hyperfact.transforms.readings import lost_in_clique
from hyperfact.transforms.stars import plain, twins


@dataclass(frozen=True)
class Loss:
    """Facts that are lost for one reason."""

    reason: str
    why: str
    rows: Places  # (facts,) rising


BARE_TWIN = (
    "bare twin",
    "the fact has no qualifiers and a qualified fact has the same primary triple: with or without "
    "it the edges are the same",
)
PLAIN_STAR = (
    "roles and attributes dropped",
    "the mediator is joined to a set of entities by the primary relation: other subjects, objects "
    "and attributes give the same edges",
)
PLAIN_CLIQUE = (
    "pairs are triples",
    "every pair of the fact is an edge that a triple of its own gives too",
)
PLAIN_CLIQUE_BARE = (
    "a triple may be a pair",
    "a fact with the object as a value too, (s, r, o, {(a, o)}), gives the same single edge",
)
SEMANTIC_BARE = (
    "qualifiers fit the triple",
    "a qualified fact with the same primary triple fits the edges too, and gives the base edge",
)
SEMANTIC_QUALIFIED = (
    "pairs fit other facts",
    "each pair of the fact is also a pair of another fact that fits the edges",
)


def find_losses(hkg: HKG, transformation: str, mode: str | None = None) -> tuple[Loss, ...]:
    """What this transformation of this HKG loses, by reason; empty if nothing."""
    if transformation not in _LOSSES:
        raise UnknownNameError("transformation", transformation, _LOSSES)
    if transformation == "equivalent":
        return _losses(hkg, twins(hkg), BARE_TWIN) if mode == "paper-text" else ()
    return _LOSSES[transformation](hkg)


def _losses(hkg: HKG, lost: Mask, *reasons: tuple[str, str]) -> tuple[Loss, ...]:
    """The lost facts, split by qualified and bare if there are two reasons."""
    if len(reasons) == 1:
        masks = [lost]
    else:
        qualified = hkg.num_qualifiers > 0
        masks = [lost & qualified, lost & ~qualified]
    found = [
        Loss(name, why, np.flatnonzero(m)) for (name, why), m in zip(reasons, masks, strict=True)
    ]
    return tuple(loss for loss in found if len(loss.rows))


def _nothing(_: HKG) -> tuple[Loss, ...]:
    return ()


def _in_plain(hkg: HKG) -> tuple[Loss, ...]:
    """Qualified facts, unless every fact that fits their star stands there (tiny vocabularies)."""
    kg = plain(hkg)
    edges = np.flatnonzero(kg.source >= kg.num_entities)  # mediator after mediator, sorted inside
    counts = np.bincount(kg.source[edges] - kg.num_entities, minlength=kg.num_mediators)
    offsets, members = offsets_of(counts), kg.target[edges]
    table = Table(kg.mediator_relation[:, None], offsets, members, np.zeros_like(members))
    groups = group(table)
    lost = np.zeros(len(hkg), dtype=bool)
    for start, stop in pairwise(groups.offsets.tolist()):
        same = groups.order[start:stop]  # mediators with the same star
        fitting = _facts_on_star(int(counts[same[0]]), len(hkg.relations))
        lost[kg.mediator_fact[same]] = len(same) < fitting
    return _losses(hkg, lost, PLAIN_STAR)


def _facts_on_star(entities: int, relations: int) -> int:
    """How many qualified facts of one relation use exactly these entities.

    Subject and object are chosen; the other entities must each be a value. With 2^R sets of
    attributes for one value, a value that must stand there has 2^R - 1.
    """
    if entities * relations > 64:
        return 2**64  # more than any graph holds
    sets = 2**relations
    total = 0
    for pairs, needed in ((entities, entities - 1), (entities * (entities - 1), entities - 2)):
        ways = (sets - 1) ** max(needed, 0) * sets ** (entities - max(needed, 0))
        total += pairs * (ways - (needed <= 0))  # the empty set of qualifiers does not count
    return total


def _in_clique_plain(hkg: HKG) -> tuple[Loss, ...]:
    return _losses(hkg, np.ones(len(hkg), dtype=bool), PLAIN_CLIQUE, PLAIN_CLIQUE_BARE)


def _in_clique_semantic(hkg: HKG) -> tuple[Loss, ...]:
    return _losses(hkg, lost_in_clique(hkg), SEMANTIC_QUALIFIED, SEMANTIC_BARE)


_LOSSES: Mapping[str, Callable[[HKG], tuple[Loss, ...]]] = {
    "equivalent": _nothing,
    "no_distinction": _nothing,
    "plain": _in_plain,
    "clique_plain": _in_clique_plain,
    "clique_semantic": _in_clique_semantic,
}
