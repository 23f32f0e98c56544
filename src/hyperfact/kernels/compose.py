"""Fused compose-and-aggregate: y_t = sum over edges (u, r, t) of w * phi(x_u, z_r).

The heart of CompGCN (and of TransEQ's encoder) before its weight matrix, which is linear and is
applied once per node afterwards. No tensor with a row per edge exists, forward or backward.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hyperfact.errors import DataError
from hyperfact.kernels import reference
from hyperfact.kernels.buffers import array, empty_aligned
from hyperfact.kernels.compositions import RowOperations, add_row, composition_of
from hyperfact.kernels.dispatch import apply, check_graph, has_kernels
from hyperfact.kernels.edges import EdgeIndex, Grouping
from hyperfact.kernels.jit import Array, kernel, prefetch_row
from hyperfact.kernels.threads import parallel_for, parallel_rows, ragged_bounds


def compose_aggregate(
    x: Tensor,  # (nodes, dim)
    z: Tensor,  # (relations, dim)
    *,
    edges: EdgeIndex,
    weights: Tensor,  # (edges,)
    composition: str,
    rows: int | None = None,
) -> Tensor:  # (rows, dim)
    """Sum the weighted compositions that each node receives.

    An edge of weight 0 costs nothing.

    Args:
        x: Vectors of nodes.
        z: Vectors of relations, of the same dtype.
        edges: The graph.
        weights: A constant for each edge, in the order of the edges' ids.
        composition: The name of phi in `COMPOSITIONS`.
        rows: Compute the targets below this only; by default all nodes.

    Raises:
        UnknownNameError: No such composition.
        DataError: Shapes or dtypes that do not fit; `rotate` with an odd dimension.
    """
    phi = composition_of(composition)
    rows = edges.num_targets if rows is None else rows
    check_graph(x, z, edges=edges, weights=weights, rows=rows)
    _check(x, z, composition)
    weights = weights.detach().to(x)
    if phi.rows is None or not has_kernels(x):
        return reference.compose_aggregate(
            x, z, edges=edges, weights=weights, composition=composition, rows=rows
        )
    sums = apply(_ComposeAggregate, *phi.enter(x, z), edges, weights, phi.rows, rows)
    return phi.leave(sums, x.shape[1])


def _check(x: Tensor, z: Tensor, composition: str) -> None:
    if z.shape[1:] != x.shape[1:]:
        raise DataError(f"x has {x.shape[1:]} columns, z has {z.shape[1:]}")
    if composition_of(composition).needs_even and x.shape[1] % 2:
        raise DataError(
            f"{composition} pairs two halves; the dimension must be even, got {x.shape[1]}"
        )


class _ComposeAggregate(torch.autograd.Function):
    """Keeps the two inputs and the index only, and recomputes the rest."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        z: Tensor,
        edges: EdgeIndex,
        weights: Tensor,
        operations: RowOperations,
        rows: int,
    ) -> Tensor:
        ctx.save_for_backward(x, z, weights)
        ctx.edges, ctx.operations, ctx.rows = edges, operations, rows
        y = empty_aligned(x, rows, x.shape[1])
        side, arrays = edges.by_target, (array(x), array(z), array(weights), array(y))
        parallel_rows(
            lambda low, high: _forward(operations.forward, *arrays, side, low, high),
            ragged_bounds(side.offsets[: rows + 1]),
        )
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, z, weights = ctx.saved_tensors
        edges: EdgeIndex = ctx.edges
        bounds, side = edges.source_parts, edges.by_source
        need_x, need_z = ctx.needs_input_grad[:2]
        _, back, negate = ctx.operations
        dx = x.new_empty(x.shape if need_x else (0, 0))  # torch's own, so that autograd adds to it
        partial_shape = (len(bounds) - 1, z.shape[0] if need_z else 0, z.shape[1])
        partials = array(empty_aligned(z, *partial_shape))  # (parts, relations or 0, dim)
        arrays = (array(x), array(z), array(weights), array(gradient), array(dx))
        parallel_for(
            lambda i: _backward(back, negate, *arrays, partials[i], side, bounds[i], bounds[i + 1]),
            len(bounds) - 1,
        )
        dz = torch.from_numpy(partials.sum(axis=0)) if need_z else None  # (relations, dim)
        return dx if need_x else None, dz, None, None, None, None


@kernel
def _forward(
    code: int, x: Array, z: Array, w: Array, y: Array, side: Grouping, low: int, high: int
) -> None:
    last = side.offsets[high] - 1
    for t in range(low, high):
        y[t, :] = 0
        for j in range(side.offsets[t], side.offsets[t + 1]):
            if j < last:
                prefetch_row(x, side.first[j + 1])
            weight = w[side.edges[j]]
            if weight != 0:
                add_row(code, weight, x, side.first[j], z, side.second[j], y, t)


@kernel
def _backward(
    back: int,
    negate: bool,  # noqa: FBT001 - kernels take no keywords
    x: Array,
    z: Array,
    w: Array,
    g: Array,
    dx: Array,
    dz: Array,
    side: Grouping,
    low: int,
    high: int,
) -> None:
    """Both gradients in one walk by source, for each row of `g` is then read once."""
    need_x, need_z = dx.shape[0] > 0, dz.shape[0] > 0
    dz[:, :] = 0
    last = side.offsets[high] - 1
    for u in range(low, high):
        if need_x:
            dx[u, :] = 0
        for j in range(side.offsets[u], side.offsets[u + 1]):
            if j < last:
                prefetch_row(g, side.first[j + 1])
            t, r, weight = side.first[j], side.second[j], w[side.edges[j]]
            if weight != 0 and t < g.shape[0]:
                if need_x:
                    add_row(back, weight, g, t, z, r, dx, u)
                if need_z:
                    add_row(back, -weight if negate else weight, g, t, x, u, dz, r)
