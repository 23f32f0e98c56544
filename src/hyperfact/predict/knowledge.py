"""What the facts of a run say about a question: known answers by split, ranges, and shapes.

A fact agrees with a question if it says at least as much; its entity in the asked place is known.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

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
    Table,
    find,
    group,
    offsets_of,
    owners_of,
    places_of,
)
from hyperfact.graph.role_index import VALUE, RoleIndex, role_number
from hyperfact.predict.questions import QuestionIds, partial_queries, table_of

#: Whether training saw questions like one: it did; only with more qualifiers; or in no way.
Likeness = Literal["seen", "partial", "new"]


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


class Shapes:
    """Which attributes stand together with which relation in the training facts, and how often.

    A fact agrees in shape with a question if it has the relation and at least the attributes of
    the question: then training could see a question like it.

    Args:
        train: The training facts.
        partial: Whether training asked questions that leave qualifiers out.
    """

    def __init__(self, train: HKG, *, partial: bool) -> None:
        c, self.partial = train.columns, partial
        same = np.zeros_like(c.attributes)  # values are no part of a shape
        groups = group(Table(c.relation[:, None], c.offsets, c.attributes, same))
        counts = np.diff(groups.offsets).tolist()
        self._shapes: dict[int, list[tuple[Counter[int], int]]] = {}
        for row, count in zip(groups.first.tolist(), counts, strict=True):
            attributes = c.attributes[c.offsets[row] : c.offsets[row + 1]]
            some = self._shapes.setdefault(int(c.relation[row]), [])
            some.append((Counter(attributes.tolist()), count))
        self._agreeing = lru_cache(maxsize=1024)(self._counted)

    def with_more(self, added: HKG) -> "Shapes":
        """The same, with further facts counted."""
        other, more = copy(self), Shapes(added, partial=self.partial)
        other._shapes = {
            relation: self._shapes.get(relation, []) + more._shapes.get(relation, [])
            for relation in (self._shapes | more._shapes)
        }
        other._agreeing = lru_cache(maxsize=1024)(other._counted)
        return other

    def likeness(self, question: QuestionIds) -> Likeness:
        """Whether training saw questions of this shape."""
        counts = self._agreeing(question.relations)
        if not counts:
            return "new"
        return "seen" if self.partial or len(question.relations) - 1 in counts else "partial"

    def is_partial(self, question: QuestionIds) -> bool:
        """Whether facts that agree in shape have more qualifiers: more than half of them do."""
        counts = self._agreeing(question.relations)
        if not counts:
            return False
        usual = np.median(np.repeat(list(counts), list(counts.values())))
        return bool(len(question.relations) - 1 < usual)

    def _counted(self, relations: tuple[int, ...]) -> Counter[int]:
        """How many facts agree, by their number of qualifiers."""
        primary, given = relations[0], Counter(a for a in relations[1:] if a != BLANK_ID)
        least = len(relations) - 1  # a blank attribute is one more, whichever it is
        some = [primary] if primary != BLANK_ID else list(self._shapes)
        found: Counter[int] = Counter()
        for relation in some:
            for attributes, count in self._shapes.get(relation, ()):
                if given <= attributes and attributes.total() >= least:
                    found[attributes.total()] += count
        return found


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
