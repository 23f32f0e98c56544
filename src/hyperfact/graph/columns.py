"""Facts as columns of ids, brought into canonical form: sorted qualifiers, nothing twice."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hyperfact.errors import DataError
from hyperfact.graph.facts import Vocabulary, name_order
from hyperfact.graph.ragged import (
    Array,
    Ids,
    Places,
    Table,
    group,
    offsets_of,
    owners_of,
    places_of,
)


@dataclass(frozen=True)
class Columns:
    """Facts as ids: three columns and ragged qualifiers. Not yet a set."""

    subject: Ids  # (facts,)
    relation: Ids  # (facts,)
    object: Ids  # (facts,)
    offsets: Places  # (facts + 1,)
    attributes: Ids  # (qualifiers,)
    values: Ids  # (qualifiers,)

    def __len__(self) -> int:
        return len(self.subject)

    @cached_property
    def table(self) -> Table:
        """The same facts, comparable by content."""
        fixed = np.stack([self.subject, self.relation, self.object], axis=1)
        return Table(fixed, self.offsets, self.attributes, self.values)

    def take(self, rows: Array) -> "Columns":
        """The facts of these rows, in this order."""
        places = places_of(self.offsets, rows)
        return Columns(
            self.subject[rows],
            self.relation[rows],
            self.object[rows],
            offsets_of(self.offsets[rows + 1] - self.offsets[rows]),
            self.attributes[places],
            self.values[places],
        )

    @staticmethod
    def concatenate(parts: Sequence["Columns"]) -> "Columns":
        """One after the other."""
        counts = np.concatenate([np.diff(p.offsets) for p in parts])
        return Columns(
            np.concatenate([p.subject for p in parts]),
            np.concatenate([p.relation for p in parts]),
            np.concatenate([p.object for p in parts]),
            offsets_of(counts),
            np.concatenate([p.attributes for p in parts]),
            np.concatenate([p.values for p in parts]),
        )


@dataclass(frozen=True)
class Repeats:
    """What set semantics dropped: rows of the input that repeat an earlier one."""

    facts: Places = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # input rows
    qualifiers: int = 0


def canonical(columns: Columns) -> tuple[Columns, Repeats]:
    """The same facts as a set in canonical order, and what was dropped."""
    columns, pairs = _sort_qualifiers(columns)
    keep = np.sort(group(columns.table).first)
    repeated = np.setdiff1d(np.arange(len(columns)), keep, assume_unique=True)
    return (columns.take(keep) if len(repeated) else columns), Repeats(repeated, pairs)


def check_ids(columns: Columns, entities: int, relations: int) -> None:
    """Refuse ids that no name has."""
    sides = [
        ("entity", entities, (columns.subject, columns.object, columns.values)),
        ("relation", relations, (columns.relation, columns.attributes)),
    ]
    for kind, size, arrays in sides:
        for ids in arrays:
            if len(ids) and (ids.min() < 0 or ids.max() >= size):
                raise DataError(f"a fact names {kind} {ids.max()} of {size}")


def _sort_qualifiers(columns: Columns) -> tuple[Columns, int]:
    """Canonical order inside each fact, repeated pairs dropped; and how many were."""
    owner = owners_of(columns.offsets)
    a, v = columns.attributes, columns.values
    if not _is_sorted(owner, a, v):
        order = np.lexsort((v, a, owner))
        a, v = a[order], v[order]
    repeat = np.zeros(len(a), dtype=bool)
    repeat[1:] = (owner[1:] == owner[:-1]) & (a[1:] == a[:-1]) & (v[1:] == v[:-1])
    dropped = int(repeat.sum())
    offsets = columns.offsets
    if dropped:
        a, v, owner = a[~repeat], v[~repeat], owner[~repeat]
        offsets = offsets_of(np.bincount(owner, minlength=len(columns)))
    return replace(columns, offsets=offsets, attributes=a, values=v), dropped


def _is_sorted(owner: Places, a: Ids, v: Ids) -> bool:
    same = owner[1:] == owner[:-1]
    rising = (a[1:] > a[:-1]) | ((a[1:] == a[:-1]) & (v[1:] >= v[:-1]))
    return bool((~same | rising).all())


def used(names: Vocabulary, columns: Sequence[Ids]) -> tuple[Ids, Vocabulary]:
    """A map from old ids to new ones, and the vocabulary of the used names in name order."""
    used = np.unique(np.concatenate(columns))
    kept = sorted(used.tolist(), key=lambda i: name_order(names[i]))
    new = np.full(len(names), -1, dtype=np.int32)
    new[kept] = np.arange(len(kept), dtype=np.int32)
    return new, Vocabulary(names[i] for i in kept)
