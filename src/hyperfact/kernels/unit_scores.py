"""One layer of units over pairs of a question and a row of a table, never expanded.

`sum_u w_u ReLU(max(a_u + t_0u, b_u + t_1u) + sum_f s_f t_(2+f)u)`, of positive s_f: questions have
a, b and sizes s, a row of the table has t. Instead of the larger of the two sums it may be the
lesser. PyTorch would hold all units of every pair, several times; here a pair is a loop.
"""

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hyperfact.kernels import reference
from hyperfact.kernels.buffers import array
from hyperfact.kernels.dispatch import apply, has_kernels
from hyperfact.kernels.jit import Array, kernel, part_of_kernels, reducing_kernel, reducing_part
from hyperfact.kernels.pairs import (
    RowPairs,
    pairs_of_blocks,
    pairs_of_rows,
    run_blocks,
    run_questions,
    run_rows,
)

_BLOCK = 8  # rows of a table that stay in the cache while questions pass
_QUESTIONS = 64  # that stay in the cache while rows pass


class Units(NamedTuple):
    """What questions know."""

    sums: Tensor  # (batch, 2, units) a and b
    sizes: Tensor  # (batch, parts)
    weight: Tensor  # (units,) of all questions
    least: bool = False  # whether the lesser of the two sums counts, not the larger


def unit_scores(known: Units, table: Tensor, ids: Tensor) -> Tensor:  # (batch, k)
    """Each question with its own rows.

    Args:
        known: Of the questions.
        table: (rows, 2 + parts, units).
        ids: Rows for each question.  # (batch, k)
    """
    if not has_kernels(known.sums):
        sums, sizes = known.sums[:, None], known.sizes[:, None]
        return reference.unit_scores(sums, sizes, table[ids], known.weight, least=known.least)
    return apply(_UnitScores, *known, table, ids)


def all_unit_scores(known: Units, table: Tensor) -> Tensor:  # (batch, rows)
    """Each question with all rows; no gradient is kept."""
    found = known.sums.new_empty(len(known.sums), len(table))
    run_questions(
        partial(_all_scores, _arrays(*known[:3], least=known.least), array(table), array(found)),
        len(found),
    )
    return found


class _Arrays(NamedTuple):
    sums: Array
    sizes: Array
    weight: Array
    least: bool


def _arrays(sums: Tensor, sizes: Tensor, weight: Tensor, *, least: bool) -> _Arrays:
    return _Arrays(array(sums), array(sizes), array(weight), least)


class _UnitScores(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        sums: Tensor,
        sizes: Tensor,
        weight: Tensor,
        least: bool,  # noqa: FBT001 - `apply` takes no names
        table: Tensor,
        ids: Tensor,
    ) -> Tensor:
        ctx.save_for_backward(sums, sizes, weight, table, ids)
        ctx.least = least
        found = sums.new_empty(ids.shape)
        known = _arrays(sums, sizes, weight, least=least)
        rows, t = array(ids), array(table)
        order = pairs_of_blocks(rows, len(t), _QUESTIONS)
        run_blocks(partial(_scores, known, t, rows, order, array(found)), rows, _QUESTIONS)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        *inputs, table, ids = ctx.saved_tensors
        sums, sizes, _ = inputs
        found = [torch.zeros_like(part) for part in (sums, sizes, sums[:, 0])]
        of_table = torch.zeros_like(table)
        known, t, i, s = _arrays(*inputs, least=ctx.least), array(table), array(ids), array(slope)
        out = _arrays(*found, least=ctx.least)
        order = pairs_of_blocks(i, len(t), _QUESTIONS)
        run_blocks(partial(_question_slopes, known, t, (i, order), s, out), i, _QUESTIONS)
        pairs = pairs_of_rows(i, len(t))
        run_rows(partial(_row_slopes, known, t, pairs, s, array(of_table)), pairs)
        return found[0], found[1], found[2].sum(dim=0), None, of_table, None


@part_of_kernels
def _fill(known: _Arrays, i: int, row: Array, out: Array) -> None:
    """Each unit before ReLU."""
    units = len(out)
    a, b, one, two = known.sums[i, 0], known.sums[i, 1], row[0], row[1]
    if known.least:
        for u in range(units):
            left, right = a[u] + one[u], b[u] + two[u]
            out[u] = left if left <= right else right
    else:
        for u in range(units):
            left, right = a[u] + one[u], b[u] + two[u]
            out[u] = left if left >= right else right
    for part in range(known.sizes.shape[1]):
        size, some = known.sizes[i, part], row[2 + part]
        if size > 0:
            for u in range(units):
                out[u] += size * some[u]


@reducing_part
def _weigh(units: Array, weight: Array) -> Any:
    zero = units.dtype.type(0)
    total = zero
    for u in range(len(units)):
        total += weight[u] * (units[u] if units[u] > 0 else zero)
    return total


@reducing_part
def _least(known: _Arrays, i: int, row: Array) -> Any:
    """All at once where there are two sums and nothing else, of which the lesser counts."""
    a, b, weight, one, two = known.sums[i, 0], known.sums[i, 1], known.weight, row[0], row[1]
    zero = weight.dtype.type(0)
    total = zero
    for u in range(len(weight)):
        left, right = a[u] + one[u], b[u] + two[u]
        unit = left if left <= right else right
        total += weight[u] * (unit if unit > 0 else zero)
    return total


@part_of_kernels
def _slopes(units: Array, weight: Array, slope: Any) -> None:
    """Replace each unit by how the loss grows with it."""
    zero = units.dtype.type(0)
    for u in range(len(units)):
        units[u] = slope * weight[u] if units[u] > 0 else zero


@reducing_part
def _dot(one: Array, two: Array) -> Any:
    total = one.dtype.type(0)
    for u in range(len(one)):
        total += one[u] * two[u]
    return total


@part_of_kernels
def _share(units: Array, known: _Arrays, i: int, row: Array, out: Array) -> None:
    """Give the slope of each unit to that of the two sums which counts."""
    zero = units.dtype.type(0)
    a, b, one, two = known.sums[i, 0], known.sums[i, 1], row[0], row[1]
    if known.least:
        for u in range(len(units)):
            out[0, u] += units[u] if a[u] + one[u] <= b[u] + two[u] else zero
        for u in range(len(units)):
            out[1, u] += zero if a[u] + one[u] <= b[u] + two[u] else units[u]
        return
    for u in range(len(units)):
        out[0, u] += units[u] if a[u] + one[u] >= b[u] + two[u] else zero
    for u in range(len(units)):
        out[1, u] += zero if a[u] + one[u] >= b[u] + two[u] else units[u]


@reducing_kernel
def _scores(
    known: _Arrays, table: Array, ids: Array, order: Array, found: Array, low: int, high: int
) -> None:
    units, width = np.empty(table.shape[2], table.dtype), ids.shape[1]
    for place in range(low, high):
        i, k = order[place] // width, order[place] % width
        _fill(known, i, table[ids[i, k]], units)
        found[i, k] = _weigh(units, known.weight)


@reducing_kernel
def _all_scores(known: _Arrays, table: Array, found: Array, low: int, high: int) -> None:
    units, is_plain = np.empty(table.shape[2], table.dtype), known.least and table.shape[1] == 2
    for first in range(0, len(table), _BLOCK):
        for i in range(low, high):
            for row in range(first, min(first + _BLOCK, len(table))):
                if is_plain:
                    found[i, row] = _least(known, i, table[row])
                else:
                    _fill(known, i, table[row], units)
                    found[i, row] = _weigh(units, known.weight)


@kernel
def _question_slopes(
    known: _Arrays,
    table: Array,
    pairs: tuple[Array, Array],  # rows for each question, and the order of pairs
    slope: Array,
    out: _Arrays,
    low: int,
    high: int,
) -> None:
    ids, order = pairs
    units, zero, width = np.empty(table.shape[2], table.dtype), table.dtype.type(0), ids.shape[1]
    for place in range(low, high):
        i, k = order[place] // width, order[place] % width
        row = table[ids[i, k]]
        _fill(known, i, row, units)
        for u in range(len(units)):
            out.weight[i, u] += slope[i, k] * (units[u] if units[u] > 0 else zero)
        _slopes(units, known.weight, slope[i, k])
        _share(units, known, i, row, out.sums[i])
        for part in range(known.sizes.shape[1]):
            if known.sizes[i, part] > 0:
                out.sizes[i, part] += _dot(units, row[2 + part])


@kernel
def _row_slopes(
    known: _Arrays, table: Array, pairs: RowPairs, slope: Array, out: Array, low: int, high: int
) -> None:
    units, width = np.empty(table.shape[2], table.dtype), slope.shape[1]
    for row in range(low, high):
        for pair in range(pairs.starts[row], pairs.starts[row + 1]):
            i, k = pairs.order[pair] // width, pairs.order[pair] % width
            _fill(known, i, table[row], units)
            _slopes(units, known.weight, slope[i, k])
            _share(units, known, i, table[row], out[row])
            for part in range(known.sizes.shape[1]):
                size = known.sizes[i, part]
                if size > 0:
                    for u in range(len(units)):
                        out[row, 2 + part, u] += size * units[u]
