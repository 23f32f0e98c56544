"""Ragged rows of numbers: facts have any number of qualifiers, and no loop may run over them.

A ragged table is `offsets` (rows + 1) and flat columns; row i holds the places offsets[i] to
offsets[i + 1].
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int32]
Places = NDArray[np.int64]
Hashes = NDArray[np.uint64]
Array = NDArray[Any]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


def offsets_of(counts: Array) -> Places:
    """Offsets of rows with these lengths."""
    offsets = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets


def owners_of(offsets: Places) -> Places:
    """For each flat place the row that it belongs to."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


def places_of(offsets: Places, rows: Array) -> Places:
    """The flat places of the given rows, row after row."""
    counts = offsets[rows + 1] - offsets[rows]
    starts = np.repeat(offsets[rows] - offsets_of(counts)[:-1], counts)
    return starts + np.arange(len(starts))


def find(rising: Array, wanted: Array) -> tuple[Places, NDArray[np.bool_]]:
    """For each wanted number a place in a rising table, and whether the number is there.

    Where it is not there the place is some place that exists, or 0 in an empty table.
    """
    if not len(rising):
        return np.zeros(wanted.shape, dtype=np.int64), np.zeros(wanted.shape, dtype=bool)
    places = np.minimum(np.searchsorted(rising, wanted), len(rising) - 1)
    return places, rising[places] == wanted


@dataclass(frozen=True)
class Table:
    """Rows with a fixed part and a ragged set of pairs, ready to be compared by content."""

    fixed: Array  # (rows, k)
    offsets: Places  # (rows + 1,)
    first: Array  # (pairs,) sorted inside a row by (first, second)
    second: Array  # (pairs,)

    def __len__(self) -> int:
        return len(self.fixed)

    def take(self, rows: Array) -> "Table":
        """The table of these rows only."""
        places = places_of(self.offsets, rows)
        counts = self.offsets[rows + 1] - self.offsets[rows]
        return Table(self.fixed[rows], offsets_of(counts), self.first[places], self.second[places])

    def hashes(self, salt: int) -> Hashes:
        """One 64-bit hash a row; equal rows have equal hashes."""
        total = np.zeros(len(self), dtype=np.uint64)
        for column in range(self.fixed.shape[1]):
            total += mix(self.fixed[:, column], salt * 8 + column)
        pairs = mix(mix(self.first, salt * 8 + 6) + mix(self.second, salt * 8 + 7), salt)
        sums = np.zeros(len(pairs) + 1, dtype=np.uint64)
        np.cumsum(pairs, out=sums[1:])
        total += sums[self.offsets[1:]] - sums[self.offsets[:-1]]
        return mix(total, salt)

    def same(self, rows: Array, other: "Table", others: Array) -> NDArray[np.bool_]:
        """Whether rows[i] here and others[i] there hold the same."""
        counts = self.offsets[rows + 1] - self.offsets[rows]
        equal: NDArray[np.bool_] = (self.fixed[rows] == other.fixed[others]).all(axis=1)
        equal &= counts == other.offsets[others + 1] - other.offsets[others]
        live = np.flatnonzero(equal & (counts > 0))
        here, there = places_of(self.offsets, rows[live]), places_of(other.offsets, others[live])
        differs = (self.first[here] != other.first[there]) | (
            self.second[here] != other.second[there]
        )
        wrong = np.repeat(live, counts[live])[differs]
        equal[wrong] = False
        return equal


@dataclass(frozen=True)
class Groups:
    """Rows grouped by content: `order` lists the rows group after group, by rising hash."""

    salt: int
    keys: Hashes  # (groups,) rising
    order: Places  # (rows,) the rows, equal ones together, each group in row order
    offsets: Places  # (groups + 1,) into order

    @property
    def first(self) -> Places:
        """The first row of each group."""
        return self.order[self.offsets[:-1]]

    def of_rows(self) -> Places:
        """For each row its group."""
        group = np.empty(len(self.order), dtype=np.int64)
        group[self.order] = owners_of(self.offsets)
        return group


def group(table: Table) -> Groups:
    """Group equal rows; exact, because every pair that a hash calls equal is compared."""
    for salt in range(1, 65):
        hashes = table.hashes(salt)
        order = np.argsort(hashes, kind="stable")
        ranked = hashes[order]
        new = np.ones(len(order), dtype=bool)
        new[1:] = ranked[1:] != ranked[:-1]
        repeat = np.flatnonzero(~new)
        if table.same(order[repeat], table, order[repeat - 1]).all():
            starts = np.flatnonzero(new)
            return Groups(salt, ranked[starts], order, np.append(starts, len(order)))
    raise AssertionError("64 hash functions in a row collided")  # pragma: no cover


def mix(values: Array, salt: int) -> Hashes:
    """A well mixed 64-bit hash of each number (splitmix64's finaliser)."""
    with np.errstate(over="ignore"):
        x = values.astype(np.uint64) + _GOLDEN * np.uint64(salt + 1)
        x ^= x >> np.uint64(30)
        x *= _MIX_1
        x ^= x >> np.uint64(27)
        x *= _MIX_2
        x ^= x >> np.uint64(31)
    return x
