"""R-GCN with bases: h_tb = sum over edges (u, r, t) of w * a_rb * x_u for each basis b.

W_r = sum_b a_rb V_b is linear in V, so that the layer is `h.flatten(1) @ V.flatten(0, 1)`: memory
for bases times nodes, never for edges.
"""

from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hyperfact.kernels import reference
from hyperfact.kernels.buffers import array, empty_aligned
from hyperfact.kernels.dispatch import apply, check_graph, has_kernels
from hyperfact.kernels.edges import EdgeIndex, Grouping
from hyperfact.kernels.jit import (
    Array,
    kernel,
    part_of_kernels,
    prefetch_row,
    reducing_kernel,
    reducing_part,
)
from hyperfact.kernels.threads import parallel_for, parallel_rows, ragged_bounds


def aggregate_weighted(
    x: Tensor,  # (nodes, dim)
    coefficients: Tensor,  # (relations, bases)
    *,
    edges: EdgeIndex,
    weights: Tensor,  # (edges,)
    rows: int | None = None,
) -> Tensor:  # (rows, bases, dim)
    """Sum what each node receives, once per basis, scaled by the coefficient of the relation.

    Args:
        x: Vectors of nodes.
        coefficients: a_rb, of the same dtype.
        edges: The graph.
        weights: A constant for each edge, in the order of the edges' ids.
        rows: Compute the targets below this only; by default all nodes.

    Raises:
        DataError: Shapes or dtypes that do not fit.
    """
    rows = edges.num_targets if rows is None else rows
    check_graph(x, coefficients, edges=edges, weights=weights, rows=rows)
    weights = weights.detach().to(x)
    if not has_kernels(x):
        return reference.aggregate_weighted(
            x, coefficients, edges=edges, weights=weights, rows=rows
        )
    return apply(_AggregateWeighted, x, coefficients, edges, weights, rows)


class _AggregateWeighted(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, coefficients: Tensor, edges: EdgeIndex, weights: Tensor, rows: int
    ) -> Tensor:
        ctx.save_for_backward(x, coefficients, weights)
        ctx.edges = edges
        bases, dim = coefficients.shape[1], x.shape[1]
        h = empty_aligned(x, rows, bases * dim)
        side, arrays = edges.by_target, (array(x), array(coefficients), array(weights), array(h))
        parallel_rows(
            lambda low, high: _forward(*arrays, side, low, high),
            ragged_bounds(side.offsets[: rows + 1]),
        )
        return h.view(rows, bases, dim)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, coefficients, weights = ctx.saved_tensors
        edges: EdgeIndex = ctx.edges
        bounds, side = edges.source_parts, edges.by_source
        dx = empty_aligned(x, *x.shape)
        partials = array(empty_aligned(x, len(bounds) - 1, *coefficients.shape))
        arrays = (
            array(x),
            array(coefficients),
            array(weights),
            array(gradient.flatten(1)),
            array(dx),
        )
        parallel_for(
            lambda i: _backward(*arrays, partials[i], side, bounds[i], bounds[i + 1]),
            len(bounds) - 1,
        )
        return dx, torch.from_numpy(partials.sum(axis=0)), None, None, None


@kernel
def _forward(x: Array, a: Array, w: Array, h: Array, side: Grouping, low: int, high: int) -> None:
    dim, last = x.shape[1], side.offsets[high] - 1
    for t in range(low, high):
        h[t, :] = 0
        for j in range(side.offsets[t], side.offsets[t + 1]):
            if j < last:
                prefetch_row(x, side.first[j + 1])
            u, r, weight = side.first[j], side.second[j], w[side.edges[j]]
            if weight != 0:
                for b in range(a.shape[1]):
                    _add_scaled(weight * a[r, b], x, u, h, t, b * dim)


@part_of_kernels
def _add_scaled(scale: float, x: Array, u: int, h: Array, t: int, start: int) -> None:
    for k in range(x.shape[1]):
        h[t, start + k] += scale * x[u, k]


@reducing_kernel
def _backward(
    x: Array,
    a: Array,
    w: Array,
    g: Array,
    dx: Array,
    da: Array,
    side: Grouping,
    low: int,
    high: int,
) -> None:
    da[:, :] = 0
    dim, last = x.shape[1], side.offsets[high] - 1
    for u in range(low, high):
        dx[u, :] = 0
        for j in range(side.offsets[u], side.offsets[u + 1]):
            if j < last:
                prefetch_row(g, side.first[j + 1])
            t, r, weight = side.first[j], side.second[j], w[side.edges[j]]
            if weight != 0 and t < g.shape[0]:
                for b in range(a.shape[1]):
                    dot = _add_and_dot(weight * a[r, b], g, t, b * dim, x, dx, u)
                    da[r, b] += weight * dot


@reducing_part
def _add_and_dot(scale: float, g: Array, t: int, start: int, x: Array, dx: Array, u: int) -> float:
    dot: float = x.dtype.type(0)
    for k in range(x.shape[1]):
        value = g[t, start + k]
        dx[u, k] += scale * value
        dot += value * x[u, k]
    return dot
