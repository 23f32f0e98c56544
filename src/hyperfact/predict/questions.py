"""Questions as ids: a fact with one entity or one relation missing, ready to be scored."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hyperfact.errors import FactSyntaxError
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact, Literal, Vocabulary, show
from hyperfact.graph.queries import BLANK_ID, Question, read_question
from hyperfact.graph.ragged import Table, offsets_of
from hyperfact.graph.syntax import BLANK, Token, parse


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
    attributes = [a for a, _ in written.qualifiers]
    if written.blanks != 1 or not any(t.is_blank for t in (written.relation, *attributes)):
        return read_question(text)
    pairs = tuple((_maybe(a), _name(v)) for a, v in written.qualifiers)
    subject, obj = _name(written.subject), _name(written.object)
    return RelationQuestion(subject, _maybe(written.relation), obj, pairs)


def write_any(question: AnyQuestion) -> str:
    """The text that `read_any` reads back to this question."""
    names = [question.subject, question.relation, question.object]
    parts = [_shown(name) for name in names]
    parts += [f"{_shown(a)} = {_shown(v)}" for a, v in question.qualifiers]
    return " | ".join(parts)


def _shown(name: str | None) -> str:
    return BLANK if name is None else show(name)


def _name(token: Token) -> str:
    return Literal(token.text) if token.quote == "'" else token.text


def _maybe(token: Token) -> str | None:
    return None if token.is_blank else _name(token)


@dataclass(frozen=True)
class Asked:
    """A question by ids; a blank holds `BLANK_ID`, and known pairs stand in canonical order."""

    entities: tuple[int, ...]  # subject, object, values
    relations: tuple[int, ...]  # primary relation, attributes

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
    def role(self) -> tuple[int, int]:
        """Kind of the asked slot (0 subject, 1 object, 2 value) and the relation that rules it."""
        slot = self.slot
        return min(slot, 2), self.relations[max(0, slot - 1)]

    def filled(self, answer: int) -> "Asked":
        """The same with the blank filled."""
        one = tuple(answer if e == BLANK_ID else e for e in self.entities)
        two = tuple(answer if r == BLANK_ID else r for r in self.relations)
        return Asked(one, two)

    def without(self, qualifier: int) -> "Asked":
        """The same without its i-th qualifier, counted from 0."""
        entities, relations = list(self.entities), list(self.relations)
        del entities[2 + qualifier], relations[1 + qualifier]
        return Asked(tuple(entities), tuple(relations))


def ids_of(question: AnyQuestion, entities: Vocabulary, relations: Vocabulary) -> Asked:
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
    names += [name for pair in question.qualifiers for name in pair]
    if names.count(None) != 1:
        text = write_any(question)
        raise FactSyntaxError(f"{text!r}: a question has one blank, this has {names.count(None)}")
    values, attributes = tuple(v for _, v in pairs), tuple(a for a, _ in pairs)
    return Asked((*ends, *values), (relation(question.relation), *attributes))


def named(asked: Asked, entities: Vocabulary, relations: Vocabulary) -> AnyQuestion:
    """The question with names again."""
    e = [None if i == BLANK_ID else entities[i] for i in asked.entities]
    r = [None if i == BLANK_ID else relations[i] for i in asked.relations]
    pairs = tuple(zip(r[1:], e[2:], strict=True))
    if asked.is_relation:
        return RelationQuestion(e[0], r[0], e[1], pairs)  # type: ignore[arg-type]  # no entity is blank
    return Question(e[0], r[0], e[1], pairs)  # type: ignore[arg-type]  # no relation is blank


def batch_of(questions: Sequence[Asked], *, blank: int = 0) -> tuple[FactBatch, Tensor]:
    """Questions side by side as a decoder wants them, and the asked slot of each."""
    width = max(len(q.entities) for q in questions)
    entities = np.zeros((len(questions), width), dtype=np.int64)
    relations = np.zeros((len(questions), width - 1), dtype=np.int64)
    for row, q in enumerate(questions):
        entities[row, : len(q.entities)] = q.entities
        relations[row, : len(q.relations)] = q.relations
    entities[entities == BLANK_ID] = blank
    relations[relations == BLANK_ID] = 0
    counts = np.array([len(q.entities) for q in questions])
    mask = np.arange(width)[None, :] < counts[:, None]
    tensors = (torch.from_numpy(x) for x in (entities, relations, mask))
    return FactBatch(*tensors), torch.tensor([q.slot for q in questions])


def table_of(questions: Iterable[Asked]) -> Table:
    """Questions comparable by content, in the form of `KnownAnswers`."""
    rows = list(questions)
    fixed = np.array([(q.entities[0], q.relations[0], q.entities[1]) for q in rows], dtype=np.int32)
    pairs = [sorted(zip(q.relations[1:], q.entities[2:], strict=True)) for q in rows]
    flat = np.array([p for some in pairs for p in some], dtype=np.int32).reshape(-1, 2)
    counts = np.array([len(some) for some in pairs], dtype=np.int64)
    return Table(fixed.reshape(-1, 3), offsets_of(counts), flat[:, 0], flat[:, 1])
