"""WithNumbers: a softmax over entities where a name is asked for, a square where a number is."""

import numpy as np
import torch
from torch import Tensor

from hyperfact.config import ObjectiveConfig
from hyperfact.graph.hkg import HKG
from hyperfact.graph.number_roles import NumberRoles
from hyperfact.graph.ragged import Array, owners_of
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ
from hyperfact.training.objective import AllEntities

_WEIGHT = 10.0  # of a square: numbers lie between 0 and 1, a first cross-entropy is about 10


class WithNumbers(AllEntities):
    """Queries for numbers are answered by the decoder's estimate, all others as before.

    The loss of a query for a number is the mean of (estimate - x)² over its known answers x, on the
    scale of the role.
    """

    def __init__(
        self, train: HKG, settings: ObjectiveConfig, *, numbers: NumberRoles, values: bool = True
    ) -> None:
        super().__init__(train, settings, values=values)
        self.numbers = numbers
        self._role, self._is_number = numbers.ask(train, self.queries)

    def loss(
        self, model: TransEQ, items: Array, z: Representations, generator: torch.Generator | None
    ) -> Tensor:
        """The summed loss of these queries."""
        is_number = self._is_number[items]
        total = z.entities.new_zeros(())
        if not is_number.all():
            total = total + super().loss(model, items[~is_number], z, generator)
        if is_number.any():
            total = total + self._squares(model, items[is_number], z, generator)
        return total

    def _squares(
        self, model: TransEQ, items: Array, z: Representations, generator: torch.Generator | None
    ) -> Tensor:
        facts, slots, targets = self.ask(items, generator)
        found = model.decoder.estimate(model.withhold(facts, generator), slots, z)
        owner = owners_of(targets.offsets.numpy())
        values = self.numbers.values[targets.answers.numpy()]
        shares = self.numbers.share(values, self._role[items][owner])
        wanted = torch.from_numpy(np.nan_to_num(shares)).to(found.dtype)
        counts = torch.diff(targets.offsets)
        weights = 1.0 / counts if targets.weights is None else targets.weights / counts
        squares = (found[owner] - wanted).square() * torch.from_numpy(np.isfinite(shares))
        return _WEIGHT * (squares * weights[owner].to(found.dtype)).sum()
