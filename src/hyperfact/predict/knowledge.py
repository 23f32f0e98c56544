"""What the facts of a run say about a question: known answers by split, and ranges.

A fact agrees with a question if it says at least as much; its entity in the asked place is known.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.hkg import HKG, Columns, Splits
from hyperfact.graph.partial import AgreeingAnswers
from hyperfact.graph.queries import BLANK_ID, KnownAnswers
from hyperfact.graph.ragged import (
    Array,
    Places,
    find,
    offsets_of,
    owners_of,
    places_of,
)
from hyperfact.graph.role_index import VALUE, RoleIndex, role_number
from hyperfact.predict.likeness import Shapes
from hyperfact.predict.questions import QuestionIds, partial_queries, table_of


@dataclass(frozen=True)
class KnownRows:
    """The known answers of some questions, ragged, each with the splits that hold it."""

    offsets: Places  # (questions + 1,)
    ids: Array  # (answers,) rising inside a question
    splits: Array  # (answers,) bit i: the i-th split
    names: tuple[str, ...]

    def of(self, row: int) -> Array:
        """The known answers of one question."""
        return self.ids[self.offsets[row] : self.offsets[row + 1]]

    def among(self, row: int, splits: Sequence[str]) -> Array:
        """The known answers of one question that some of these splits hold."""
        bits = sum(1 << i for i, name in enumerate(self.names) if name in splits)
        held = self.splits[self.offsets[row] : self.offsets[row + 1]] & bits
        return self.of(row)[held > 0]

    def where(self, rows: Array, ids: Array) -> list[tuple[str, ...]]:
        """For each (row, id) the names of the splits that hold it."""
        width = 1 + max(int(self.ids.max(initial=0)), int(ids.max(initial=0)))
        places, there = find(owners_of(self.offsets) * width + self.ids, rows * width + ids)
        bits = np.zeros(len(there), dtype=np.int64)
        bits[there] = self.splits[places[there]]
        named = [
            tuple(name for i, name in enumerate(self.names) if field >> i & 1)
            for field in range(1 << len(self.names))
        ]
        return [named[field] for field in bits.tolist()]


class Knowledge:
    """The facts of all splits, indexed when first needed.

    Args:
        splits: All of them.
        train: Those that training showed.
        partial: Whether it asked questions that leave qualifiers out.
    """

    def __init__(self, splits: Splits, train: HKG, *, partial: bool) -> None:
        self.splits, self.train, self.partial = splits, train, partial

    @cached_property
    def agreeing(self) -> dict[str, AgreeingAnswers]:
        """For each split who answers, whatever is left out."""
        parts = {name: part for name, part in self.splits.items() if len(part)}
        return {name: AgreeingAnswers.build(part) for name, part in parts.items()}

    @cached_property
    def _exact(self) -> KnownAnswers:
        """Who answers in a fact that says no more than the question."""
        return KnownAnswers.build(*self.splits.values())

    def known(self, questions: Sequence[QuestionIds]) -> KnownRows:
        """The known answers of questions of one kind: all for entities, or all for relations."""
        if questions and questions[0].is_relation:
            found = [self._relations(question) for question in questions]
            rows = [(row, i, bits) for row, some in enumerate(found) for i, bits in some.items()]
            row, ids, bits = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        else:
            row, ids, bits = self._entities(questions)
        order = np.lexsort((ids, row))
        counts = np.bincount(row, minlength=len(questions))
        names = tuple(self.agreeing)
        return KnownRows(offsets_of(counts), ids[order], bits[order], names)

    def known_exactly(self, question: QuestionIds) -> KnownRows:
        """The answers that `evaluate` filters, of facts that say no more than the question."""
        if question.is_relation:
            return self.known([question])
        offsets, ids = self._exact.at(self._exact.find(table_of([question])))
        return KnownRows(offsets, ids.astype(np.int64), np.ones_like(ids), ("any",))

    def _entities(self, questions: Sequence[QuestionIds]) -> tuple[Array, Array, Array]:
        """Row, id and splits of every known answer, each once."""
        asked, width = partial_queries(questions), len(self.splits.entities)
        codes, bits = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for place, index in enumerate(self.agreeing.values()):
            offsets, values = index.of(asked)
            codes.append(owners_of(offsets) * width + values)
            bits.append(np.full(len(values), 1 << place))
        unique, inverse = np.unique(np.concatenate(codes), return_inverse=True)
        total = np.zeros(len(unique), dtype=np.int64)
        np.bitwise_or.at(total, inverse, np.concatenate(bits))
        return unique // width, unique % width, total

    def _relations(self, question: QuestionIds) -> dict[int, int]:
        found: dict[int, int] = {}
        for place, index in enumerate(self.agreeing.values()):
            for relation in _relations_that_fit(index.graph.columns, question):
                found[relation] = found.get(relation, 0) | 1 << place
        return dict(sorted(found.items()))

    def candidates_of(self, question: QuestionIds) -> Vocabulary:
        """The names of all that could fill the blank."""
        return self.splits.relations if question.is_relation else self.splits.entities

    def row_of(self, fact: QuestionIds) -> int:
        """The row of a whole fact among the training facts, which are a set; -1 if none has it."""
        c, pairs = self.train.columns, sorted(fact.qualifiers)
        same = (c.subject == fact.entities[0]) & (c.object == fact.entities[1])
        same &= (c.relation == fact.relations[0]) & (np.diff(c.offsets) == len(pairs))
        rows = np.flatnonzero(same).tolist()
        return next((r for r in rows if QuestionIds.of_row(c.table, r).qualifiers == pairs), -1)

    # -- shapes and ranges ------------------------------------------------------------------------

    @cached_property
    def shapes(self) -> Shapes:
        """Which relations stand with which attributes in the training facts."""
        return Shapes(self.train, partial=self.partial)

    def in_range(self, question: QuestionIds) -> Array:
        """Candidates that the training facts show in the asked role."""
        if question.is_relation:
            return self._relation_range(question)
        kind, relations = min(question.slot, VALUE), len(self.splits.relations)
        return self._roles.entities_of(role_number(kind, question.ruling_relation, relations))

    @cached_property
    def _roles(self) -> RoleIndex:
        return RoleIndex.of(self.train)

    def prior(self, question: QuestionIds) -> Tensor:  # (relations,)
        """The log P(r) of the asked relation in training; an attribute beside its primary relation.

        One imagined fact, spread over all attributes by their number, stands for what was not seen.
        """
        c, size = self.train.columns, len(self.splits.relations)
        if question.place == 0:
            counts = np.bincount(c.relation, minlength=size) + 0.5
        else:
            overall = np.bincount(c.attributes, minlength=size) + 0.5
            rows = np.flatnonzero(c.relation == question.relations[0])
            here = np.bincount(c.attributes[places_of(c.offsets, rows)], minlength=size)
            counts = here + overall / overall.sum()
        return torch.from_numpy(np.log(counts / counts.sum()))

    def _relation_range(self, question: QuestionIds) -> Array:
        """Relations seen as primary ones; or attributes seen beside this primary relation."""
        c = self.train.columns
        if question.place == 0:
            return np.unique(c.relation)
        rows = np.flatnonzero(c.relation == question.relations[0])
        return np.unique(c.attributes[places_of(c.offsets, rows)])


def _relations_that_fit(c: Columns, question: QuestionIds) -> Iterator[int]:
    """The relations that make a question for a relation agree with a fact of these columns."""
    subject, obj = question.entities[:2]
    primary = question.relations[0]
    hit = (c.subject == subject) & (c.object == obj)
    if primary != BLANK_ID:
        hit &= c.relation == primary
    given = Counter(pair for pair in question.qualifiers if pair[0] != BLANK_ID)
    for row in np.flatnonzero(hit).tolist():
        pairs = Counter(QuestionIds.of_row(c.table, row).qualifiers)
        if not given <= pairs:
            continue
        if primary == BLANK_ID:
            yield int(c.relation[row])
        else:
            value = question.entities[question.slot]
            yield from (a for a, v in pairs - given if v == value)
