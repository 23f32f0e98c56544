"""Known facts that agree with a pattern in which several slots are open."""

from dataclasses import dataclass

import numpy as np

from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Array, Places, offsets_of, owners_of, places_of

OPEN = -1  # a slot that any entity may fill


@dataclass(frozen=True)
class Pattern:
    """A fact by ids with any number of open slots."""

    entities: tuple[int, ...]  # subject, object, values; OPEN where anybody may stand
    relations: tuple[int, ...]


@dataclass(frozen=True)
class FactIndex:
    """Facts by their relation."""

    graph: HKG
    order: Places  # (facts,) rows, relation after relation
    offsets: Places  # (relations + 1,)

    @classmethod
    def of(cls, graph: HKG) -> "FactIndex":
        """Index these facts."""
        relation = graph.columns.relation
        counts = np.bincount(relation, minlength=len(graph.relations))
        return cls(graph, np.argsort(relation, kind="stable"), offsets_of(counts))

    def matches(self, pattern: Pattern) -> Array:  # (ways, slots)
        """The entities in the slots of every agreeing fact, in every way in which it agrees.

        Different qualifiers of the pattern are different qualifiers of the fact.
        """
        c, relation = self.graph.columns, pattern.relations[0]
        rows = self.order[self.offsets[relation] : self.offsets[relation + 1]]
        for entity, column in zip(pattern.entities[:2], (c.subject, c.object), strict=True):
            rows = rows if entity == OPEN else rows[column[rows] == entity]
        pairs = list(zip(pattern.relations[1:], pattern.entities[2:], strict=True))
        for attribute, value in pairs:  # most facts fail here, before ways are counted
            rows = rows[self._has(rows, attribute, value)]
        chosen = np.zeros((len(rows), 0), dtype=np.int64)  # places of qualifiers
        for attribute, value in pairs:
            rows, chosen = self._extended(rows, chosen, attribute, value)
        ends = np.stack([c.subject[rows], c.object[rows]], axis=1)
        return np.concatenate([ends, c.values[chosen]], axis=1).astype(np.int64)

    def _has(self, rows: Array, attribute: int, value: int) -> Array:  # (rows,) bool
        c, hit = self.graph.columns, np.zeros(len(rows), dtype=bool)
        place = places_of(c.offsets, rows)
        owner = owners_of(offsets_of(c.offsets[rows + 1] - c.offsets[rows]))
        good = c.attributes[place] == attribute
        if value != OPEN:
            good &= c.values[place] == value
        hit[owner[good]] = True
        return hit

    def _extended(
        self, rows: Array, chosen: Array, attribute: int, value: int
    ) -> tuple[Array, Array]:
        """Every way with one more qualifier of the pattern put on one of the fact."""
        c = self.graph.columns
        place = places_of(c.offsets, rows)
        owner = owners_of(offsets_of(c.offsets[rows + 1] - c.offsets[rows]))
        good = c.attributes[place] == attribute
        if value != OPEN:
            good &= c.values[place] == value
        good &= (chosen[owner] != place[:, None]).all(axis=1)
        owner, place = owner[good], place[good]
        return rows[owner], np.concatenate([chosen[owner], place[:, None]], axis=1)
