"""Cross-entropy of queries with several answers, its gradient written over the logits.

For a query with logits s over n entities and answers A, label smoothing e, and C_a the candidates
of answer a (all entities, or all but the other answers), the loss is the mean over a in A of
`log sum_{j in C_a} exp s_j - (1 - e) s_a - e / |C_a| sum_{j in C_a} s_j`.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from hyperfact.errors import ConfigError, DataError
from hyperfact.kernels.buffers import array
from hyperfact.kernels.exponential import exp_nonpositive
from hyperfact.kernels.jit import Array, comparing_part, kernel, part_of_kernels, reducing_part
from hyperfact.kernels.ragged_checks import check_ragged
from hyperfact.kernels.threads import even_bounds, parallel_rows


class _Task(NamedTuple):
    """What a kernel needs beside the logits; NumPy's side of `Targets` and `SoftmaxOptions`."""

    offsets: Array  # (batch + 1,)
    answers: Array  # (offsets[-1],)
    held: Array  # (offsets[-1],) room for the logits of answers
    weights: Array  # (batch,) float64
    mask: bool
    smoothing: float
    gradient: bool


class _Row(NamedTuple):
    """One row: its place, its answers, and the sums over its logits."""

    i: int
    answers: Array
    held: Array
    weight: float
    total: float  # of the logits, where smoothing needs it
    top: float  # the largest logit that is not masked
    mass: float  # of exp(logit - top)


class Part(NamedTuple):
    """Which candidates are scored here, where several share them, and how the others are heard."""

    columns: slice
    candidates: int  # of all parts
    widest: int  # candidates in the largest part
    combine: Callable[[Tensor], Tensor]  # what all parts say, in their order, of what this one says

    @classmethod
    def all(cls, candidates: int) -> "Part":
        """Everybody is here."""
        return cls(slice(0, candidates), candidates, candidates, lambda numbers: numbers[None])


@dataclass(frozen=True)
class SoftmaxOptions:
    """How a query is judged.

    Attributes:
        mask_others: Leave the other answers of a query out of an answer's denominator.
        smoothing: The share of the target that all candidates divide between them, in [0, 1).
        part: Which candidates the scores are of; None: all of them.
    """

    mask_others: bool = False
    smoothing: float = 0.0
    part: Part | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.smoothing < 1:
            raise ConfigError(f"label smoothing must be in [0, 1), got {self.smoothing}")


class Targets(NamedTuple):
    """The answers of each query, distinct within it; a query without answers has loss 0."""

    offsets: Tensor  # (batch + 1,)
    answers: Tensor  # (offsets[-1],) entity ids
    weights: Tensor | None = None  # (batch,) factor of each query's loss; 1 where absent

    @classmethod
    def one_each(cls, answers: Tensor) -> "Targets":
        """One answer for each query."""
        return cls(torch.arange(len(answers) + 1, device=answers.device), answers)

    def rows(self, part: slice) -> "Targets":
        """Of these queries only."""
        offsets = self.offsets[part.start : part.stop + 1]
        first, last = int(offsets[0]), int(offsets[-1])
        weights = None if self.weights is None else self.weights[part]
        return Targets(offsets - first, self.answers[first:last], weights)

    def check(self, rows: int, columns: int) -> None:
        """Raise `DataError` where the targets do not fit (rows, columns) logits."""
        check_ragged(self.offsets, self.answers, rows=rows, columns=columns)
        if self.weights is not None and self.weights.shape != (rows,):
            raise DataError(f"expected {rows} weights, got {tuple(self.weights.shape)}")


def softmax_loss_(
    logits: Tensor,  # (batch, entities) float32, float64 or bfloat16, overwritten
    targets: Targets,
    *,
    options: SoftmaxOptions,
    gradient: bool = True,
) -> Tensor:  # (batch,)
    """Compute the loss of each query and overwrite the logits by the gradient of their sum.

    Args:
        logits: On the CPU, contiguous. bfloat16 is read and written as such and computed in
            float32.
        targets: The answers.
        options: How a query is judged.
        gradient: Whether the gradient is wanted; without it the logits are overwritten by
            intermediate results.

    Raises:
        DataError: Targets that do not fit, or logits that no kernel takes.
    """
    if not logits.is_contiguous() or logits.device.type != "cpu":
        raise DataError("softmax_loss_ overwrites contiguous logits on the CPU")
    targets.check(*logits.shape)
    half = logits.dtype == torch.bfloat16
    matrix = array(logits.view(torch.int16)).view(np.uint16) if half else array(logits)
    dtype = np.dtype(np.float32) if half else matrix.dtype
    weights = torch.ones(len(logits)) if targets.weights is None else targets.weights.detach()
    losses = np.empty(len(logits), dtype=dtype)
    task = _Task(
        array(targets.offsets.long()),
        array(targets.answers.long()),
        np.empty(len(targets.answers), dtype=dtype),
        array(weights.double()),
        options.mask_others,
        float(options.smoothing),
        gradient,
    )
    run = _half_rows if half else _rows
    parallel_rows(
        lambda low, high: run(matrix, task, losses, low, high),
        even_bounds(len(logits)),
    )
    return torch.from_numpy(losses)


@kernel
def _rows(s: Array, task: _Task, losses: Array, low: int, high: int) -> None:
    for i in range(low, high):
        losses[i] = _row(s, i, task, i)


@kernel
def _half_rows(s: Array, task: _Task, losses: Array, low: int, high: int) -> None:
    """The same on bfloat16, whose bits are the upper half of a float32's."""
    row = np.empty((1, s.shape[1]), dtype=np.float32)
    for i in range(low, high):
        for j in range(s.shape[1]):
            row[0, j] = np.uint32(np.uint32(s[i, j]) << np.uint32(16)).view(np.float32)
        losses[i] = _row(row, 0, task, i)
        for j in range(s.shape[1]):
            bits = np.float32(row[0, j]).view(np.uint32)
            even = np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))
            s[i, j] = np.uint16(np.uint32(bits + even) >> np.uint32(16))


@part_of_kernels
def _row(s: Array, i: int, task: _Task, query: int) -> float:
    """The loss of a query with its logits in row i, which become the gradient."""
    low, high = task.offsets[query], task.offsets[query + 1]
    answers, held = task.answers[low:high], task.held[low:high]
    if low == high:
        s[i, :] = 0
        return 0.0
    for k in range(len(answers)):
        held[k] = s[i, answers[k]]
        if task.mask:
            s[i, answers[k]] = 0  # for the sum below
    total = float(_row_sum(s, i)) if task.smoothing > 0 else 0.0
    if task.mask:
        for answer in answers:
            s[i, answer] = -np.inf  # out of the maximum and of the denominator
    top = row_max(s, i)
    alone = task.mask and top == -np.inf  # every entity is an answer
    mass = 0.0 if alone else float(exponentiate(s, i, top))
    row = _Row(i, answers, held, task.weights[query], total, 0.0 if alone else float(top), mass)
    return _finish_masked(s, row, task) if task.mask else _finish(s, row, task)


@part_of_kernels
def _finish(s: Array, row: _Row, task: _Task) -> float:
    share, mean = task.smoothing / s.shape[1], 0.0
    for value in row.held:
        mean += float(value) / len(row.held)
    if task.gradient:
        _scale(s, row.i, row.weight / row.mass, row.weight * share)
        for answer in row.answers:
            s[row.i, answer] -= row.weight * (1 - task.smoothing) / len(row.answers)
    loss: float = row.top + math.log(row.mass) - (1 - task.smoothing) * mean - share * row.total
    return row.weight * loss


@part_of_kernels
def _finish_masked(s: Array, row: _Row, task: _Task) -> float:
    """Each answer has a denominator of its own: the mass of other entities, and itself."""
    count, sure = len(row.answers), 1 - task.smoothing
    share = task.smoothing / (s.shape[1] - count + 1)
    loss, inverse = 0.0, 0.0
    for k in range(count):
        score = float(row.held[k])
        surprise = _surprise(score - row.top, row.mass)
        loss += surprise + task.smoothing * score - share * (row.total + score)
        if row.mass > 0:
            inverse += 1 / (row.mass + math.exp(score - row.top))
        row.held[k] = (math.exp(-surprise) - sure - share) * row.weight / count
    if task.gradient:
        _scale(s, row.i, inverse * row.weight / count, row.weight * share)
        for k in range(count):
            s[row.i, row.answers[k]] = row.held[k]
    return row.weight * loss / count


@part_of_kernels
def _surprise(gap: float, mass: float) -> float:
    """-log(e^gap / (e^gap + mass)), where neither overflows."""
    if mass == 0:
        return 0.0
    if gap > 0:
        return math.log1p(mass * math.exp(-gap))
    return math.log(mass + math.exp(gap)) - gap


@comparing_part
def row_max(s: Array, i: int) -> float:
    """The largest number of a row."""
    top: float = s[i, 0]
    for j in range(s.shape[1]):
        top = max(top, s[i, j])
    return top


@reducing_part
def _row_sum(s: Array, i: int) -> float:
    total: float = s.dtype.type(0)
    for j in range(s.shape[1]):
        total += s[i, j]
    return total


@reducing_part
def exponentiate(s: Array, i: int, top: float) -> float:
    """Overwrite a row by exp(s - top) and return the sum."""
    mass: float = s.dtype.type(0)
    for j in range(s.shape[1]):
        value = exp_nonpositive(s[i, j] - top)
        s[i, j] = value
        mass += value
    return mass


@part_of_kernels
def _scale(s: Array, i: int, factor: float, shift: float) -> None:
    times, minus = s.dtype.type(factor), s.dtype.type(shift)
    for j in range(s.shape[1]):
        s[i, j] = s[i, j] * times - minus
