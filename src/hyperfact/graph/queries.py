"""Queries: facts with one slot blank, and the entities that are known to fill them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from hyperfact.errors import FactSyntaxError
from hyperfact.graph.facts import Fact, Slot, name_of, name_or_blank
from hyperfact.graph.hkg import HKG, Columns, union
from hyperfact.graph.ragged import (
    Array,
    Groups,
    Ids,
    Places,
    Table,
    find,
    group,
    offsets_of,
    owners_of,
    places_of,
)
from hyperfact.graph.syntax import Written, parse

BLANK_ID = -1  # stands where the asked entity stood; no entity has it


@dataclass(frozen=True)
class Queries:
    """One row for each asked (fact, slot) of a graph."""

    fact: Places  # (queries,) row of the fact
    slot: Ids  # (queries,) 0 subject, 1 object, 2 + i the fact's i-th value in canonical order
    answer: Ids  # (queries,) the entity that stood there

    def __len__(self) -> int:
        return len(self.fact)

    @classmethod
    def of(cls, graph: HKG, rows: Array | None = None) -> "Queries":
        """Every slot of every fact (of these rows), fact after fact."""
        rows = np.arange(len(graph)) if rows is None else np.asarray(rows)
        arity = graph.arity[rows]
        fact = np.repeat(rows, arity)
        starts = offsets_of(arity)
        slot = (np.arange(len(fact)) - np.repeat(starts[:-1], arity)).astype(np.int32)
        return cls(fact, slot, entity_at(graph.columns, fact, slot))

    def take(self, rows: Array) -> "Queries":
        """These queries only."""
        return Queries(self.fact[rows], self.slot[rows], self.answer[rows])

    def table(self, columns: Columns) -> Table:
        """The known part of each query, comparable by content."""
        fixed = np.stack([columns.subject, columns.relation, columns.object], axis=1)[self.fact]
        fixed[self.slot == 0, 0] = BLANK_ID
        fixed[self.slot == 1, 2] = BLANK_ID
        places = places_of(columns.offsets, self.fact)
        offsets = offsets_of(columns.offsets[self.fact + 1] - columns.offsets[self.fact])
        first, second = columns.attributes[places], columns.values[places]
        asked = np.flatnonzero(self.slot >= 2)
        second[offsets[asked] + self.slot[asked] - 2] = BLANK_ID
        order = np.lexsort((second, first, owners_of(offsets)))
        return Table(fixed, offsets, first[order], second[order])


def entity_at(columns: Columns, fact: Places, slot: Ids) -> Ids:
    """The entity in each (fact, slot)."""
    entity = np.where(slot == 0, columns.subject[fact], columns.object[fact])
    value = np.flatnonzero(slot >= 2)
    entity[value] = columns.values[columns.offsets[fact[value]] + slot[value] - 2]
    return entity


@dataclass(frozen=True)
class KnownAnswers:
    """Which entities complete a fact with one slot blank: sorted keys, offsets, values.

    Keys are hashes; every match is checked against a stored example, so look-ups are exact.
    """

    graph: HKG
    groups: Groups = field(repr=False)
    examples: Queries = field(repr=False)  # one query for each key
    offsets: Places = field(repr=False)  # (keys + 1,)
    values: Ids = field(repr=False)  # (answers,) rising inside a key

    @classmethod
    def build(cls, *graphs: HKG) -> "KnownAnswers":
        """Index every slot of every fact of these graphs (which share their vocabularies)."""
        graph = union(*graphs) if len(graphs) > 1 else graphs[0]
        queries = Queries.of(graph)
        groups = group(queries.table(graph.columns))
        owner = owners_of(groups.offsets)
        answers = queries.answer[groups.order]
        order = np.lexsort((answers, owner))
        answers = answers[order]  # owner is rising already, so it stays as it is
        fresh = np.ones(len(answers), dtype=bool)  # one entity may answer a key through two facts
        fresh[1:] = (answers[1:] != answers[:-1]) | (owner[1:] != owner[:-1])
        counts = np.bincount(owner[fresh], minlength=len(groups.keys))
        return cls(graph, groups, queries.take(groups.first), offsets_of(counts), answers[fresh])

    def __len__(self) -> int:
        return len(self.groups.keys)

    def find(self, table: Table) -> Places:
        """The key of each query, -1 where nothing is known."""
        at, there = find(self.groups.keys, table.hashes(self.groups.salt))
        hit = np.flatnonzero(there)
        known = self.examples.take(at[hit]).table(self.graph.columns)
        same = table.same(hit, known, np.arange(len(hit)))
        found = np.full(len(table), -1, dtype=np.int64)
        found[hit[same]] = at[hit[same]]
        return found

    def of(self, graph: HKG, queries: Queries) -> tuple[Places, Ids]:
        """Offsets and values: the known answers of each query about `graph`."""
        return self.at(self.find(queries.table(graph.columns)))

    def at(self, keys: Places) -> tuple[Places, Ids]:
        """Offsets and values of these keys; a key of -1 has no answers."""
        counts = np.where(keys >= 0, self.offsets[keys + 1] - self.offsets[keys], 0)
        return offsets_of(counts), self.values[places_of(self.offsets, keys[keys >= 0])]


@dataclass(frozen=True)
class Question:
    """A fact by name with one entity missing; None stands in the asked slot."""

    subject: str | None
    relation: str
    object: str | None
    qualifiers: tuple[tuple[str, str | None], ...] = ()

    @property
    def slot(self) -> Slot:
        """The asked slot."""
        entities: Sequence[str | None] = (
            self.subject,
            self.object,
            *(value for _, value in self.qualifiers),
        )
        return Slot(list(entities).index(None))

    def answered(self, entity: str) -> Fact:
        """The fact that `entity` makes of this question."""
        pairs = tuple((a, entity if v is None else v) for a, v in self.qualifiers)
        return Fact(
            entity if self.subject is None else self.subject,
            self.relation,
            entity if self.object is None else self.object,
            pairs,
        )


def read_fact(text: str) -> Fact:
    """A fact in the syntax `s | r | o | a = v`."""
    written = parse(text)
    if written.blanks:
        raise FactSyntaxError(f'{text!r}: a fact has no blank (the name of one character is "?")')
    s, r, o = (name_of(t) for t in (written.subject, written.relation, written.object))
    return Fact(s, r, o, tuple((name_of(a), name_of(v)) for a, v in written.qualifiers))


def read_question(text: str) -> Question:
    """A question in the syntax `s | r | ? | a = v`, with one entity blank."""
    return entity_question(text, parse(text))


def entity_question(text: str, written: Written) -> Question:
    """The question that a parsed text asks, with one entity blank."""
    if written.blanks != 1:
        raise FactSyntaxError(f"{text!r}: a question has one blank '?', this has {written.blanks}")
    if written.asks_relation:
        raise FactSyntaxError(f"{text!r}: only an entity can be asked for, not a relation")
    subject, obj = name_or_blank(written.subject), name_or_blank(written.object)
    pairs = tuple((name_of(a), name_or_blank(v)) for a, v in written.qualifiers)
    return Question(subject, name_of(written.relation), obj, pairs)
