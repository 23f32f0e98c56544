"""Slices: queries told apart by what they ask, and by what training showed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from hyperfact.errors import UnknownNameError
from hyperfact.evaluation.background import mark
from hyperfact.evaluation.ranks import Ranks
from hyperfact.graph.hkg import HKG, Columns
from hyperfact.graph.queries import entity_at
from hyperfact.graph.ragged import Array, group

KINDS = ("subject", "object", "value")
SEEN, NOT_SEEN = "primary triple in train", "primary triple not in train"
_BOUNDS = (0, 1, 2, 10, 100, 1000)  # how often the answer occurs in training facts
_FREQUENCIES = ("never", "once", "2 to 9 times", "10 to 99", "100 to 999", "1000 and more")


@dataclass(frozen=True)
class RankedQueries:
    """Ranked queries with the facts they are about."""

    ranks: Ranks
    graph: HKG
    train: HKG | None = None


#: The slice of each query as a number, -1 where it is in none; and the names of the numbers.
Labels = tuple[Array, list[str]]


def _slot(ranked: RankedQueries) -> Labels:
    return np.minimum(ranked.ranks.slot, 2), list(KINDS)


def _arity(ranked: RankedQueries) -> Labels:
    arity = ranked.ranks.arity
    return arity, [str(i) for i in range(int(arity.max(initial=0)) + 1)]


def _relation(ranked: RankedQueries) -> Labels:
    return ranked.graph.columns.relation[ranked.ranks.fact], [
        str(r) for r in ranked.graph.relations
    ]


def _attribute(ranked: RankedQueries) -> Labels:
    c, ranks = ranked.graph.columns, ranked.ranks
    code = np.full(len(ranks), -1, dtype=np.int64)
    value = np.flatnonzero(ranks.slot >= 2)
    code[value] = c.attributes[c.offsets[ranks.fact[value]] + ranks.slot[value] - 2]
    return code, [str(r) for r in ranked.graph.relations]


def _frequency(ranked: RankedQueries) -> Labels:
    if ranked.train is None:
        return np.full(len(ranked.ranks), -1, dtype=np.int64), []
    t, ranks = ranked.train.columns, ranked.ranks
    uses = np.concatenate([t.subject, t.object, t.values])
    times = np.bincount(uses, minlength=len(ranked.graph.entities))
    answers = entity_at(ranked.graph.columns, ranks.fact, ranks.slot.astype(np.int32))
    return np.digitize(times[answers], _BOUNDS) - 1, list(_FREQUENCIES)


def _primary(ranked: RankedQueries) -> Labels:
    if ranked.train is None:
        return np.full(len(ranked.ranks), -1, dtype=np.int64), []
    seen = primary_in(ranked.graph, ranked.train)
    return np.where(seen[ranked.ranks.fact], 0, 1), [SEEN, NOT_SEEN]


#: Every way to slice. Adding one: a function above, and a line here.
SLICES: Mapping[str, Callable[[RankedQueries], Labels]] = {
    "slot": _slot,
    "arity": _arity,
    "relation": _relation,
    "attribute": _attribute,
    "frequency": _frequency,
    "primary": _primary,
}


def slices_of(ranked: RankedQueries, name: str) -> dict[str, Array]:
    """The rows of each slice that has any, in the order of slices."""
    if name not in SLICES:
        raise UnknownNameError("slice", name, SLICES)
    code, labels = SLICES[name](ranked)
    order = np.argsort(code, kind="stable")
    present, starts = np.unique(code[order], return_index=True)
    parts = np.split(order, starts[1:])
    return {labels[c]: rows for c, rows in zip(present.tolist(), parts, strict=True) if c >= 0}


def primary_in(graph: HKG, train: HKG) -> Array:  # (facts,) bool
    """Which facts have a primary triple that some training fact has too."""
    both = _bare(Columns.concatenate([graph.columns, train.columns]))
    groups = group(both.table)
    of_row = groups.of_rows()
    in_train: Array = mark(len(groups.keys), of_row[len(graph) :])
    return in_train[of_row[: len(graph)]]


def _bare(c: Columns) -> Columns:
    none = np.zeros(0, dtype=np.int32)
    offsets = np.zeros(len(c) + 1, dtype=np.int64)
    return Columns(c.subject, c.relation, c.object, offsets, none, none)
