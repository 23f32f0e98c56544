"""Dropout from an explicit generator: no global random state, nothing at all without one."""

import torch
from torch import Tensor

from hyperfact.kernels.dropout import dropout as counter_based


def dropout(x: Tensor, p: float, generator: torch.Generator | None) -> Tensor:
    """Zero each element with probability p and divide the rest by 1 - p; None: leave x alone."""
    if generator is None or p == 0.0:
        return x
    seed = int(torch.randint(2**62, (), generator=generator))
    return counter_based(x, p, seed=seed, step=0)
