"""How far the points of a fact lie from their boxes, for many candidates, never expanded.

A candidate is the point of the asked slot and moves the points of all others. PyTorch would hold a
matrix of points for every slot of every pair of question and candidate, several times; here a pair
is a loop over slots.
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
from hyperfact.kernels.exponential import exp_nonpositive
from hyperfact.kernels.jit import Array, kernel, part_of_kernels, reducing_kernel, reducing_part
from hyperfact.kernels.pairs import RowPairs, pairs_of_rows, run_questions, run_rows

TINY = 1e-12  # under the root, so that it has a slope everywhere
_BLOCK = 16  # rows of a table that stay in the cache while questions pass


class Boxes(NamedTuple):
    """What questions know."""

    points: Tensor  # (batch, slots, dim) moved by all that is given
    boxes: Tensor  # (batch, slots, 2 * dim) centres, and 1 more than sides
    asked: Tensor  # (batch,) slot of the candidate
    mask: Tensor  # (batch, slots) slots that exist


def box_distance(known: Boxes, table: Tensor, ids: Tensor) -> Tensor:  # (batch, k)
    """The sum over slots of the distance of tanh of a point from its box.

    Args:
        known: Of the questions.
        table: Points of candidates, and how they move others.  # (rows, 2 * dim)
        ids: Rows for each question.  # (batch, k)
    """
    if not has_kernels(known.points):
        return expanded_box_distance(known, table[ids])
    return apply(_BoxDistance, known.points, known.boxes, known.asked, known.mask, table, ids)


def all_box_distances(known: Boxes, table: Tensor) -> Tensor:  # (batch, rows)
    """Of all rows; no gradient is kept."""
    found = known.points.new_empty(len(known.points), len(table))
    run = partial(_all_lengths, _arrays(*known), array(table), array(found))
    run_questions(run, len(found))
    return found


def expanded_box_distance(known: Boxes, rows: Tensor) -> Tensor:  # (batch, k)
    """The same in plain PyTorch, from rows (batch, k, 2 * dim)."""
    point, bump = rows[:, :, None].chunk(2, dim=-1)  # (batch, k, 1, dim)
    slots = torch.arange(known.mask.shape[1], device=rows.device)
    asked = (slots == known.asked[:, None])[:, None, :, None]
    points = known.points[:, None] + torch.where(asked, point, bump)
    away = reference.box_distance(points, known.boxes[:, None])  # (batch, k, slots)
    return torch.where(known.mask[:, None], away, 0.0).sum(dim=2)


class _Arrays(NamedTuple):
    points: Array
    boxes: Array
    asked: Array
    mask: Array


def _arrays(points: Tensor, boxes: Tensor, asked: Tensor, mask: Tensor) -> _Arrays:
    return _Arrays(array(points), array(boxes), array(asked), array(mask))


class _BoxDistance(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        points: Tensor,
        boxes: Tensor,
        asked: Tensor,
        mask: Tensor,
        table: Tensor,
        ids: Tensor,
    ) -> Tensor:
        found = points.new_empty(ids.shape)
        lengths = points.new_empty(*ids.shape, points.shape[1])
        known = _arrays(points, boxes, asked, mask)
        run = partial(_lengths, known, array(table), array(ids), array(lengths), array(found))
        run_questions(run, len(points))
        ctx.save_for_backward(points, boxes, asked, mask, table, ids, lengths)
        return found

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, Tensor, None, None, Tensor, None]:
        points, boxes, asked, mask, table, ids, lengths = ctx.saved_tensors
        of_points, of_boxes = torch.zeros_like(points), torch.zeros_like(boxes)
        of_table = torch.zeros_like(table)
        known, t, i = _arrays(points, boxes, asked, mask), array(table), array(ids)
        steep = array(slope[:, :, None] / lengths)
        out = (array(of_points), array(of_boxes))
        run_questions(partial(_question_slopes, known, t, i, steep, out), len(points))
        pairs = pairs_of_rows(i, len(t))
        run_rows(partial(_row_slopes, known, t, pairs, steep, array(of_table)), pairs)
        return of_points, of_boxes, None, None, of_table, None


@part_of_kernels
def _place(point: Array, move: Array, out: Array) -> None:
    """Tanh of their sum."""
    one = out.dtype.type(1)
    for c in range(len(out)):
        z = point[c] + move[c]
        small = exp_nonpositive(-(abs(z) + abs(z)))
        size = (one - small) / (one + small)
        out[c] = size if z >= 0 else -size


@reducing_part
def _length(place: Array, box: Array) -> Any:
    """Of delta."""
    dim, one, half = len(place), place.dtype.type(1), place.dtype.type(0.5)
    total = place.dtype.type(0)
    for c in range(dim):
        v = box[dim + c]
        off, inverse = abs(place[c] - box[c]), one / v
        inside, outside = off * inverse, v * off - half * (v - one) * (v - inverse)
        delta = inside if inside >= outside else outside
        total += delta * delta
    return np.sqrt(total + place.dtype.type(TINY))


@part_of_kernels
def _place_slopes(place: Array, box: Array, steep: Any, out: Array) -> None:
    """How the length grows with each coordinate of a place."""
    dim, one, half = len(place), place.dtype.type(1), place.dtype.type(0.5)
    for c in range(dim):
        v, way = box[dim + c], place[c] - box[c]
        off, inverse = abs(way), one / v
        inside, outside = off * inverse, v * off - half * (v - one) * (v - inverse)
        slope = inside * inverse if inside >= outside else outside * v
        out[c] = steep * (slope if way >= 0 else -slope)


@part_of_kernels
def _add_side_slopes(place: Array, box: Array, steep: Any, out: Array) -> None:
    """How the length grows with each side of a box."""
    dim, one, half = len(place), place.dtype.type(1), place.dtype.type(0.5)
    for c in range(dim):
        v = box[dim + c]
        off, inverse = abs(place[c] - box[c]), one / v
        inside, outside = off * inverse, v * off - half * (v - one) * (v - inverse)
        bend = half * (v + v - one - inverse * inverse)
        slope = -inside * inside * inverse if inside >= outside else outside * (off - bend)
        out[dim + c] += steep * slope


@part_of_kernels
def _move(known: _Arrays, i: int, slot: int, row: Array) -> Array:
    """What the candidate adds to a point."""
    dim = len(row) // 2
    return row[:dim] if known.asked[i] == slot else row[dim:]


@reducing_kernel
def _lengths(
    known: _Arrays, table: Array, ids: Array, lengths: Array, found: Array, low: int, high: int
) -> None:
    place = np.empty(known.points.shape[2], table.dtype)
    for i in range(low, high):
        for k in range(ids.shape[1]):
            total = table.dtype.type(0)
            for slot in range(known.mask.shape[1]):
                lengths[i, k, slot] = table.dtype.type(1)
                if known.mask[i, slot]:
                    _place(known.points[i, slot], _move(known, i, slot, table[ids[i, k]]), place)
                    lengths[i, k, slot] = _length(place, known.boxes[i, slot])
                    total += lengths[i, k, slot]
            found[i, k] = total


@reducing_kernel
def _all_lengths(known: _Arrays, table: Array, found: Array, low: int, high: int) -> None:
    place = np.empty(known.points.shape[2], table.dtype)
    for first in range(0, len(table), _BLOCK):
        for i in range(low, high):
            for row in range(first, min(first + _BLOCK, len(table))):
                total = table.dtype.type(0)
                for slot in range(known.mask.shape[1]):
                    if known.mask[i, slot]:
                        _place(known.points[i, slot], _move(known, i, slot, table[row]), place)
                        total += _length(place, known.boxes[i, slot])
                found[i, row] = total


@kernel
def _question_slopes(
    known: _Arrays,
    table: Array,
    ids: Array,
    steep: Array,
    out: tuple[Array, Array],
    low: int,
    high: int,
) -> None:
    dim, one = known.points.shape[2], table.dtype.type(1)
    place, slopes = np.empty(dim, table.dtype), np.empty(dim, table.dtype)
    of_points, of_boxes = out
    for i in range(low, high):
        for k in range(ids.shape[1]):
            for slot in range(known.mask.shape[1]):
                if not known.mask[i, slot]:
                    continue
                _place(known.points[i, slot], _move(known, i, slot, table[ids[i, k]]), place)
                _place_slopes(place, known.boxes[i, slot], steep[i, k, slot], slopes)
                _add_side_slopes(place, known.boxes[i, slot], steep[i, k, slot], of_boxes[i, slot])
                for c in range(dim):
                    of_boxes[i, slot, c] -= slopes[c]
                for c in range(dim):
                    of_points[i, slot, c] += slopes[c] * (one - place[c] * place[c])


@kernel
def _row_slopes(
    known: _Arrays,
    table: Array,
    pairs: RowPairs,
    steep: Array,
    out: Array,
    low: int,
    high: int,
) -> None:
    dim, width, one = known.points.shape[2], steep.shape[1], table.dtype.type(1)
    place, slopes = np.empty(dim, table.dtype), np.empty(dim, table.dtype)
    for row in range(low, high):
        for pair in range(pairs.starts[row], pairs.starts[row + 1]):
            i, k = pairs.order[pair] // width, pairs.order[pair] % width
            for slot in range(known.mask.shape[1]):
                if not known.mask[i, slot]:
                    continue
                _place(known.points[i, slot], _move(known, i, slot, table[row]), place)
                _place_slopes(place, known.boxes[i, slot], steep[i, k, slot], slopes)
                mine = _move(known, i, slot, out[row])
                for c in range(dim):
                    mine[c] += slopes[c] * (one - place[c] * place[c])
