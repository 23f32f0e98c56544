"""How far complex points lie from rows of a table: `sum_k |p_k - t_k|`, never expanded.

The halves of a vector are the real and the imaginary parts. PyTorch would gather a row for every
pair of point and candidate and hold several matrices of that size; here a pair is a loop.
"""

from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hyperfact.kernels import reference
from hyperfact.kernels.buffers import array
from hyperfact.kernels.dispatch import apply, has_kernels
from hyperfact.kernels.jit import Array, kernel, part_of_kernels, reducing_kernel
from hyperfact.kernels.pairs import RowPairs, pairs_of_rows, run_questions, run_rows

TINY = 1e-12  # under the root, so that it has a slope everywhere
_BLOCK = 64  # rows of a table that stay in the cache while points pass


def complex_distance(points: Tensor, table: Tensor, ids: Tensor) -> Tensor:  # (batch, k)
    """Each point from its own rows.

    Args:
        points: (batch, dim).
        table: (rows, dim).
        ids: Rows for each point.  # (batch, k)
    """
    if not has_kernels(points):
        return reference.complex_distance(points[:, None], table[ids])
    return apply(_Distance, points, table, ids)


def all_complex_distances(points: Tensor, table: Tensor) -> Tensor:  # (batch, rows)
    """Each point from all rows; no gradient is kept."""
    found = points.new_empty(len(points), len(table))
    run = partial(_all_lengths, array(points), array(table), array(found))
    run_questions(run, len(points))
    return found


class _Distance(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, points: Tensor, table: Tensor, ids: Tensor) -> Tensor:
        ctx.save_for_backward(points, table, ids)
        found = points.new_empty(ids.shape)
        run = partial(_lengths, array(points), array(table), array(ids), array(found))
        run_questions(run, len(points))
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor, None]:
        points, table, ids = ctx.saved_tensors
        of_points, of_table = torch.zeros_like(points), torch.zeros_like(table)
        p, t, i, s = (array(part) for part in (points, table, ids, slope))
        run_questions(partial(_point_slopes, p, t, i, s, array(of_points)), len(p))
        pairs = pairs_of_rows(i, len(t))
        run_rows(partial(_row_slopes, p, t, pairs, s, array(of_table)), pairs)
        return of_points, of_table, None


@reducing_kernel
def _lengths(points: Array, table: Array, ids: Array, found: Array, low: int, high: int) -> None:
    half, tiny = points.shape[1] // 2, points.dtype.type(TINY)
    for i in range(low, high):
        for j in range(ids.shape[1]):
            row, total = ids[i, j], points.dtype.type(0)
            for k in range(half):
                a = points[i, k] - table[row, k]
                b = points[i, half + k] - table[row, half + k]
                total += np.sqrt(a * a + b * b + tiny)
            found[i, j] = total


@reducing_kernel
def _all_lengths(points: Array, table: Array, found: Array, low: int, high: int) -> None:
    half, tiny = points.shape[1] // 2, points.dtype.type(TINY)
    for first in range(0, len(table), _BLOCK):
        for i in range(low, high):
            for row in range(first, min(first + _BLOCK, len(table))):
                total = points.dtype.type(0)
                for k in range(half):
                    a = points[i, k] - table[row, k]
                    b = points[i, half + k] - table[row, half + k]
                    total += np.sqrt(a * a + b * b + tiny)
                found[i, row] = total


@part_of_kernels
def _add_slopes(point: Array, row: Array, slope: Any, out: Array) -> None:
    """Of one distance, for the point; for the row it is the opposite."""
    half, tiny = len(point) // 2, point.dtype.type(TINY)
    for k in range(half):
        a = point[k] - row[k]
        b = point[half + k] - row[half + k]
        scale = slope / np.sqrt(a * a + b * b + tiny)
        out[k] += scale * a
        out[half + k] += scale * b


@kernel
def _point_slopes(
    points: Array, table: Array, ids: Array, slope: Array, out: Array, low: int, high: int
) -> None:
    for i in range(low, high):
        for j in range(ids.shape[1]):
            _add_slopes(points[i], table[ids[i, j]], slope[i, j], out[i])


@kernel
def _row_slopes(
    points: Array,
    table: Array,
    pairs: RowPairs,
    slope: Array,
    out: Array,
    low: int,
    high: int,
) -> None:
    width = slope.shape[1]
    for row in range(low, high):
        for place in range(pairs.starts[row], pairs.starts[row + 1]):
            i, j = pairs.order[place] // width, pairs.order[place] % width
            _add_slopes(points[i], table[row], -slope[i, j], out[row])
