"""R-GCN with bases: y_t = sum over edges (u, r, t) of w * sum_b a_rb * x_u V_b.

The sum over edges is taken before the product with the bases V, or after it: memory for bases times
nodes, never for edges. What comes first should have the smaller table.
"""

from typing import Any, NamedTuple

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
    steps = _Steps(x.shape[1], 0, x.shape[1])
    sums = apply(_Aggregate, x, coefficients, edges, weights, rows, steps)
    return sums.view(rows, coefficients.shape[1], x.shape[1])


def aggregate_mixed(
    x: Tensor,  # (nodes, bases, dim)
    coefficients: Tensor,  # (relations, bases)
    *,
    edges: EdgeIndex,
    weights: Tensor,  # (edges,)
    rows: int | None = None,
) -> Tensor:  # (rows, dim)
    """Sum what each node receives where nodes have a vector for each basis, mixed by relation.

    Args:
        x: Vectors of nodes, one for each basis.
        coefficients: a_rb, of the same dtype.
        edges: The graph.
        weights: A constant for each edge, in the order of the edges' ids.
        rows: Compute the targets below this only; by default all nodes.

    Raises:
        DataError: Shapes or dtypes that do not fit.
    """
    rows = edges.num_targets if rows is None else rows
    flat, dim = x.flatten(1), x.shape[-1]
    check_graph(flat, coefficients, edges=edges, weights=weights, rows=rows)
    weights = weights.detach().to(x)
    if not has_kernels(x):
        return reference.aggregate_mixed(x, coefficients, edges=edges, weights=weights, rows=rows)
    steps = _Steps(dim, dim, 0)
    return apply(_Aggregate, flat, coefficients, edges, weights, rows, steps)


class _Steps(NamedTuple):
    """Where a basis has its coordinates: 0 steps where all bases share them."""

    width: int
    sent: int  # from one basis to the next in a row of x
    received: int  # the same in a row of what comes out


class _Aggregate(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        coefficients: Tensor,
        edges: EdgeIndex,
        weights: Tensor,
        rows: int,
        steps: _Steps,
    ) -> Tensor:
        ctx.save_for_backward(x, coefficients, weights)
        ctx.edges, ctx.steps = edges, steps
        width = steps.width * (coefficients.shape[1] if steps.received else 1)
        h = empty_aligned(x, rows, width)
        side, arrays = edges.by_target, (array(x), array(coefficients), array(weights), array(h))
        parallel_rows(
            lambda low, high: _forward(*arrays, side, steps, low, high),
            ragged_bounds(side.offsets[: rows + 1]),
        )
        return h

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, coefficients, weights = ctx.saved_tensors
        edges: EdgeIndex = ctx.edges
        bounds, side, steps = edges.source_parts, edges.by_source, ctx.steps
        dx = empty_aligned(x, *x.shape)
        partials = array(empty_aligned(x, len(bounds) - 1, *coefficients.shape))
        arrays = (array(x), array(coefficients), array(weights), array(gradient), array(dx))
        parallel_for(
            lambda i: _backward(*arrays, partials[i], side, steps, bounds[i], bounds[i + 1]),
            len(bounds) - 1,
        )
        return dx, torch.from_numpy(partials.sum(axis=0)), None, None, None, None


@kernel
def _forward(
    x: Array, a: Array, w: Array, h: Array, side: Grouping, steps: _Steps, low: int, high: int
) -> None:
    last = side.offsets[high] - 1
    for t in range(low, high):
        h[t, :] = 0
        for j in range(side.offsets[t], side.offsets[t + 1]):
            if j < last:
                prefetch_row(x, side.first[j + 1])
            u, r, weight = side.first[j], side.second[j], w[side.edges[j]]
            if weight != 0:
                for b in range(a.shape[1]):
                    _add_scaled(weight * a[r, b], x[u], h[t], b, steps)


@part_of_kernels
def _add_scaled(scale: float, sent: Array, received: Array, b: int, steps: _Steps) -> None:
    here, there = b * steps.sent, b * steps.received
    for k in range(steps.width):
        received[there + k] += scale * sent[here + k]


@reducing_kernel
def _backward(
    x: Array,
    a: Array,
    w: Array,
    g: Array,
    dx: Array,
    da: Array,
    side: Grouping,
    steps: _Steps,
    low: int,
    high: int,
) -> None:
    da[:, :] = 0
    last = side.offsets[high] - 1
    for u in range(low, high):
        dx[u, :] = 0
        for j in range(side.offsets[u], side.offsets[u + 1]):
            if j < last:
                prefetch_row(g, side.first[j + 1])
            t, r, weight = side.first[j], side.second[j], w[side.edges[j]]
            if weight != 0 and t < g.shape[0]:
                for b in range(a.shape[1]):
                    dot = _add_and_dot(weight * a[r, b], g[t], x[u], dx[u], b, steps)
                    da[r, b] += weight * dot


@reducing_part
def _add_and_dot(
    scale: float, slope: Array, sent: Array, dx: Array, b: int, steps: _Steps
) -> float:
    here, there = b * steps.sent, b * steps.received
    dot: float = sent.dtype.type(0)
    for k in range(steps.width):
        value = slope[there + k]
        dx[here + k] += scale * value
        dot += value * sent[here + k]
    return dot
