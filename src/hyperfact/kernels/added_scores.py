"""Weighted rows of a sparse table added to scores: `score[i, :] += sum_t weight_t * row_t`.

Each query has terms, and each term one row of a ragged table. Rows are long and few distinct ones
matter at once, so that nothing is ever expanded: a kernel walks the rows where they lie.
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
from hyperfact.kernels.jit import Array, kernel, part_of_kernels
from hyperfact.kernels.sparse_rows import AddedScores, SparseRows
from hyperfact.kernels.threads import even_bounds, parallel_rows


class _Terms(NamedTuple):
    """One part of `AddedScores` as NumPy sees it."""

    offsets: Array  # (batch + 1,)
    weights: Array  # (terms,)
    rows: Array  # (terms,)
    starts: Array  # (rows of the table + 1,)
    columns: Array  # (entries,)
    values: Array  # (entries,)
    places: Array  # (columns of the table,)


def added_scores(added: AddedScores) -> Tensor:  # (batch, candidates)
    """The sums alone, for scores that exist as a matrix."""
    if not has_kernels(added.weights):
        return reference.added_scores(added)
    return apply(_Added, added.weights, added)


def add_to(scores: Tensor, added: AddedScores, *, first: int = 0) -> None:
    """Add the sums to the scores of queries from the `first` on; no gradient is kept.

    Args:
        scores: On the CPU, contiguous, float32, float64 or bfloat16.  # (some queries, candidates)
        added: Of all queries.
        first: The query in row 0 of the scores.
    """
    matrix, half = _matrix(scores)
    run = _add_half if half else _add
    for terms in _parts(added):
        some = partial(run, matrix, terms, first)
        parallel_rows(some, even_bounds(len(scores)))


def gather_from(slope: Tensor, added: AddedScores, total: Tensor, *, first: int = 0) -> None:
    """Write the gradient of the weights of these queries, from that of their scores.

    Args:
        slope: As `scores` of `add_to`.
        added: Of all queries.
        total: Where the gradient of each weight is written.  # (terms,)
        first: The query in row 0 of the slope.
    """
    matrix, half = _matrix(slope)
    run, out = (_gather_half if half else _gather), total.detach().numpy()
    part = added.offsets[[first, first + len(slope)]].tolist()
    out[part[0] : part[1]] = 0
    for terms in _parts(added):
        some = partial(run, matrix, terms, out, first)
        parallel_rows(some, even_bounds(len(slope)))


class _Added(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weights: Tensor, added: AddedScores) -> Tensor:
        ctx.added = added
        scores = weights.new_zeros(len(added), added.candidates)
        add_to(scores, added)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor, None]:
        total = torch.zeros_like(ctx.added.weights)
        gather_from(slope.contiguous(), ctx.added, total)
        return total, None


def _matrix(scores: Tensor) -> tuple[Array, bool]:
    """The scores as NumPy sees them, and whether they are the upper halves of float32."""
    half = scores.dtype == torch.bfloat16
    seen = array(scores.view(torch.int16)).view(np.uint16) if half else array(scores)
    return seen, half


def _parts(added: AddedScores) -> list[_Terms]:
    def terms(rows: Tensor, table: SparseRows) -> _Terms:
        numbers = (added.offsets, added.weights, rows, *table, added.places)
        return _Terms(*(array(t) for t in numbers))

    return [terms(rows, table) for rows, table in added.parts]


@part_of_kernels
def _read(bits: int) -> np.float32:
    return np.uint32(np.uint32(bits) << np.uint32(16)).view(np.float32)


@kernel
def _add(scores: Array, terms: _Terms, first: int, low: int, high: int) -> None:
    for i in range(low, high):
        for t in range(terms.offsets[first + i], terms.offsets[first + i + 1]):
            row, weight = terms.rows[t], terms.weights[t]
            for p in range(terms.starts[row], terms.starts[row + 1]):
                place = terms.places[terms.columns[p]]
                if place >= 0:
                    scores[i, place] += weight * terms.values[p]


@kernel
def _add_half(scores: Array, terms: _Terms, first: int, low: int, high: int) -> None:
    """The same on bfloat16, rounded to even after each term."""
    for i in range(low, high):
        for t in range(terms.offsets[first + i], terms.offsets[first + i + 1]):
            row, weight = terms.rows[t], terms.weights[t]
            for p in range(terms.starts[row], terms.starts[row + 1]):
                place = terms.places[terms.columns[p]]
                if place >= 0:
                    total = np.float32(_read(scores[i, place]) + weight * terms.values[p])
                    bits = total.view(np.uint32)
                    even = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
                    scores[i, place] = np.uint16(np.uint32(bits + even) >> np.uint32(16))


@kernel
def _gather(slope: Array, terms: _Terms, out: Array, first: int, low: int, high: int) -> None:
    for i in range(low, high):
        for t in range(terms.offsets[first + i], terms.offsets[first + i + 1]):
            row, total = terms.rows[t], 0.0
            for p in range(terms.starts[row], terms.starts[row + 1]):
                place = terms.places[terms.columns[p]]
                if place >= 0:
                    total += slope[i, place] * terms.values[p]
            out[t] += total


@kernel
def _gather_half(slope: Array, terms: _Terms, out: Array, first: int, low: int, high: int) -> None:
    """The same from bfloat16."""
    for i in range(low, high):
        for t in range(terms.offsets[first + i], terms.offsets[first + i + 1]):
            row, total = terms.rows[t], 0.0
            for p in range(terms.starts[row], terms.starts[row + 1]):
                place = terms.places[terms.columns[p]]
                if place >= 0:
                    total += _read(slope[i, place]) * terms.values[p]
            out[t] += total
