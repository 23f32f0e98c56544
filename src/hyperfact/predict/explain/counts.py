"""What a model with evidence has counted for an answer: exactly these facts, this often."""

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from hyperfact.graph.contexts import roles_of
from hyperfact.graph.facts import Fact, Vocabulary, show
from hyperfact.graph.hkg import HKG
from hyperfact.graph.labels import Labels
from hyperfact.graph.queries import Queries
from hyperfact.graph.ragged import Array
from hyperfact.graph.tallies import Tallies
from hyperfact.predict.predictor import Predictor
from hyperfact.predict.questions import QuestionIds, batch_of

_KINDS = ("subject of", "object of", "value of")


@dataclass(frozen=True)
class Count:
    """Something that training facts say for an answer."""

    text: str  # what was counted
    count: int
    effect: float  # what it adds to the score
    facts: tuple[Fact, ...]  # some of those counted; none for chains and profiles

    def as_dict(self, labels: Labels) -> dict[str, Any]:
        """For JSON."""
        return {
            "text": self.text,
            "count": self.count,
            "effect": self.effect,
            "facts": [str(fact) for fact in self.facts],
            "labels": [labels.fact(fact) for fact in self.facts],
        }


def counts_of(predictor: Predictor, ids: QuestionIds, answer: int, count: int) -> tuple[Count, ...]:
    """What is counted for an answer, those with the largest effect first.

    Args:
        predictor: Of a run.
        ids: The question.
        answer: The entity.
        count: How many counts, and how many facts for each, at most.
    """
    evidence = predictor.scorer.evidence
    if evidence is None or ids.is_relation:
        return ()
    terms = evidence.terms(*batch_of([ids]))
    counts, values = evidence.tallies.counts(terms, answer)
    effects = evidence.weights().detach().numpy()[terms.weights] * values
    names = _Names(predictor.entities, predictor.relations)
    train, found = predictor.knowledge.train, []
    for term in np.argsort(-np.abs(effects), kind="stable")[:count].tolist():
        if counts[term]:
            row = int(terms.rows[term])
            text, facts = _counted(evidence.tallies, row, answer, names, train)
            some = tuple(train[int(fact)] for fact in facts[:count])
            found.append(Count(text, int(counts[term]), float(effects[term]), some))
    return tuple(found)


@dataclass(frozen=True)
class _Names:
    """How people read roles and steps."""

    entities: Vocabulary
    relations: Vocabulary

    def role(self, number: int) -> str:
        kind, relation = divmod(number, len(self.relations) + 1)
        return f"{_KINDS[kind]} {show(self.relations[relation])}"

    def holder(self, role: int, entity: int) -> str:
        return f"{self.role(role)} = {show(self.entities[entity])}"

    def step(self, kind: int) -> str:
        way, relation = divmod(kind, len(self.relations))
        return ("back over " if way else "over ") + show(self.relations[relation])


def _counted(
    tallies: Tallies, row: int, answer: int, names: _Names, train: HKG
) -> tuple[str, Array]:
    """What a row counts, in words, and the facts that it has counted for the answer."""
    contexts, coded = tallies.contexts, tallies.contexts.coded
    if row >= len(contexts.codes):
        return _walked(tallies, row, names), np.zeros(0, dtype=int)
    asked, *known = (int(part[0]) for part in coded.parts(contexts.codes[[row]]))
    holders = [divmod(int(coded.held[k - 1]), coded.entities + 1) for k in known if k]
    beside = " and ".join(names.holder(*holder) for holder in holders)
    text = names.holder(asked, answer) + (f" beside {beside}" if beside else "")
    return text, _facts_with(train, [(asked, answer), *holders])


def _walked(tallies: Tallies, row: int, names: _Names) -> str:
    """What a row of chains or profiles counts."""
    chains, profiles = tallies.first_rows
    kinds = 2 * len(names.relations)
    if tallies.chains is not None and row < profiles:
        first, second = divmod(tallies.chains.path(row - chains), kinds)
        return f"{names.step(first)}, then {names.step(second)}"
    assert tallies.profiles is not None
    kind, entity = tallies.profiles.step(row - profiles)
    return f"said of others {names.step(kind)} to {show(names.entities[entity])}"


def _facts_with(train: HKG, holders: list[tuple[int, int]]) -> Array:
    """Rows of the facts that have all these entities in these roles."""
    roles, queries = roles_of(train), Queries.of(train)
    rows = [queries.fact[(roles == role) & (queries.answer == who)] for role, who in holders]
    return np.asarray(reduce(np.intersect1d, rows))
