"""Pairs of a question and a row of a table: which belong to a row, so that it sums its slopes."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hyperfact.kernels.jit import Array
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
    order = np.argsort(ids, axis=None, kind="stable")
    return RowPairs(np.searchsorted(ids.ravel()[order], np.arange(rows + 1)), order)


def run_questions(task: Callable[[int, int], None], count: int) -> None:
    """A kernel that owns what belongs to a question, on all threads."""
    parallel_rows(task, even_bounds(count))


def run_rows(task: Callable[[int, int], None], pairs: RowPairs) -> None:
    """A kernel that owns what belongs to a row, on all threads."""
    parallel_rows(task, ragged_bounds(pairs.starts))
