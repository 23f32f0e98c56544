"""Edges in the making: blocks of one kind, laid side by side into a KG."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperfact.graph.hkg import HKG, Columns
from hyperfact.graph.kg import KG, Kind, Provenance
from hyperfact.graph.ragged import Array, Ids, Places, offsets_of

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Block:
    """Edges of one kind, and which fact asks for which of them."""

    kind: Kind
    source: Array  # (edges,)
    relation: Array  # (edges,)
    target: Array  # (edges,)
    fact: Array  # (uses,) row of the fact
    edge: Array  # (uses,) place in this block
    place: Array | None = None  # (edges,)


@dataclass(frozen=True)
class Triples:
    """The distinct primary triples of some facts, sorted."""

    subject: Ids  # (triples,)
    relation: Ids  # (triples,)
    object: Ids  # (triples,)
    of_fact: Places  # (facts,) the triple of each

    @classmethod
    def of(cls, c: Columns) -> "Triples":
        """The primary triples of these facts."""
        first, of_fact = distinct(c.subject, c.relation, c.object)
        return cls(c.subject[first], c.relation[first], c.object[first], of_fact)

    def __len__(self) -> int:
        return len(self.subject)

    def any(self, mask: Mask) -> Mask:
        """For each triple whether some fact of the mask has it."""
        hit = np.zeros(len(self), dtype=bool)
        hit[self.of_fact[mask]] = True
        return hit

    def base(self) -> Block:
        """A base edge for each triple, asked for by all of its facts."""
        facts = np.arange(len(self.of_fact))
        return Block(Kind.BASE, self.subject, self.relation, self.object, facts, self.of_fact)


def distinct(*columns: Array) -> tuple[Places, Places]:
    """A row of each distinct combination, in rising order; and for each row its number."""
    key = columns[0].astype(np.int64)
    for column in columns[1:]:
        span = int(column.max(initial=0)) + 1
        if int(key.max(initial=0)) >= (2**63 - 1) // span:
            key = np.unique(key, return_inverse=True)[1].astype(np.int64)
        key = key * span + column
    if len(key) < 2 * _PARTS * _PARTS:
        return _distinct_keys(key)
    return _distinct_by_parts(key)


_PARTS = 256


def _distinct_keys(key: Places) -> tuple[Places, Places]:
    order = np.argsort(key)  # not stable, and need not be: equal keys are equal rows
    key = key[order]
    new = np.ones(len(key), dtype=bool)
    np.not_equal(key[1:], key[:-1], out=new[1:])
    number = np.empty(len(key), dtype=np.int64)
    number[order] = np.cumsum(new) - 1
    return order[new], number


def _distinct_by_parts(key: Places) -> tuple[Places, Places]:
    """The same for many keys: ranges of keys one after the other, each small enough for a cache."""
    part = (key // (int(key.max()) // _PARTS + 1)).astype(np.uint8)
    order = np.argsort(part, kind="stable")  # a counting sort, for there are few parts
    stops = np.cumsum(np.bincount(part, minlength=_PARTS)).tolist()
    key = key[order]
    rows, numbers = [], np.empty(len(key), dtype=np.int64)
    start = count = 0
    for stop in stops:
        first, number = _distinct_keys(key[start:stop])
        rows.append(order[start:stop][first])
        numbers[start:stop] = number + count
        count += len(first)
        start = stop
    moved = np.empty(len(key), dtype=np.int64)
    moved[order] = numbers
    return np.concatenate(rows), moved


def assemble(
    hkg: HKG, blocks: Sequence[Block], *, mediators: Places, transformation: str, mode: str | None
) -> KG:
    """One KG of all blocks; `mediators` lists the row of the fact that each stands for."""
    starts = offsets_of(np.array([len(b.source) for b in blocks]))
    total = int(starts[-1])
    kinds = [np.full(len(b.source), b.kind, dtype=np.int8) for b in blocks]
    fact = np.concatenate([b.fact for b in blocks])
    uses = np.concatenate([b.edge + start for b, start in zip(blocks, starts, strict=False)])
    order = np.argsort(fact, kind="stable")
    provenance = Provenance(
        offsets_of(np.bincount(fact, minlength=len(hkg))),
        uses[order].astype(np.int32 if total < 2**31 else np.int64),
    )
    return KG(
        hkg.entities,
        hkg.relations,
        _column([b.source for b in blocks]),
        _column([b.relation for b in blocks]),
        _column([b.target for b in blocks]),
        np.concatenate(kinds),
        _places(blocks, total),
        hkg.columns.relation[mediators],
        mediators,
        transformation,
        mode,
        provenance,
    )


def _column(parts: Sequence[Array]) -> Ids:
    return np.concatenate(parts).astype(np.int32, copy=False)


def _places(blocks: Sequence[Block], total: int) -> Ids:
    """Mostly no edge has a place: then one zero stands for all of them."""
    if all(b.place is None for b in blocks):
        return np.broadcast_to(np.int32(0), (total,))
    return _column(
        [np.zeros(len(b.source), dtype=np.int32) if b.place is None else b.place for b in blocks]
    )
