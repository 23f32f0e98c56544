"""Fused compose-and-aggregate: y_t = sum over edges (u, r, t) of w * phi(x_u, z_r).

The heart of CompGCN (and of TransEQ's encoder) before its weight matrix, which is linear and is
applied once per node afterwards. No tensor with a row per edge exists, forward or backward.
"""

from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hyperfact.errors import DataError, UnknownNameError
from hyperfact.kernels import reference
from hyperfact.kernels.buffers import array, empty_aligned
from hyperfact.kernels.dispatch import apply, check_graph, has_kernels
from hyperfact.kernels.edges import EdgeIndex, Grouping
from hyperfact.kernels.jit import Array, kernel, prefetch_row
from hyperfact.kernels.threads import parallel_for, parallel_rows, ragged_bounds

Composition = Literal["sub", "mult", "rotate", "corr"]
COMPOSITIONS: tuple[Composition, ...] = ("sub", "mult", "rotate", "corr")
_ADD, _SUB, _MULT, _ROTATE, _CONJUGATE = range(5)
_CODES = {"sub": _SUB, "mult": _MULT, "rotate": _ROTATE}


def compose_aggregate(
    x: Tensor,  # (nodes, dim)
    z: Tensor,  # (relations, dim)
    *,
    edges: EdgeIndex,
    weights: Tensor,  # (edges,)
    composition: Composition,
    rows: int | None = None,
) -> Tensor:  # (rows, dim)
    """Sum the weighted compositions that each node receives.

    `sub` is x - z, `mult` x * z, `rotate` the product of complex numbers whose real and imaginary
    parts are the two halves (no unit modulus is imposed), `corr` the circular correlation
    `out_k = sum_i x_i z_(i+k)`, computed in Fourier space. An edge of weight 0 costs nothing.

    Args:
        x: Vectors of nodes.
        z: Vectors of relations, of the same dtype.
        edges: The graph.
        weights: A constant for each edge, in the order of the edges' ids.
        composition: The name of phi.
        rows: Compute the targets below this only; by default all nodes.

    Raises:
        UnknownNameError: No such composition.
        DataError: Shapes or dtypes that do not fit; `rotate` with an odd dimension.
    """
    rows = edges.num_nodes if rows is None else rows
    check_graph(x, z, edges=edges, weights=weights, rows=rows)
    _check(x, z, composition)
    weights = weights.detach().to(x.dtype)
    if not has_kernels(x):
        return reference.compose_aggregate(
            x, z, edges=edges, weights=weights, composition=composition, rows=rows
        )
    if composition == "corr":
        return _correlate(x, z, edges, weights, rows)
    return apply(_ComposeAggregate, x, z, edges, weights, _CODES[composition], rows)


def _check(x: Tensor, z: Tensor, composition: str) -> None:
    if composition not in COMPOSITIONS:
        raise UnknownNameError("composition", composition, COMPOSITIONS)
    if z.shape[1:] != x.shape[1:]:
        raise DataError(f"x has {x.shape[1:]} columns, z has {z.shape[1:]}")
    if composition == "rotate" and x.shape[1] % 2:
        raise DataError(f"rotate pairs two halves; the dimension must be even, got {x.shape[1]}")


def _correlate(x: Tensor, z: Tensor, edges: EdgeIndex, weights: Tensor, rows: int) -> Tensor:
    """Correlation is conj(rfft x) * rfft z: a rotation of spectra stored as two halves.

    The transforms are torch's, and may differ in the last bits between numbers of threads.
    """
    dim = x.shape[1]
    x_hat, z_hat = torch.fft.rfft(x), torch.fft.rfft(z)  # (nodes, dim // 2 + 1) complex
    halves = apply(
        _ComposeAggregate,
        torch.cat([x_hat.real, -x_hat.imag], dim=1),
        torch.cat([z_hat.real, z_hat.imag], dim=1),
        edges,
        weights,
        _ROTATE,
        rows,
    )  # (rows, 2 * (dim // 2 + 1))
    if rows == 0:  # which MKL's transform refuses
        return halves[:, :dim]
    y: Tensor = torch.fft.irfft(torch.complex(*halves.chunk(2, dim=1)), n=dim)
    return y


class _ComposeAggregate(torch.autograd.Function):
    """Keeps the two inputs and the index only, and recomputes the rest."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, z: Tensor, edges: EdgeIndex, weights: Tensor, code: int, rows: int
    ) -> Tensor:
        ctx.save_for_backward(x, z, weights)
        ctx.edges, ctx.code, ctx.rows = edges, code, rows
        y = empty_aligned(x, rows, x.shape[1])
        side, arrays = edges.by_target, (array(x), array(z), array(weights), array(y))
        parallel_rows(
            lambda low, high: _forward(code, *arrays, side, low, high),
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
        dx = empty_aligned(x, *(x.shape if need_x else (0, 0)))
        partial_shape = (len(bounds) - 1, z.shape[0] if need_z else 0, z.shape[1])
        partials = array(empty_aligned(z, *partial_shape))  # (parts, relations or 0, dim)
        arrays = (array(x), array(z), array(weights), array(gradient), array(dx))
        parallel_for(
            lambda i: _backward(ctx.code, *arrays, partials[i], side, bounds[i], bounds[i + 1]),
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
                _add(code, weight, x, side.first[j], z, side.second[j], y, t)


@kernel
def _backward(
    code: int,
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
    back = _ADD if code == _SUB else (_CONJUGATE if code == _ROTATE else _MULT)
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
                    _add(back, weight, g, t, z, r, dx, u)
                if need_z:
                    _add(back, -weight if code == _SUB else weight, g, t, x, u, dz, r)


@kernel
def _add(code: int, w: float, x: Array, u: int, z: Array, r: int, y: Array, t: int) -> None:
    """Row t of y += w * phi(row u of x, row r of z); gradients have this form as well."""
    if code == _ADD:
        for k in range(x.shape[1]):
            y[t, k] += w * x[u, k]
    elif code == _SUB:
        for k in range(x.shape[1]):
            y[t, k] += w * (x[u, k] - z[r, k])
    elif code == _MULT:
        for k in range(x.shape[1]):
            y[t, k] += w * x[u, k] * z[r, k]
    else:
        _add_product(w, w if code == _ROTATE else -w, x, u, z, r, y, t)


@kernel
def _add_product(w: float, v: float, x: Array, u: int, z: Array, r: int, y: Array, t: int) -> None:
    """Complex numbers in halves; v is w, or -w to conjugate z."""
    half = x.shape[1] // 2
    for k in range(half):
        real, imaginary = x[u, k], x[u, k + half]
        y[t, k] += w * real * z[r, k] - v * imaginary * z[r, k + half]
        y[t, k + half] += v * real * z[r, k + half] + w * imaginary * z[r, k]
