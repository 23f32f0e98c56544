"""Pairs of a question and a row of a table, in the order in which kernels walk them.

Slopes of a row are summed by who owns the row, those of a question by who owns the question. Where
rows are long, questions are walked a block at a time, row after row, so that what the questions of
a block know stays in the cache and a row is fetched once for all of them.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hyperfact.kernels.jit import Array, kernel
from hyperfact.kernels.threads import even_bounds, parallel_rows, ragged_bounds


class RowPairs(NamedTuple):
    """Pairs, numbered question after question, row after row."""

    starts: Array  # (rows + 1,) where those of each row begin
    order: Array  # (pairs,)


def pairs_of_rows(ids: Array, rows: int) -> RowPairs:
    """Group pairs by row.

    Args:
        ids: Rows for each question.  # (batch, k)
        rows: How many there are.
    """
    starts, order = np.zeros(rows + 1, np.int64), np.empty(ids.size, np.int64)
    _sort(ids, max(1, len(ids)), starts, order)
    return RowPairs(starts, order)


def pairs_of_blocks(ids: Array, rows: int, block: int) -> Array:  # (pairs,)
    """Pairs of so many questions at a time, row after row."""
    order = np.empty(ids.size, np.int64)
    _sort(ids, block, np.zeros(rows + 1, np.int64), order)
    return order


def run_questions(task: Callable[[int, int], None], count: int) -> None:
    """A kernel that owns what belongs to a question, on all threads."""
    parallel_rows(task, even_bounds(count))


def run_blocks(task: Callable[[int, int], None], ids: Array, block: int) -> None:
    """The same for places in the order of blocks, whose questions stay together."""
    bounds = np.append(np.arange(0, len(ids), block), len(ids))
    parallel_rows(task, bounds * ids.shape[1])


def run_rows(task: Callable[[int, int], None], pairs: RowPairs) -> None:
    """A kernel that owns what belongs to a row, on all threads."""
    parallel_rows(task, ragged_bounds(pairs.starts))


@kernel
def _sort(ids: Array, block: int, starts: Array, order: Array) -> None:
    """By counting; `starts` are left as those of the last block."""
    width, rows = ids.shape[1], len(starts) - 1
    place = np.empty(rows, np.int64)
    for first in range(0, len(ids), block):
        last = min(first + block, len(ids))
        starts[:] = 0
        for i in range(first, last):
            for k in range(width):
                starts[ids[i, k] + 1] += 1
        for row in range(rows):
            starts[row + 1] += starts[row]
            place[row] = starts[row] + first * width
        for i in range(first, last):
            for k in range(width):
                row = ids[i, k]
                order[place[row]] = i * width + k
                place[row] += 1
