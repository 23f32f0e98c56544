"""Dropout from an explicit generator: no global random state, nothing at all without one."""

import torch
from torch import Tensor

from hyperfact.kernels.dropout import dropout as counter_based


def dropout(x: Tensor, p: float, generator: torch.Generator | None, *, first: int = 0) -> Tensor:
    """Zero each element with probability p and divide the rest by 1 - p; None: leave x alone.

    Args:
        x: Any shape.
        p: In [0, 1).
        generator: Source of the seed.
        first: The first row of x, where x is a part of something larger.
    """
    if generator is None or p == 0.0:
        return x
    seed = int(torch.randint(2**62, (), generator=generator))
    return counter_based(x, p, seed=seed, step=0, first=first * x[:1].numel())
