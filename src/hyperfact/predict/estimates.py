"""Estimates: a blank in a role of numbers is answered with a number, whatever the model.

A decoder that reads numbers estimates them; for any other the middle of the numbers that it finds
likely is taken. How far an estimate may be off is read from validation facts: the interval holds
four of five of them (split conformal prediction, Vovk et al. 2005).
"""

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from hyperfact.evaluation.number_guesses import NumberGuesses
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.number_roles import NumberRoles
from hyperfact.graph.quantities import Quantity
from hyperfact.graph.queries import Queries
from hyperfact.graph.ragged import Array, owners_of
from hyperfact.graph.role_index import OBJECT, VALUE, role_number
from hyperfact.predict.answers import LEVEL, Estimate
from hyperfact.predict.questions import QuestionIds
from hyperfact.predict.scoring import Scorer

_ASKED = 400  # validation queries that decide how wide they are, at most
_ENOUGH = 30  # of one role, for a width of its own
_NEAR = 3  # training facts that are shown


class Estimator:
    """Estimates of one model.

    Args:
        scorer: Decoder and representations.
        train: The facts that training had.
        valid: Facts that it had not; None: there are none.
        numbers: Where numbers stand in training facts.
    """

    def __init__(self, scorer: Scorer, train: HKG, valid: HKG | None, numbers: NumberRoles) -> None:
        self.scorer, self.train, self.valid, self.numbers = scorer, train, valid, numbers
        self.guesses = NumberGuesses(train, numbers)
        decoder = scorer.decoder
        self.is_read = decoder.reads_numbers(decoder.settings) and scorer.z.numbers is not None

    def answer(self, question: QuestionIds) -> Estimate | None:
        """The number in the blank; None where names stand, or a relation is asked for."""
        role = None if question.is_relation else self._role(question)
        if role is None:
            return None
        share = float(self._shares([question], np.array([role]))[0])
        wide = self._width(role)
        ends = (share - wide, share + wide) if wide is not None else ()
        value, low, high, *interval = (self._quantity(x, role) for x in (share, 0.0, 1.0, *ends))
        found = (interval[0], interval[1]) if interval else None
        return Estimate(value, low, high, found, self._near(question, value.value))

    def _role(self, question: QuestionIds) -> int | None:
        kind = min(question.slot, VALUE)
        role = int(role_number(kind, question.ruling_relation, len(self.train.relations)))
        return role if math.isfinite(self.numbers.low[role]) else None

    def _quantity(self, share: float, role: int) -> Quantity:
        return self.numbers.quantity(share, role, self.train.entities)

    def _shares(self, questions: Sequence[QuestionIds], roles: Array) -> Array:  # (questions,)
        if self.is_read:
            return self.scorer.estimates(questions).double().numpy()
        scores = self.scorer.entities(questions)[:, : len(self.train.entities)]
        return self.guesses.of_scores(scores.double().numpy(), roles)

    # -- how wide -----------------------------------------------------------------------------

    def _width(self, role: int) -> float | None:
        """Half of the interval, on the scale of the role; of all roles where one has too few."""
        roles, errors = self._errors
        own = errors[roles == role]
        return covering(own if len(own) >= _ENOUGH else errors)

    @cached_property
    def _errors(self) -> tuple[Array, Array]:
        """Roles of validation queries for numbers, and how far estimates are off."""
        if self.valid is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0)
        queries = Queries.of(self.valid)
        role, asks = self.numbers.ask(self.valid, queries)
        rows = np.random.default_rng(0).permutation(np.flatnonzero(asks))[:_ASKED]
        queries, role = queries.take(rows), role[rows]
        table = queries.table(self.valid.columns)
        asked = [QuestionIds.of_row(table, row) for row in range(len(rows))]
        found = [self._shares([q], role[i : i + 1])[0] for i, q in enumerate(asked)]
        true = self.numbers.share(self.numbers.values[queries.answer], role)
        return role, np.abs(np.array(found) - true)

    # -- who is like it -----------------------------------------------------------------------

    def _near(self, question: QuestionIds, value: float) -> tuple[Fact, ...]:
        """Training facts of the role that share most with the question, then the nearest number."""
        c, kind = self.train.columns, min(question.slot, VALUE)
        owner = owners_of(c.offsets)
        if kind == VALUE:
            places = np.flatnonzero(c.attributes == question.ruling_relation)
            rows, number = owner[places], c.values[places]
        else:
            rows = np.flatnonzero(c.relation == question.ruling_relation)
            number = (c.object if kind == OBJECT else c.subject)[rows]
        given = dict(question.qualifiers)
        pair = np.array([given.get(a, -1) for a in range(len(self.train.relations))])
        shared = np.bincount(owner[pair[c.attributes] == c.values], minlength=len(self.train))
        shared += (c.relation == question.relations[0]).astype(np.int64)
        shared += (c.subject == question.entities[0]).astype(np.int64)
        shared += (c.object == question.entities[1]).astype(np.int64)
        away = np.abs(self.numbers.values[number] - value)
        order = np.lexsort((away, -shared[rows]))
        chosen = list(dict.fromkeys(rows[order[: 4 * _NEAR]].tolist()))[:_NEAR]
        return tuple(self.train[row] for row in chosen)


def covering(errors: Array) -> float | None:
    """The error that `LEVEL` of others like these stay below; None: too few to tell."""
    rank = math.ceil((len(errors) + 1) * LEVEL)
    return float(np.sort(errors)[rank - 1]) if 0 < rank <= len(errors) else None
