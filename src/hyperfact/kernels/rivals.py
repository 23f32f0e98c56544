"""Count the rivals of each target: how many candidates score more, how many exactly the same.

The target's score is read from the same matrix as its rivals', and compared in the same dtype; who
holds a part of the columns only is told the scores of targets that lie in other parts.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hyperfact.kernels import reference
from hyperfact.kernels.buffers import array
from hyperfact.kernels.dispatch import has_kernels
from hyperfact.kernels.jit import Array, kernel, part_of_kernels
from hyperfact.kernels.ragged_checks import check_ragged
from hyperfact.kernels.threads import even_bounds, parallel_rows

_BLOCK = 4096  # columns counted in 32 bits before they are added up


class RankCounts(NamedTuple):
    """Rivals of each target, without the target itself and without the filtered candidates."""

    greater: Tensor  # (batch,) int64
    equal: Tensor  # (batch,) int64
    finite: Tensor  # (batch,) bool: no score of the row, filtered ones included, is NaN or infinite


def count_rivals(
    scores: Tensor,  # (batch, candidates)
    targets: Tensor,  # (batch,)
    *,
    offsets: Tensor,  # (batch + 1,)
    filtered: Tensor,  # (offsets[-1],)
    rows: Tensor | None = None,  # (batch,)
    held: Tensor | None = None,  # (batch,)
) -> RankCounts:
    """Count the candidates that score more than, or the same as, the target of their row.

    Args:
        scores: Of each candidate.
        targets: Its column in each row.
        offsets: Where the filtered columns of each target begin and end.
        filtered: Columns that do not compete, distinct within a row; the target may be among them.
        rows: The row of each target, where several share one; None: one target a row.
        held: The score of each target, where the column of some is -1: in another part.

    Raises:
        DataError: Shapes that do not fit, or a column that does not exist.
    """
    rows = torch.arange(len(scores)) if rows is None else rows
    count = len(rows)
    check_ragged(offsets, filtered, rows=count, columns=scores.shape[1])
    ones = torch.arange(count + 1)
    here = targets if held is None else targets.clamp(min=0)  # whoever is not here is no column
    check_ragged(ones, here, rows=count, columns=scores.shape[1] + (held is not None))
    check_ragged(ones, rows, rows=count, columns=len(scores))
    rows, targets, offsets, filtered = (
        t.to(scores.device).long() for t in (rows, targets, offsets, filtered)
    )
    if held is None:
        held = scores.flatten().index_select(0, rows * scores.shape[1] + targets)
    held = held.to(scores)
    if not has_kernels(scores):
        picked = scores.index_select(0, rows)
        return RankCounts(*reference.count_rivals(picked, targets, offsets, filtered, held))
    counts = np.empty((count, 3), dtype=np.int64)
    matrix, true = array(scores), array(held)
    row, target, start, columns = (array(t) for t in (rows, targets, offsets, filtered))
    parallel_rows(
        lambda low, high: _count(matrix, true, row, target, start, columns, counts, low, high),
        even_bounds(count),
    )
    greater, equal, unusable = torch.from_numpy(counts).unbind(dim=1)
    return RankCounts(greater, equal, unusable == 0)


@kernel
def _count(
    scores: Array,
    held: Array,
    rows: Array,
    targets: Array,
    offsets: Array,
    filtered: Array,
    counts: Array,
    low: int,
    high: int,
) -> None:
    for i in range(low, high):
        row, target = rows[i], targets[i]
        score = held[i]
        greater, equal, unusable = 0, -int(target >= 0), 0  # the target equals itself
        for start in range(0, scores.shape[1], _BLOCK):
            stop = min(start + _BLOCK, scores.shape[1])
            more, same, wrong = _count_block(scores, row, start, stop, score)
            greater, equal, unusable = greater + more, equal + same, unusable + wrong
        for j in range(offsets[i], offsets[i + 1]):
            if filtered[j] != target:
                greater -= scores[row, filtered[j]] > score
                equal -= scores[row, filtered[j]] == score
        counts[i, 0], counts[i, 1], counts[i, 2] = greater, equal, unusable


@part_of_kernels
def _count_block(
    scores: Array, row: int, start: int, stop: int, score: float
) -> tuple[int, int, int]:
    greater, equal, wrong = np.int32(0), np.int32(0), np.int32(0)
    for column in range(start, stop):
        value = scores[row, column]
        greater += np.int32(value > score)
        equal += np.int32(value == score)
        wrong += np.int32(value - value != 0)  # NaN for NaN and for infinities
    return int(greater), int(equal), int(wrong)
