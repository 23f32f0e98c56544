"""Counts as evidence: what the training facts say for a candidate, beside what a decoder says.

phi'(x) = phi(x) + sum over the terms t of the question of w_t log(1 + n_t(e))

where n_t(e) is how often the candidate e fills the asked role, alone, beside one or two known
entities, or beside one in related roles, or how many chains of two facts lead to it. A weight
belongs to roles, not to entities, and starts at a sensible value. While training, the fact that is
asked about is not counted, or the model would lean on knowing its own answers.
"""

from copy import copy
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from hyperfact.config import EvidenceConfig
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Array, offsets_of, owners_of
from hyperfact.graph.tallies import GROUPS, Asked, Tallies, Terms
from hyperfact.kernels.added_scores import added_scores
from hyperfact.kernels.softmax import Targets
from hyperfact.kernels.sparse_rows import AddedScores, SparseRows
from hyperfact.models.unseen import role_numbers

ALL = slice(None)


class Evidence(nn.Module):
    """What is added to the scores of any decoder.

    Args:
        train: The facts to count.
        settings: What is counted, and first weights.
    """

    def __init__(self, train: HKG, settings: EvidenceConfig) -> None:
        super().__init__()
        self.entities, self.relations = len(train.entities), len(train.relations)
        self.tallies = Tallies.of(
            train,
            order=settings.order,
            related=settings.related,
            related_two=settings.related_two,
            chains=settings.chains,
            profiles=settings.profiles,
        )
        start, groups = self.tallies.weights(np.array(settings.start))
        self.start, self.groups = torch.from_numpy(start), torch.from_numpy(groups)  # (weights,)
        self.common = nn.Parameter(torch.zeros(GROUPS))  # of a group of weights
        self.own = nn.Parameter(torch.zeros(len(start)))  # of each; decay pulls it to the start
        self.table = _table(self.tallies)
        self.quiet = settings.quiet

    def weights(self) -> Tensor:  # (weights,)
        """The weights of now."""
        return self.start.to(self.own) + self.own + self.common.index_select(0, self.groups)

    def multiply(self, factors: Tensor) -> None:
        """Weights become their first values times a factor for each group.

        Args:
            factors: Of one, two, three slots, related roles, chains, profiles.  # (GROUPS,)
        """
        with torch.no_grad():
            self.common.zero_()
            times = factors.to(self.own).index_select(0, self.groups) - 1
            self.own.copy_(self.start.to(self.own) * times)

    def added(
        self,
        facts: FactBatch,
        slots: Tensor,
        *,
        candidates: slice = ALL,
        answers: Targets | None = None,
        generator: torch.Generator | None = None,
    ) -> AddedScores:
        """What is added to the scores of candidates, in sparse form.

        Args:
            facts: The questions; ids beyond the known ones have no counts.
            slots: The asked slot of each.  # (batch,)
            candidates: Those to score.
            answers: Of questions about training facts, which do not count for their own answers.
            generator: Draws the questions that are asked without counts; None: there are none.
        """
        terms = self.terms(facts, slots)
        parts = [(torch.from_numpy(terms.rows), self.table)]
        if answers is not None:
            parts.append((torch.arange(len(terms.rows)), self._own(terms, answers)))
        ids = torch.arange(self.entities)[candidates]
        places = torch.full((self.entities,), -1)
        places[ids] = torch.arange(len(ids))
        weights = self.weights().index_select(0, torch.from_numpy(terms.weights))
        if self.quiet and generator is not None:
            heard = torch.rand(len(slots), generator=generator) >= self.quiet
            weights = weights * heard[torch.from_numpy(owners_of(terms.offsets))]
        return AddedScores(torch.from_numpy(terms.offsets), weights, tuple(parts), places, len(ids))

    def scores(
        self,
        facts: FactBatch,
        slots: Tensor,
        *,
        candidates: slice = ALL,
        answers: Targets | None = None,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, candidates)
        """The same as a matrix."""
        count = partial(self.added, candidates=candidates, answers=answers)
        return added_scores(count(facts, slots, generator=generator))

    def terms(self, facts: FactBatch, slots: Tensor) -> Terms:
        """What speaks for candidates of these questions, by numbers of rows and weights."""
        return self.tallies.terms(self._asked(facts, slots))

    def without(self, train: HKG, rows: Array) -> "Evidence":
        """The same weights, these of the training facts not being counted."""
        other = copy(self)
        other.tallies = self.tallies.without(train, rows)
        other.table = _table(other.tallies)
        return other

    def over(self, facts: HKG) -> "Evidence":
        """The same weights, these facts being counted; entities may have joined."""
        other = copy(self)
        other.entities, other.tallies = len(facts.entities), self.tallies.over(facts)
        other.table = _table(other.tallies)
        return other

    def _asked(self, facts: FactBatch, slots: Tensor) -> Asked:
        """The questions; of who is withheld only the role may be used."""
        roles = role_numbers(facts, self.relations + 1)
        known = facts.known(slots)
        if facts.withheld is not None:
            known = known & ~facts.withheld
        return Asked(*(part.numpy() for part in (roles, facts.entities, known, slots)))

    def _own(self, terms: Terms, answers: Targets) -> SparseRows:
        """For each term what its own facts have added for the answers, to be taken back."""
        known = answers.offsets.numpy(), answers.answers.numpy()
        term, who, less = self.tallies.own(terms, known)
        order = np.argsort(term, kind="stable")
        return SparseRows(
            torch.from_numpy(offsets_of(np.bincount(term, minlength=len(terms.rows)))),
            torch.from_numpy(who[order]),
            torch.from_numpy(less[order].astype(np.float32)),
        )


def _table(tallies: Tallies) -> SparseRows:
    rows = tallies.rows()
    values = torch.from_numpy(rows.values.astype(np.float32))
    return SparseRows(torch.from_numpy(rows.offsets), torch.from_numpy(rows.who), values)
