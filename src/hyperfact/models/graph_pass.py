"""GraphPass: what one pass over the graph sees, what it drops, and which coordinates it needs."""

from dataclasses import dataclass

import torch
from torch import Tensor

from hyperfact.models.noise import dropout


@dataclass(frozen=True)
class GraphPass:
    """One pass of an encoder; by default over all of its graph, without noise, for all coordinates.

    A decoder that treats each coordinate alone may go without some in a step of training; then
    `columns` leaves out the others wherever a layer can do without them.
    """

    keep: Tensor | None = None  # (edges or facts,) bool, which exist; None: all
    generator: torch.Generator | None = None  # of dropout; None: no dropout
    coordinates: Tensor | None = None  # (kept,) in this order; None: all

    def columns(self, x: Tensor) -> Tensor:  # (…, kept)
        """The wanted coordinates of vectors."""
        if self.coordinates is None:
            return x
        return x.index_select(x.dim() - 1, self.coordinates)

    def dropout(self, x: Tensor, p: float) -> Tensor:
        """Zero each element with probability p and divide the rest by 1 - p."""
        return dropout(x, p, self.generator)
