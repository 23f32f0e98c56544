"""Sums of squashed windows, `sum_j sigmoid(s_j + sum_t w_tj c_tj)`, never expanded.

A question has sums s and weights w, a row of a table has coordinates c. PyTorch would hold a matrix
of windows for every pair of question and candidate, several times; here a pair is a loop.
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
from hyperfact.kernels.exponential import exp_nonpositive
from hyperfact.kernels.jit import Array, kernel, part_of_kernels, reducing_kernel, reducing_part
from hyperfact.kernels.pairs import RowPairs, pairs_of_rows, run_questions, run_rows

_BLOCK = 64  # rows of a table that stay in the cache while questions pass


def window_sums(sums: Tensor, weights: Tensor, table: Tensor, ids: Tensor) -> Tensor:  # (batch, k)
    """Each question with its own rows.

    Args:
        sums: (batch, windows).
        weights: (batch, window, windows).
        table: (rows, window, windows).
        ids: Rows for each question.  # (batch, k)
    """
    if not has_kernels(sums):
        return reference.window_sums(sums[:, None], weights[:, None], table[ids])
    return apply(_WindowSums, sums, weights, table, ids)


def all_window_sums(sums: Tensor, weights: Tensor, table: Tensor) -> Tensor:  # (batch, rows)
    """Each question with all rows; no gradient is kept."""
    found = sums.new_empty(len(sums), len(table))
    run = partial(_all_sums, array(sums), array(weights), array(table), array(found))
    run_questions(run, len(sums))
    return found


class _WindowSums(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, sums: Tensor, weights: Tensor, table: Tensor, ids: Tensor) -> Tensor:
        ctx.save_for_backward(sums, weights, table, ids)
        found = sums.new_empty(ids.shape)
        known = (array(sums), array(weights))
        run_questions(partial(_sums, known, array(table), array(ids), array(found)), len(sums))
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor, Tensor, None]:
        sums, weights, table, ids = ctx.saved_tensors
        of_sums, of_weights = torch.zeros_like(sums), torch.zeros_like(weights)
        of_table = torch.zeros_like(table)
        known, t, i, s = (array(sums), array(weights)), array(table), array(ids), array(slope)
        out = (array(of_sums), array(of_weights))
        run_questions(partial(_question_slopes, known, t, i, s, out), len(sums))
        pairs = pairs_of_rows(i, len(t))
        run_rows(partial(_row_slopes, known, t, pairs, s, array(of_table)), pairs)
        return of_sums, of_weights, of_table, None


@part_of_kernels
def _add_up(sums: Array, weights: Array, row: Array, out: Array) -> None:
    """The sum of each window."""
    for j in range(len(sums)):
        out[j] = sums[j]
    for t in range(len(weights)):
        for j in range(len(sums)):
            out[j] += weights[t, j] * row[t, j]


@part_of_kernels
def _sigmoid(x: Any, one: Any) -> Any:
    small = exp_nonpositive(-abs(x))
    return (one if x >= 0 else small) / (one + small)


@reducing_part
def _score(windows: Array) -> Any:
    one, total = windows.dtype.type(1), windows.dtype.type(0)
    for j in range(len(windows)):
        total += _sigmoid(windows[j], one)
    return total


@part_of_kernels
def _slopes(windows: Array, slope: Any) -> None:
    """Replace the sum of each window by the slope of the score times that of the loss."""
    one = windows.dtype.type(1)
    for j in range(len(windows)):
        s = _sigmoid(windows[j], one)
        windows[j] = slope * s * (one - s)


@reducing_kernel
def _sums(
    known: tuple[Array, Array], table: Array, ids: Array, found: Array, low: int, high: int
) -> None:
    sums, weights = known
    windows = np.empty(sums.shape[1], sums.dtype)
    for i in range(low, high):
        for k in range(ids.shape[1]):
            _add_up(sums[i], weights[i], table[ids[i, k]], windows)
            found[i, k] = _score(windows)


@reducing_kernel
def _all_sums(sums: Array, weights: Array, table: Array, found: Array, low: int, high: int) -> None:
    windows = np.empty(sums.shape[1], sums.dtype)
    for first in range(0, len(table), _BLOCK):
        for i in range(low, high):
            for row in range(first, min(first + _BLOCK, len(table))):
                _add_up(sums[i], weights[i], table[row], windows)
                found[i, row] = _score(windows)


@kernel
def _question_slopes(
    known: tuple[Array, Array],
    table: Array,
    ids: Array,
    slope: Array,
    out: tuple[Array, Array],
    low: int,
    high: int,
) -> None:
    sums, weights = known
    of_sums, of_weights = out
    windows = np.empty(sums.shape[1], sums.dtype)
    for i in range(low, high):
        for k in range(ids.shape[1]):
            row = ids[i, k]
            _add_up(sums[i], weights[i], table[row], windows)
            _slopes(windows, slope[i, k])
            for j in range(len(windows)):
                of_sums[i, j] += windows[j]
            for t in range(weights.shape[1]):
                for j in range(len(windows)):
                    of_weights[i, t, j] += windows[j] * table[row, t, j]


@kernel
def _row_slopes(
    known: tuple[Array, Array],
    table: Array,
    pairs: RowPairs,
    slope: Array,
    out: Array,
    low: int,
    high: int,
) -> None:
    sums, weights = known
    windows, width = np.empty(sums.shape[1], sums.dtype), slope.shape[1]
    for row in range(low, high):
        for place in range(pairs.starts[row], pairs.starts[row + 1]):
            i, k = pairs.order[place] // width, pairs.order[place] % width
            _add_up(sums[i], weights[i], table[row], windows)
            _slopes(windows, slope[i, k])
            for t in range(weights.shape[1]):
                for j in range(len(windows)):
                    out[row, t, j] += windows[j] * weights[i, t, j]
