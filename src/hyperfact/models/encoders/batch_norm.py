"""Batch normalisation whose bits do not depend on the number of threads.

PyTorch's sums over rows are cut into as many parts as there are threads. It was the only sum of a
training step that is; a training on two threads took another way than one on a single thread.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from hyperfact.models.graph_pass import GraphPass


def batch_norm(norm: nn.BatchNorm1d, x: Tensor, step: GraphPass) -> Tensor:  # (rows, kept)
    """Normalised over the rows; of coordinates that are left out nothing changes."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.momentum is not None
    weight, bias = (None if p is None else step.columns(p) for p in (norm.weight, norm.bias))
    if not norm.training:
        mean, var = step.columns(norm.running_mean), step.columns(norm.running_var)
        return functional.batch_norm(x, mean, var, weight, bias, eps=norm.eps)
    if len(x) < 2:
        raise ValueError("batch normalisation needs more than one row to train")
    standard, mean, var = _Standardise.apply(x, norm.eps)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        unbiased = var * (len(x) / (len(x) - 1))
        for running, new in ((norm.running_mean, mean), (norm.running_var, unbiased)):
            moved = torch.lerp(step.columns(running), new, norm.momentum)
            _put(running, moved, step.coordinates)
        if norm.num_batches_tracked is not None and step.coordinates is None:
            norm.num_batches_tracked.add_(1)
    return standard if weight is None else torch.addcmul(bias, standard, weight)


def _put(running: Tensor, moved: Tensor, coordinates: Tensor | None) -> None:
    if coordinates is None:
        running.copy_(moved)
    else:
        running.index_copy_(0, coordinates, moved)


class _Standardise(torch.autograd.Function):
    """Rows with mean 0 and variance 1 in each column; sums along columns have one order."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> tuple[Tensor, Tensor, Tensor]:
        mean = x.mean(dim=0)
        out = x - mean  # (rows, kept)
        var = out.square().mean(dim=0)
        inverse = (var + eps).rsqrt()
        out *= inverse
        ctx.save_for_backward(out, inverse)
        ctx.mark_non_differentiable(mean, var)
        return out, mean, var

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor, *_: Tensor) -> tuple[Tensor, None]:
        out, inverse = ctx.saved_tensors
        down = slope - slope.mean(dim=0)
        down.addcmul_(out, (slope * out).mean(dim=0), value=-1)
        return down.mul_(inverse), None
