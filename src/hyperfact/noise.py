"""Dropout from an explicit generator: no global random state, nothing at all without one."""

import torch
from torch import Tensor


def dropout(x: Tensor, p: float, generator: torch.Generator | None) -> Tensor:
    """Zero each element with probability p and divide the rest by 1 - p; None: leave x alone."""
    if generator is None or p == 0.0:
        return x
    mask = torch.empty_like(x).bernoulli_(1.0 - p, generator=generator)
    return x * mask.div_(1.0 - p)
