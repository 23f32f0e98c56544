"""The most plausible new facts of an entity, of a relation, or of the whole graph.

Every training fact is also a question in as many ways as it has slots. Such questions are asked
until the budget of scored candidates is spent. Answers that no split knows are proposals, ordered
by their probability among all candidates: where known answers take all the probability, no new one
is plausible.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hyperfact.errors import UserError
from hyperfact.graph.facts import Fact
from hyperfact.graph.queries import Queries
from hyperfact.graph.ragged import Table, group
from hyperfact.predict.answers import Answers, Request
from hyperfact.predict.predictor import Predictor
from hyperfact.predict.questions import QuestionIds, ResolvedQuestion, write_any

_EACH = 10  # answers looked at for each question


@dataclass(frozen=True)
class Proposal:
    """A fact that no split holds."""

    fact: Fact
    label: str  # how people read the fact
    probability: float
    score: float
    question: str
    answer: str  # to the question

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "fact": str(self.fact),
            "label": self.label,
            "probability": self.probability,
            "score": self.score,
            "question": self.question,
            "answer": self.answer,
        }


@dataclass(frozen=True)
class Completion:
    """Proposals, best first, and what they cost."""

    proposals: tuple[Proposal, ...]
    questions: int  # asked
    possible: int  # questions that a larger budget could ask
    scored: int  # candidates

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "questions": self.questions,
            "possible": self.possible,
            "scored": self.scored,
            "proposals": [proposal.as_dict() for proposal in self.proposals],
        }


def complete(
    predictor: Predictor,
    *,
    entity: str | None = None,
    relation: str | None = None,
    budget: int = 10_000_000,
    limit: int = 20,
    restrict_range: bool = True,
) -> Completion:
    """Propose new facts.

    Args:
        predictor: Of a run.
        entity: Only facts in which it stands.
        relation: Only facts with it as relation or attribute.
        budget: How many candidates may be scored.
        limit: How many proposals are wanted.
        restrict_range: Only candidates that training facts show in the asked role.
    """
    questions = _questions(predictor, entity, relation)
    size, possible = len(predictor.entities), len(questions)
    count = min(possible, budget // max(1, size))
    if not count:
        raise UserError(
            f"a budget of {budget:,} does not pay for one question of {size:,} candidates"
            if possible
            else "no training fact fits, so there is nothing to ask"
        )
    names = predictor.entities, predictor.relations
    asked = (QuestionIds.of_row(questions, row) for row in range(count))
    resolved = [ResolvedQuestion.by_ids(ids, *names) for ids in asked]
    proposals: dict[Fact, Proposal] = {}
    for answers in predictor.answer(resolved, Request(_EACH, "hide", restrict_range)):
        for proposal in _new(answers):
            best = proposals.get(proposal.fact)
            if best is None or best.probability < proposal.probability:
                proposals[proposal.fact] = proposal
    ordered = sorted(proposals.values(), key=lambda p: (-p.probability, str(p.fact)))
    return Completion(tuple(ordered[:limit]), count, possible, count * size)


def _new(answers: Answers) -> Iterator[Proposal]:
    """Facts that the unknown answers make."""
    text = write_any(answers.question)
    for answer in answers:
        fact = answers.question.answered(answer.name)
        label = answers.labels.fact(fact)
        yield Proposal(fact, label, answer.probability, answer.score, text, answer.name)


def _questions(predictor: Predictor, entity: str | None, relation: str | None) -> Table:
    """Different questions from the training facts, shuffled in a way that is always the same."""
    train = predictor.knowledge.train
    rows = np.arange(len(train))
    if entity is not None:
        e = predictor.entities.id(predictor.labels.meant(entity, "entity"), "entity")
        rows = np.intersect1d(rows, train.rows_of_entity(e))
    if relation is not None:
        r = predictor.relations.id(predictor.labels.meant(relation, "relation"), "relation")
        rows = np.intersect1d(rows, train.rows_of_relation(r))
    queries = Queries.of(train, rows)
    if not predictor.scorer.fills_values:
        queries = queries.take(np.flatnonzero(queries.slot < 2))
    if entity is not None:  # the entity itself stays
        queries = queries.take(np.flatnonzero(queries.answer != e))
    table = queries.table(train.columns)
    first = np.sort(group(table).first)
    return table.take(np.random.default_rng(0).permutation(first))
