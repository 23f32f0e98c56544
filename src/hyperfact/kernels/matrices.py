"""R-GCN with a full matrix per relation: y_t = sum over edges (u, r, t) of w * x_u W_r.

What a target receives over one relation is summed first, so that a row is multiplied once for each
distinct (relation, target). Rows are gathered in chunks that fit the cache.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hyperfact.kernels.buffers import array, empty_aligned
from hyperfact.kernels.edges import EdgeIndex, Pairs
from hyperfact.kernels.jit import Array, kernel
from hyperfact.kernels.threads import even_bounds, parallel_rows

_CHUNK = 4096  # rows: 3 MB for 200 float32 columns


class MatrixAggregate(torch.autograd.Function):
    """The case of one block in `blocks.block_aggregate`."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, matrices: Tensor, edges: EdgeIndex, weights: Tensor, rows: int
    ) -> Tensor:
        """Multiply by relation; matrices are (relations, 1, in, out)."""
        ctx.save_for_backward(x, matrices, weights)
        ctx.edges = edges
        return _multiply(x, matrices[:, 0], weights, edges.pairs, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        """The gradient of x is the same operation on reversed edges and transposed matrices."""
        x, matrices, weights = ctx.saved_tensors
        edges: EdgeIndex = ctx.edges
        transposed = matrices[:, 0].transpose(1, 2)
        dx = _multiply(gradient, transposed, weights, edges.reversed.pairs, edges.num_nodes)
        dw = _outer(x, gradient, weights, edges.pairs)
        return dx, dw[:, None], None, None, None


def _multiply(x: Tensor, matrices: Tensor, weights: Tensor, pairs: Pairs, rows: int) -> Tensor:
    y = empty_aligned(x, rows, matrices.shape[2]).zero_()
    received = empty_aligned(x, _CHUNK, x.shape[1])
    product = empty_aligned(x, _CHUNK, matrices.shape[2])
    for start, stop in _chunks(pairs):
        _gather(x, weights, pairs, start, received[: stop - start])
        for r, a, b in _relations(pairs, start, stop):
            torch.mm(received[a:b], matrices[r], out=product[a:b])
        _add_rows(product, pairs.target[start:stop], y)
    return y


def _outer(x: Tensor, gradient: Tensor, weights: Tensor, pairs: Pairs) -> Tensor:
    relations = len(pairs.relation_offsets) - 1
    dw = empty_aligned(x, relations, x.shape[1], gradient.shape[1]).zero_()
    received = empty_aligned(x, _CHUNK, x.shape[1])
    for start, stop in _chunks(pairs) if len(gradient) else ():
        _gather(x, weights, pairs, start, received[: stop - start])
        targets = torch.from_numpy(pairs.target[start:stop].astype(np.int64))
        known = targets < len(gradient)  # targets beyond the computed rows have no gradient
        outer = gradient.index_select(0, targets.where(known, 0)) * known[:, None]
        for r, a, b in _relations(pairs, start, stop):
            dw[r].addmm_(received[a:b].T, outer[a:b])
    return dw


def _chunks(pairs: Pairs) -> Iterator[tuple[int, int]]:
    for start in range(0, len(pairs.target), _CHUNK):
        yield start, min(start + _CHUNK, len(pairs.target))


def _relations(pairs: Pairs, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
    """Relations of a chunk, with the first and last of their rows within it."""
    bounds = pairs.relation_offsets
    first, last = np.searchsorted(bounds, (start, stop - 1), side="right") - 1
    for r in range(first, last + 1):
        a, b = max(int(bounds[r]), start) - start, min(int(bounds[r + 1]), stop) - start
        if a < b:
            yield r, a, b


def _gather(x: Tensor, weights: Tensor, pairs: Pairs, start: int, received: Tensor) -> None:
    rows, w, out = array(x), array(weights), array(received)
    parallel_rows(
        lambda low, high: _receive(rows, w, pairs, start, out, low, high),
        even_bounds(len(received)),
    )


def _add_rows(product: Tensor, targets: Array, y: Tensor) -> None:
    rows, out = array(product), array(y)
    parallel_rows(
        lambda low, high: _scatter(rows, targets, out, low, high),
        even_bounds(y.shape[1], per_thread=1),
    )


@kernel
def _receive(x: Array, w: Array, pairs: Pairs, start: int, out: Array, low: int, high: int) -> None:
    for row in range(low, high):
        out[row, :] = 0
        for j in range(pairs.offsets[start + row], pairs.offsets[start + row + 1]):
            u, weight = pairs.source[j], w[pairs.edges[j]]
            if weight != 0 and u < x.shape[0]:
                for k in range(x.shape[1]):
                    out[row, k] += weight * x[u, k]


@kernel
def _scatter(product: Array, target: Array, y: Array, low: int, high: int) -> None:
    """Add rows to their targets, columns `low` to `high`: no two threads meet."""
    for row in range(len(target)):
        t = target[row]
        if t < y.shape[0]:
            for k in range(low, high):
                y[t, k] += product[row, k]
