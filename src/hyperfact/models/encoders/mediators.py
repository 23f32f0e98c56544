"""The sharing embedding of mediators (section 3.1.2 of the paper)."""

from decimal import ROUND_FLOOR, Decimal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hyperfact.errors import DataError
from hyperfact.graph.kg import KG
from hyperfact.models.encoders.encoder import table
from hyperfact.models.shard import Shard, whole


def shared_size(alpha: float, dim: int) -> int:
    """floor(alpha * d) in decimals: in binary 0.29 * 100 is 28.999…, and its floor 28."""
    product = Decimal(repr(alpha)) * dim
    return int(product.to_integral_value(rounding=ROUND_FLOOR))


class MediatorInput(nn.Module):
    """h_b = [e_psi(b) ; e_b]: a part shared by the primary relation psi(b), and an own part.

    The shared part has floor(alpha * d) coordinates; that number, not alpha, is kept as `shared`.

    Args:
        graph: Whose mediators.
        dim: The dimension d.
        alpha: The sharing ratio, 0 (all own) to 1 (all shared).
        scale: Standard deviation of the initial coordinates.
        generator: Source of the initial values.
    """

    def __init__(
        self, graph: KG, *, dim: int, alpha: float, scale: float, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.shared = shared_size(alpha, dim)
        relations, index = np.unique(graph.mediator_relation, return_inverse=True)
        if len(relations) and relations[0] < 0:
            raise DataError("a mediator has no primary relation, so nothing can be shared with it")
        self.psi: Tensor
        self.register_buffer("psi", torch.from_numpy(index.astype(np.int64)), persistent=False)
        self.common = table(len(relations), self.shared, scale, generator)
        self.own = table(graph.num_mediators, dim - self.shared, scale, generator)
        self.shard: Shard | None = None  # of which `own` holds the rows

    def forward(self) -> Tensor:  # (mediators, dim)
        """One row for each mediator."""
        own = whole(self.shard, self.own, len(self.psi))
        return torch.cat([functional.embedding(self.psi, self.common), own], dim=1)

    def columns(self, columns: Tensor) -> Tensor:  # (mediators, columns)
        """Some coordinates, ascending, of every mediator."""
        is_own = columns >= self.shared
        common = self.common.index_select(1, columns[~is_own])
        own = self.own.index_select(1, columns[is_own] - self.shared)
        own = whole(self.shard, own, len(self.psi))
        return torch.cat([functional.embedding(self.psi, common), own], dim=1)

    def of(self, ids: Tensor) -> Tensor:  # (ids, dim)
        """Rows of some mediators, none of which is another process's."""
        common = functional.embedding(self.psi.index_select(0, ids), self.common)
        return torch.cat([common, functional.embedding(ids, self.own)], dim=1)
