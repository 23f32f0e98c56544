"""R-GCN with blocks: y_t = sum over edges (u, r, t) of w * x_u W_r, each W_r block-diagonal.

Edges are walked by relation, so that the blocks of one relation stay in cache; threads share the
blocks, not the edges, and no two of them write to one place.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hyperfact.errors import DataError
from hyperfact.kernels import reference
from hyperfact.kernels.buffers import array, empty_aligned
from hyperfact.kernels.dispatch import apply, check_graph, has_kernels
from hyperfact.kernels.edges import EdgeIndex, Grouping
from hyperfact.kernels.jit import Array, kernel
from hyperfact.kernels.matrices import MatrixAggregate
from hyperfact.kernels.threads import even_bounds, parallel_rows


def block_aggregate(
    x: Tensor,  # (nodes, blocks * size_in)
    matrices: Tensor,  # (relations, blocks, size_in, size_out)
    *,
    edges: EdgeIndex,
    weights: Tensor,  # (edges,)
    rows: int | None = None,
) -> Tensor:  # (rows, blocks * size_out)
    """Multiply what each node receives by the block-diagonal matrix of the relation.

    A full matrix per relation is the case of one block, and takes a path of its own.

    Raises:
        DataError: Shapes or dtypes that do not fit.
    """
    rows = edges.num_targets if rows is None else rows
    check_graph(x, matrices, edges=edges, weights=weights, rows=rows)
    _check(x, matrices)
    weights = weights.detach().to(x)
    if not has_kernels(x):
        return reference.block_aggregate(x, matrices, edges=edges, weights=weights, rows=rows)
    function = MatrixAggregate if matrices.shape[1] == 1 else _BlockAggregate
    return apply(function, x, matrices, edges, weights, rows)


def _check(x: Tensor, matrices: Tensor) -> None:
    if matrices.ndim != 4 or x.shape[1] != matrices.shape[1] * matrices.shape[2]:
        shapes = f"x {tuple(x.shape)}, matrices {tuple(matrices.shape)}"
        raise DataError(f"x needs blocks * size_in columns, as in matrices; got {shapes}")


class _BlockAggregate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, matrices: Tensor, edges: EdgeIndex, weights: Tensor, rows: int
    ) -> Tensor:
        ctx.save_for_backward(x, matrices, weights)
        ctx.edges = edges
        return _multiply_blocks(x, matrices, weights, edges.by_relation, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, matrices, weights = ctx.saved_tensors
        edges: EdgeIndex = ctx.edges
        side, transposed = edges.by_relation, matrices.transpose(2, 3)
        back = edges.reversed.by_relation
        dx = _multiply_blocks(gradient, transposed, weights, back, edges.num_nodes)
        dq = empty_aligned(matrices, *matrices.shape).zero_()
        arrays = (array(x), array(gradient), array(weights), array(dq))
        parallel_rows(
            lambda low, high: _outer(*arrays, side, low, high),
            even_bounds(matrices.shape[1], per_thread=1),
        )
        return dx, dq, None, None, None


def _multiply_blocks(
    x: Tensor, matrices: Tensor, weights: Tensor, side: Grouping, rows: int
) -> Tensor:
    y = empty_aligned(x, rows, matrices.shape[1] * matrices.shape[3]).zero_()
    arrays = (array(x), array(matrices), array(weights), array(y))
    parallel_rows(
        lambda low, high: _multiply(*arrays, side, low, high),
        even_bounds(matrices.shape[1], per_thread=1),
    )
    return y


@kernel
def _multiply(x: Array, q: Array, w: Array, y: Array, side: Grouping, low: int, high: int) -> None:
    size_in, size_out = q.shape[2], q.shape[3]
    for r in range(len(side.offsets) - 1):
        for j in range(side.offsets[r], side.offsets[r + 1]):
            u, t, weight = side.first[j], side.second[j], w[side.edges[j]]
            if weight == 0 or u >= x.shape[0] or t >= y.shape[0]:
                continue
            for b in range(low, high):
                for i in range(size_in):
                    value = weight * x[u, b * size_in + i]
                    for o in range(size_out):
                        y[t, b * size_out + o] += value * q[r, b, i, o]


@kernel
def _outer(x: Array, g: Array, w: Array, dq: Array, side: Grouping, low: int, high: int) -> None:
    size_in, size_out = dq.shape[2], dq.shape[3]
    for r in range(len(side.offsets) - 1):
        for j in range(side.offsets[r], side.offsets[r + 1]):
            u, t, weight = side.first[j], side.second[j], w[side.edges[j]]
            if weight == 0 or t >= g.shape[0]:
                continue
            for b in range(low, high):
                for i in range(size_in):
                    value = weight * x[u, b * size_in + i]
                    for o in range(size_out):
                        dq[r, b, i, o] += value * g[t, b * size_out + o]
