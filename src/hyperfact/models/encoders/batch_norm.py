"""Batch normalisation whose bits do not depend on the number of threads.

PyTorch's sums over rows are cut into as many parts as there are threads. It was the only sum of a
training step that is; a training on two threads took another way than one on a single thread.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.shard import Shard


def batch_norm(norm: nn.BatchNorm1d, x: Tensor, step: GraphPass) -> Tensor:  # (rows, kept)
    """Normalised over the rows; of coordinates that are left out nothing changes."""
    assert norm.running_mean is not None
    assert norm.running_var is not None
    assert norm.momentum is not None
    weight, bias = (None if p is None else step.columns(p) for p in (norm.weight, norm.bias))
    if not norm.training:
        mean, var = step.columns(norm.running_mean), step.columns(norm.running_var)
        return functional.batch_norm(x, mean, var, weight, bias, eps=norm.eps)
    rows = _Rows.of(x, step.shard)
    if rows.number < 2:
        raise ValueError("batch normalisation needs more than one row to train")
    standard, mean, var = _Standardise.apply(x, norm.eps, rows)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        unbiased = var * (rows.number / (rows.number - 1))
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


class _Rows(NamedTuple):
    """All rows that are normalised together, of which a shard may have a part."""

    number: int
    shard: Shard | None

    @classmethod
    def of(cls, x: Tensor, shard: Shard | None) -> "_Rows":
        if shard is None:
            return cls(len(x), None)
        return cls(int(shard.sum(torch.tensor([len(x)], device=x.device))), shard)

    def mean(self, x: Tensor) -> Tensor:  # (kept,)
        """Over all rows."""
        return x.mean(dim=0) if self.shard is None else self.shard.sum(x.sum(dim=0)) / self.number


class _Standardise(torch.autograd.Function):
    """Rows with mean 0 and variance 1 in each column; sums along columns have one order."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float, rows: _Rows) -> tuple[Tensor, Tensor, Tensor]:
        ctx.rows = rows
        mean = rows.mean(x)
        out = x - mean  # (rows, kept)
        var = rows.mean(out.square())
        inverse = (var + eps).rsqrt()
        out *= inverse
        ctx.save_for_backward(out, inverse)
        ctx.mark_non_differentiable(mean, var)
        return out, mean, var

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor, *_: Tensor) -> tuple[Tensor, None, None]:
        out, inverse = ctx.saved_tensors
        down = slope - ctx.rows.mean(slope)
        down.addcmul_(out, ctx.rows.mean(slope * out), value=-1)
        return down.mul_(inverse), None, None
