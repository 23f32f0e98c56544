"""A dataset laid out for auditing: all splits in one table, equal facts and triples numbered."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hyperfact.data.audit.findings import Finding
from hyperfact.data.audit.kinds import KINDS
from hyperfact.graph.facts import Fact, show
from hyperfact.graph.hkg import HKG, Columns, Splits
from hyperfact.graph.ragged import Array, Places, Table, group, offsets_of, owners_of
from hyperfact.graph.syntax import quote

Mask = NDArray[np.bool_]

#: The splits that a model is shown, and those that it is measured on.
SHOWN, HELD_OUT = ("train", "aux"), ("valid", "test")


@dataclass(frozen=True)
class View:
    """The facts of all splits, one after the other; a row is a place in this list."""

    splits: Splits
    examples: int  # at most so many for each finding

    @cached_property
    def columns(self) -> Columns:
        """All facts; those of two splits stand twice."""
        return Columns.concatenate([part.columns for part in self.splits.values()])

    @cached_property
    def starts(self) -> Places:
        """The first row of each split, and the end."""
        return offsets_of(np.array([len(part) for part in self.splits.values()]))

    def rows(self, split: str) -> slice:
        """The rows of a split."""
        at = list(self.splits).index(split)
        return slice(int(self.starts[at]), int(self.starts[at + 1]))

    @property
    def shown(self) -> list[str]:
        """The splits that a model is shown."""
        return [name for name in SHOWN if name in self.splits]

    @property
    def held_out(self) -> list[str]:
        """The splits that are measured on, if there is anything to be shown before."""
        return [name for name in HELD_OUT if name in self.splits and self.shown]

    @cached_property
    def facts(self) -> Places:
        """A number for each row; equal facts have the same."""
        return group(self.columns.table).of_rows()

    @cached_property
    def triples(self) -> Places:
        """A number for each row; equal primary triples have the same."""
        return group(primary_table(self.columns)).of_rows()

    @cached_property
    def owners(self) -> Places:
        """The row of each qualifier."""
        return owners_of(self.columns.offsets)

    @cached_property
    def qualified(self) -> Mask:
        """Whether each row has a qualifier."""
        return np.diff(self.columns.offsets) > 0

    def any_of(self, qualifiers: Mask) -> Mask:
        """The rows that own one of these qualifiers."""
        hit = np.zeros(len(self.columns), dtype=bool)
        hit[self.owners[qualifiers]] = True
        return hit

    def mask(self, splits: Iterable[str]) -> Mask:
        """The rows of these splits."""
        mask = np.zeros(len(self.columns), dtype=bool)
        for split in splits:
            mask[self.rows(split)] = True
        return mask

    def fact(self, row: int) -> Fact:
        """The fact of a row."""
        at = int(np.searchsorted(self.starts, row, side="right")) - 1
        part: HKG = list(self.splits.values())[at]
        return part[row - int(self.starts[at])]

    # -- findings ---------------------------------------------------------------------------------

    def of_facts(self, kind: str, rows: Mask, of: int, where: str = "") -> Finding:
        """A finding about these rows."""
        found = np.flatnonzero(rows)
        facts = [self.fact(row) for row in found[: self.examples].tolist()]
        labels = tuple(map(self.splits.labels.fact, facts))
        return Finding(KINDS[kind], len(found), of, where, tuple(map(str, facts)), labels)

    def of_names(
        self, kind: str, ids: Array, names: Sequence[str], *, of: int, where: str = ""
    ) -> Finding:
        """A finding about these entities or relations."""
        some = [names[i] for i in ids[: self.examples].tolist()]
        labels = tuple(quote(self.splits.labels.full(name)) for name in some)
        return Finding(KINDS[kind], len(ids), of, where, tuple(map(show, some)), labels)

    def of_texts(
        self, kind: str, texts: Sequence[str], of: int, *, count: int, labels: Sequence[str] = ()
    ) -> Finding:
        """A finding whose examples are written already."""
        some = (tuple(part[: self.examples]) for part in (texts, labels))
        return Finding(KINDS[kind], count, of, "", *some)


def among(numbers: Places, rows: Mask) -> Mask:
    """The rows whose number one of these rows has, too."""
    seen = np.zeros(int(numbers.max(initial=-1)) + 1, dtype=bool)
    seen[numbers[rows]] = True
    return seen[numbers]


def primary_table(columns: Columns) -> Table:
    """The primary triples, comparable by content."""
    none = np.zeros(0, dtype=np.int32)
    return Table(columns.table.fixed, np.zeros(len(columns) + 1, dtype=np.int64), none, none)
