"""The cross-entropy of `softmax_loss_` in plain PyTorch: on any device, over a part of the columns.

Whoever holds a part of the candidates learns of the others three numbers a query (the largest
score, the sum of exponentials, the sum of scores) and the scores of the answers. From these the
loss follows, and the gradient of the own part; no matrix of scores is ever gathered.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from hyperfact.kernels.softmax import Part, SoftmaxOptions, Targets


class _Answers(NamedTuple):
    """The answers of a block of queries."""

    owner: Tensor  # (answers,) row of the query
    counts: Tensor  # (rows,) of answers, at least 1
    is_here: Tensor  # (answers,) bool
    place: Tensor  # (answers here,) in the flat scores
    weights: Tensor  # (rows,) 0 without an answer


class _Sums(NamedTuple):
    """Over all candidates of each query, in float64."""

    top: Tensor  # (rows,) the largest score that is not masked
    mass: Tensor  # (rows,) of exp(score - top)
    total: Tensor  # (rows,) of scores
    held: Tensor  # (answers,) their scores
    share: Tensor  # (rows,) what exp(score - own top) is multiplied with to be relative to `top`


def divided_softmax_loss_(
    logits: Tensor,  # (rows, columns), overwritten
    targets: Targets,
    *,
    options: SoftmaxOptions,
    gradient: bool = True,
) -> Tensor:  # (rows,)
    """See `softmax.softmax_loss_`; the loss over all parts, the gradient of the own columns.

    Args:
        logits: Of the candidates of this part.
        targets: The answers, by their numbers among all candidates.
        options: How a query is judged, and which part this is; without one all are here.
        gradient: Whether the gradient is wanted.
    """
    part = options.part or Part.all(logits.shape[1])
    work = logits.float() if logits.dtype == torch.bfloat16 else logits
    answers = _answers_of(work, targets, part)
    sums = _sums_of(work, answers, options, part)
    judge = _judge_masked if options.mask_others else _judge
    losses, factor, shift, slopes = judge(sums, answers, options, part.candidates)
    if gradient:
        scale = (factor * sums.share * answers.weights)[:, None].to(work)
        work.mul_(scale).sub_((shift * answers.weights)[:, None].to(work))
        flat = work.view(-1)
        kept = 0.0 if options.mask_others else flat.index_select(0, answers.place)
        weighed = slopes * answers.weights.index_select(0, answers.owner)
        flat.index_copy_(0, answers.place, weighed[answers.is_here].to(work) + kept)
        if work is not logits:
            logits.copy_(work)
    return (losses * answers.weights).to(work.dtype)


def _answers_of(logits: Tensor, targets: Targets, part: Part) -> _Answers:
    rows, columns = logits.shape
    counts = targets.offsets.diff()
    owner = torch.arange(rows).to(counts).repeat_interleave(counts)
    low, high = part.columns.start, part.columns.stop
    is_here = (targets.answers >= low) & (targets.answers < high)
    place = (owner * columns + targets.answers - low)[is_here]
    weights = torch.ones(rows).double() if targets.weights is None else targets.weights.double()
    weights = torch.where(counts.to(weights.device) > 0, weights, 0.0)
    found = (owner, counts.clamp(min=1), is_here, place, weights)
    return _Answers(*(t.to(logits.device) for t in found))


def _sums_of(logits: Tensor, answers: _Answers, options: SoftmaxOptions, part: Part) -> _Sums:
    """Exponentiates the scores in place."""
    rows, flat = len(logits), logits.view(-1)
    held = torch.zeros(len(answers.owner), dtype=torch.float64, device=logits.device)
    held[answers.is_here] = flat.index_select(0, answers.place).double()
    if options.mask_others:
        flat.index_fill_(0, answers.place, 0.0)  # for the sum below
    total = logits.sum(dim=1).double() if options.smoothing else held.new_zeros(rows)
    if options.mask_others:
        flat.index_fill_(0, answers.place, -torch.inf)  # out of the maximum and the denominator
    top = logits.amax(dim=1) if logits.shape[1] else logits.new_full((rows,), -torch.inf)
    floor = torch.where(torch.isneginf(top), 0.0, top)
    logits.sub_(floor[:, None]).exp_()
    mass = logits.sum(dim=1).double()
    said = part.combine(torch.cat([top.double(), mass, total, held]))  # (parts, numbers)
    tops, masses, totals = (said[:, rows * i : rows * (i + 1)] for i in range(3))
    highest = tops.amax(dim=0)
    highest = torch.where(torch.isneginf(highest), 0.0, highest)
    whole = (masses * (tops - highest).exp()).sum(dim=0)
    share = (floor.double() - highest).exp()
    return _Sums(highest, whole, totals.sum(dim=0), said[:, 3 * rows :].sum(dim=0), share)


_Judged = tuple[Tensor, Tensor, Tensor, Tensor]  # loss, factor, shift of rows; slope of answers


def _judge(sums: _Sums, answers: _Answers, options: SoftmaxOptions, candidates: int) -> _Judged:
    """All answers share a denominator; a slope is added to what the softmax gives."""
    counts = answers.counts.double()
    sure, share = 1 - options.smoothing, options.smoothing / max(1, candidates)
    mean = torch.zeros_like(sums.mass).index_add(0, answers.owner, sums.held) / counts
    losses = sums.top + sums.mass.log() - sure * mean - share * sums.total
    slopes = -sure / counts.index_select(0, answers.owner)
    return losses, 1 / sums.mass, torch.full_like(losses, share), slopes


def _judge_masked(
    sums: _Sums, answers: _Answers, options: SoftmaxOptions, candidates: int
) -> _Judged:
    """Each answer has a denominator of its own: the mass of other entities, and itself."""
    counts, owner = answers.counts.double(), answers.owner
    sure, share = 1 - options.smoothing, options.smoothing / (candidates - counts + 1)
    mass, mine = sums.mass.index_select(0, owner), share.index_select(0, owner)
    gap = sums.held - sums.top.index_select(0, owner)
    surprise = torch.logaddexp(mass.log(), gap) - gap
    even = mine * (sums.total.index_select(0, owner) + sums.held)
    each = surprise + options.smoothing * sums.held - even  # (answers,)
    inverse = torch.where(mass > 0, 1 / (mass + gap.exp()), 0.0)
    rows = torch.zeros_like(sums.mass)
    losses = rows.index_add(0, owner, each) / counts
    factor = rows.index_add(0, owner, inverse) / counts
    slopes = (torch.exp(-surprise) - sure - mine) / counts.index_select(0, owner)
    return losses, factor, share, slopes
