"""Numbers among the entities of facts, as a decoder reads them.

In a role of numbers a number is told by its place between the smallest and the largest that
training facts have there (`graph.number_roles`), so that all of them are of one size.
"""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hyperfact.graph.batches import FactBatch
from hyperfact.graph.number_roles import NumberRoles
from hyperfact.models.unseen import role_numbers


@dataclass(frozen=True)
class Numbers:
    """The numbers of entities, and the scale of each role."""

    values: Tensor  # (entities,) NaN: no number
    low: Tensor  # (3 * relations,) NaN: a role of names
    span: Tensor  # (3 * relations,)
    mean: Tensor  # (3 * relations,)

    @classmethod
    def of(cls, roles: NumberRoles) -> "Numbers":
        """As tensors."""
        parts = (roles.values, roles.low, roles.span, roles.mean)
        return cls(*(torch.from_numpy(part) for part in parts))

    def shares(self, facts: FactBatch) -> Tensor:  # (batch, slots)
        """The place of each number on the scale of its role, 0 to 1; NaN where there is none."""
        roles = role_numbers(facts, len(self.low) // 3)
        return ((self.values[facts.entities] - self.low[roles]) / self.span[roles]).float()

    def means(self, facts: FactBatch, slots: Tensor) -> Tensor:  # (batch,)
        """What training facts have on average in the role of the asked slot, on its scale."""
        roles = role_numbers(facts, len(self.low) // 3).gather(1, slots[:, None])[:, 0]
        return ((self.mean[roles] - self.low[roles]) / self.span[roles]).float()

    def rows(self, order: Tensor) -> "Numbers":
        """Of other entities: those of these rows."""
        return replace(self, values=self.values[order])

    def with_mean(self) -> "Numbers":
        """The same for one more entity and one more relation, which are no numbers."""
        scales = (self.low, self.span, self.mean)
        return Numbers(
            _one_more(self.values), *(_one_more(part.view(3, -1)).flatten() for part in scales)
        )


def _one_more(part: Tensor) -> Tensor:
    """With one more column of NaN."""
    return torch.cat([part, part.new_full((*part.shape[:-1], 1), torch.nan)], dim=-1)
