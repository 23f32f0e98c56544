"""Questions by name and by ids: a fact with one entity or one relation missing."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hyperfact.errors import FactSyntaxError
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.columns import Columns
from hyperfact.graph.facts import Fact, Vocabulary, name_of, name_or_blank, show
from hyperfact.graph.labels import Kind, Labels
from hyperfact.graph.partial import PartialQueries
from hyperfact.graph.queries import BLANK_ID, Queries, Question, entity_question
from hyperfact.graph.ragged import Table, offsets_of
from hyperfact.graph.syntax import BLANK, parse


@dataclass(frozen=True)
class RelationQuestion:
    """A fact by name with its relation, or one attribute, missing; None stands there."""

    subject: str
    relation: str | None
    object: str
    qualifiers: tuple[tuple[str | None, str], ...] = ()

    def answered(self, relation: str) -> Fact:
        """The fact that `relation` makes of this question."""
        pairs = tuple((relation if a is None else a, v) for a, v in self.qualifiers)
        return Fact(
            self.subject, relation if self.relation is None else self.relation, self.object, pairs
        )


AnyQuestion = Question | RelationQuestion


def read_any(text: str) -> AnyQuestion:
    """A question with one blank anywhere: an entity, the relation, or an attribute.

    Raises:
        FactSyntaxError: No blank, several, or text that is no fact.
    """
    written = parse(text)
    if written.blanks != 1 or not written.asks_relation:
        return entity_question(text, written)
    pairs = tuple((name_or_blank(a), name_of(v)) for a, v in written.qualifiers)
    subject, obj = name_of(written.subject), name_of(written.object)
    return RelationQuestion(subject, name_or_blank(written.relation), obj, pairs)


def write_any(question: AnyQuestion) -> str:
    """The text that `read_any` reads back to this question."""
    names = [question.subject, question.relation, question.object]
    parts = [_shown(name) for name in names]
    parts += [f"{_shown(a)} = {_shown(v)}" for a, v in question.qualifiers]
    return " | ".join(parts)


def _shown(name: str | None) -> str:
    return BLANK if name is None else show(name)


def renamed(question: AnyQuestion, labels: Labels) -> AnyQuestion:
    """The question by the names that are meant, where it has labels.

    Raises:
        UserError: A label that several names have.
    """

    def name(text: str | None, kind: Kind) -> str | None:
        return None if text is None else labels.meant(text, kind)

    pairs = tuple((name(a, "relation"), name(v, "entity")) for a, v in question.qualifiers)
    ends = (name(question.subject, "entity"), name(question.object, "entity"))
    relation = name(question.relation, "relation")
    # A blank stays where it is, so the kind of the question does too.
    return type(question)(ends[0], relation, ends[1], pairs)  # type: ignore[arg-type]


def label_of(question: AnyQuestion, labels: Labels) -> str:
    """The question as people read it."""
    primary = (question.subject, question.relation, question.object)
    return labels.line(*primary, question.qualifiers)


@dataclass(frozen=True)
class QuestionIds:
    """A question by ids; a blank holds `BLANK_ID`, and known pairs stand in canonical order.

    Filled, it has no blank and is a fact by ids.
    """

    entities: tuple[int, ...]  # subject, object, values
    relations: tuple[int, ...]  # primary relation, attributes

    @classmethod
    def of_row(cls, table: Table, row: int) -> "QuestionIds":
        """A row of facts or questions that stand in a table."""
        part = slice(table.offsets[row], table.offsets[row + 1])
        subject, relation, obj = table.fixed[row].tolist()
        values, attributes = table.second[part].tolist(), table.first[part].tolist()
        return cls((subject, obj, *values), (relation, *attributes))

    @property
    def qualifiers(self) -> list[tuple[int, int]]:
        """The pairs of attribute and value."""
        return list(zip(self.relations[1:], self.entities[2:], strict=True))

    @property
    def is_relation(self) -> bool:
        """Whether a relation or an attribute is asked for."""
        return BLANK_ID in self.relations

    @property
    def place(self) -> int:
        """Where the asked relation stands: 0 primary, i the i-th attribute."""
        return self.relations.index(BLANK_ID)

    @property
    def slot(self) -> int:
        """The asked slot; for a relation the entity that it brings into the fact."""
        return self.place + 1 if self.is_relation else self.entities.index(BLANK_ID)

    @property
    def ruling_relation(self) -> int:
        """The relation or attribute that the asked slot belongs to."""
        return self.relations[max(0, self.slot - 1)]

    def filled(self, answer: int) -> "QuestionIds":
        """The same with the blank filled."""
        one = tuple(answer if e == BLANK_ID else e for e in self.entities)
        two = tuple(answer if r == BLANK_ID else r for r in self.relations)
        return QuestionIds(one, two)

    def without(self, qualifier: int) -> "QuestionIds":
        """The same without its i-th qualifier, counted from 0."""
        entities, relations = list(self.entities), list(self.relations)
        del entities[2 + qualifier], relations[1 + qualifier]
        return QuestionIds(tuple(entities), tuple(relations))


@dataclass(frozen=True)
class ResolvedQuestion:
    """A question by name, as it was asked, and by the ids of one run."""

    question: AnyQuestion
    ids: QuestionIds

    @classmethod
    def by_name(
        cls, question: AnyQuestion, entities: Vocabulary, relations: Vocabulary
    ) -> "ResolvedQuestion":
        """Look the names up.

        Raises:
            FactSyntaxError: Not exactly one blank.
            UnknownNameError: A name that the run does not know; says the nearest.
        """

        def entity(name: str | None) -> int:
            return BLANK_ID if name is None else entities.id(name, "entity")

        def relation(name: str | None) -> int:
            return BLANK_ID if name is None else relations.id(name, "relation")

        pairs = sorted({(relation(a), entity(v)) for a, v in question.qualifiers})
        ends = (entity(question.subject), entity(question.object))
        names = [question.subject, question.relation, question.object]
        blanks = [*names, *(name for pair in question.qualifiers for name in pair)].count(None)
        if blanks != 1:
            text = write_any(question)
            raise FactSyntaxError(f"{text!r}: a question has one blank, this has {blanks}")
        values, attributes = tuple(v for _, v in pairs), tuple(a for a, _ in pairs)
        ids = QuestionIds((*ends, *values), (relation(question.relation), *attributes))
        return cls(question, ids)

    @classmethod
    def by_ids(
        cls, ids: QuestionIds, entities: Vocabulary, relations: Vocabulary
    ) -> "ResolvedQuestion":
        """Give the names back."""
        e = [None if i == BLANK_ID else entities[i] for i in ids.entities]
        r = [None if i == BLANK_ID else relations[i] for i in ids.relations]
        parts = (e[0], r[0], e[1], tuple(zip(r[1:], e[2:], strict=True)))
        kind = RelationQuestion if ids.is_relation else Question
        return cls(kind(*parts), ids)  # type: ignore[arg-type]  # one name is None, of that kind


def batch_of(questions: Sequence[QuestionIds]) -> tuple[FactBatch, Tensor]:
    """Questions side by side as a decoder wants them, and the asked slot of each."""
    width = max(len(q.entities) for q in questions)
    entities = np.zeros((len(questions), width), dtype=np.int64)
    relations = np.zeros((len(questions), width - 1), dtype=np.int64)
    for row, q in enumerate(questions):
        entities[row, : len(q.entities)] = q.entities
        relations[row, : len(q.relations)] = q.relations
    entities[entities == BLANK_ID], relations[relations == BLANK_ID] = 0, 0
    counts = np.array([len(q.entities) for q in questions])
    mask = np.arange(width)[None, :] < counts[:, None]
    tensors = (torch.from_numpy(x) for x in (entities, relations, mask))
    return FactBatch(*tensors), torch.tensor([q.slot for q in questions])


def table_of(questions: Iterable[QuestionIds]) -> Table:
    """Questions comparable by content, in the form of `KnownAnswers`."""
    rows = list(questions)
    fixed = np.array([(q.entities[0], q.relations[0], q.entities[1]) for q in rows], dtype=np.int32)
    pairs = [sorted(q.qualifiers) for q in rows]
    flat = np.array([p for some in pairs for p in some], dtype=np.int32).reshape(-1, 2)
    counts = np.array([len(some) for some in pairs], dtype=np.int64)
    return Table(fixed.reshape(-1, 3), offsets_of(counts), flat[:, 0], flat[:, 1])


def partial_queries(questions: Sequence[QuestionIds]) -> PartialQueries:
    """Questions for entities in the form of `AgreeingAnswers`."""
    slots = np.array([q.slot for q in questions], dtype=np.int32)
    ends = np.array([(q.entities[0], q.relations[0], q.entities[1]) for q in questions])
    subject, relation, obj = ends.astype(np.int32).reshape(-1, 3).T
    attributes = np.array([a for q in questions for a in q.relations[1:]], dtype=np.int32)
    values = np.array([v for q in questions for v in q.entities[2:]], dtype=np.int32)
    offsets = offsets_of(np.array([len(q.relations) - 1 for q in questions], dtype=np.int64))
    facts = Columns(subject, relation, obj, offsets, attributes, values)
    nobody = np.full(len(questions), BLANK_ID, dtype=np.int32)
    return PartialQueries(facts, Queries(np.arange(len(questions)), slots, nobody))
