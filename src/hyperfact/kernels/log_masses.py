"""The logarithm of the sum of exponentials of each row, in the memory of the rows."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hyperfact.kernels.buffers import array
from hyperfact.kernels.dispatch import apply, has_kernels
from hyperfact.kernels.jit import Array, kernel
from hyperfact.kernels.softmax import exponentiate, row_max
from hyperfact.kernels.threads import even_bounds, parallel_rows


def log_masses(scores: Tensor) -> Tensor:  # (rows,)
    """`torch.logsumexp(scores, dim=1)`, in one pass where a kernel takes the scores.

    Args:
        scores: (rows, columns). Overwritten: nothing else may need them, the backward pass of what
            made them included.
    """
    if not has_kernels(scores):
        return torch.logsumexp(scores, dim=1)
    return apply(_LogMasses, scores)


class _LogMasses(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor) -> Tensor:
        powers = scores.detach().contiguous()
        tops, masses = (np.empty(len(scores), array(powers).dtype) for _ in range(2))
        matrix = array(powers)
        parallel_rows(
            lambda low, high: _rows(matrix, tops, masses, low, high), even_bounds(len(powers))
        )
        mass = torch.from_numpy(masses)
        ctx.save_for_backward(powers, mass)
        return mass.log() + torch.from_numpy(tops)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> Tensor:
        powers, mass = ctx.saved_tensors
        gradient: Tensor = powers * (slope / mass)[:, None]
        return gradient


@kernel
def _rows(s: Array, tops: Array, masses: Array, low: int, high: int) -> None:
    for i in range(low, high):
        top, masses[i] = row_max(s, i), 1.0
        tops[i] = top
        if top == -math.inf:  # no mass at all, and no gradient
            s[i, :] = 0
        else:
            masses[i] = exponentiate(s, i, top)
