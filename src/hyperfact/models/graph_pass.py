"""GraphPass: what one pass over the graph sees, what it drops, and which coordinates it needs."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hyperfact.models.neighbourhood import Neighbourhood
from hyperfact.models.noise import dropout
from hyperfact.models.shard import Shard


@dataclass(frozen=True)
class GraphPass:
    """One pass of an encoder; by default over all of its graph, without noise, for all coordinates.

    A decoder that treats each coordinate alone may go without some in a step of training; then
    `columns` leaves out the others wherever a layer can do without them.
    """

    keep: Tensor | None = None  # (edges or facts,) bool, which exist; None: all
    generator: torch.Generator | None = None  # of dropout; None: no dropout
    coordinates: Tensor | None = None  # (kept,) in this order; None: all
    shard: Shard | None = None  # whose rows alone are computed; None: all
    near: Neighbourhood | None = None  # whose seeds alone are computed; None: all

    def columns(self, x: Tensor) -> Tensor:  # (…, kept)
        """The wanted coordinates of vectors."""
        if self.coordinates is None:
            return x
        return x.index_select(x.dim() - 1, self.coordinates)

    def rows(self, count: int) -> slice:
        """The rows that are computed, of so many."""
        return slice(0, count) if self.shard is None else self.shard.rows(count)

    def dropout(self, x: Tensor, p: float, *, first: int = 0) -> Tensor:
        """Zero each element with probability p and divide the rest by 1 - p.

        Args:
            x: Rows.
            p: In [0, 1).
            first: The number of the first of them.
        """
        return dropout(x, p, self.generator, first=first)
