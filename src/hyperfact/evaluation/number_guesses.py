"""A number from the scores of names: for models that take numbers for names like others.

The numbers that training facts have in a role are weighed by the probability that the model gives
them; the estimate is the middle of that mass, which no few wild numbers move.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from hyperfact.evaluation.ranking import Scorer
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.number_roles import NumberRoles
from hyperfact.graph.ragged import Array, Places
from hyperfact.graph.role_index import RoleIndex
from hyperfact.models.unseen import role_numbers


@dataclass(frozen=True)
class NumberGuesses:
    """What training facts have in each role of numbers."""

    train: HKG
    numbers: NumberRoles

    def estimates(self, score: Scorer, facts: FactBatch, slots: Tensor) -> Tensor:  # (batch,)
        """The number in the asked slot of each fact, 0 to 1 on the scale of its role."""
        roles = role_numbers(facts, len(self.train.relations)).gather(1, slots[:, None])[:, 0]
        scores = score(facts, slots, slice(0, len(self.train.entities)))
        return torch.from_numpy(self.of_scores(scores.double().numpy(), roles.numpy()))

    def of_scores(self, scores: Array, roles: Array) -> Array:  # (batch,)
        """The same from scores of all entities.  # (batch, entities)."""
        found = [self._middle(row, int(role)) for row, role in zip(scores, roles, strict=True)]
        return np.array(found)

    def _middle(self, scores: Array, role: int) -> float:
        members = self.members(role)
        shares = self.numbers.share(self.numbers.values[members], np.full(len(members), role))
        weights = np.exp(scores[members] - scores[members].max())
        return weighted_median(shares, weights)

    def members(self, role: int) -> Places:
        """The numbers that stand in a role, from the smallest."""
        members = self._roles.entities_of(role)
        members = members[np.isfinite(self.numbers.values[members])]
        return members[np.argsort(self.numbers.values[members], kind="stable")]

    @cached_property
    def _roles(self) -> RoleIndex:
        return RoleIndex.of(self.train)


def weighted_median(rising: Array, weights: Array) -> float:
    """Where half of the mass lies below, between two numbers in proportion."""
    mass = np.cumsum(weights) - 0.5 * weights
    return float(np.interp(0.5 * weights.sum(), mass, rising))
