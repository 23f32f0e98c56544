"""From scores to ranked answers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hyperfact.errors import NumericalError
from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.ragged import Array, owners_of
from hyperfact.predict.answers import Answers, Request
from hyperfact.predict.calibration import Calibration
from hyperfact.predict.knowledge import KnownRows
from hyperfact.predict.questions import AnyQuestion
from hyperfact.predict.scoring import top

_NONE = float("-inf")  # no candidate
_ROWS = 8


@dataclass(frozen=True)
class Place:
    """Where one answer stands, ranked as `evaluate` ranks: other known answers do not compete."""

    rank: float  # 1 + rivals above + half of the equal ones
    candidates: int
    score: float
    probability: float


def rank(
    questions: Sequence[AnyQuestion],
    scores: Tensor,
    known: KnownRows,
    *,
    names: Vocabulary,
    request: Request,
    fitted: Calibration | None,
) -> list[Answers]:
    """The best answers of each question.

    Args:
        questions: As they were asked.
        scores: Of all candidates, minus infinity for those that are none; may be changed.
        known: Their known answers.
        names: Of the candidates.
        request: How many, and what to do with known ones.
        fitted: From scores to probabilities; None: by a plain softmax.
    """
    beta, doubt = (1.0, 0.0) if fitted is None else (1.0 / fitted.temperature, fitted.doubt)
    if request.known == "remove":
        _forbid(scores, known)
    totals = log_partition(scores, beta).numpy()  # (questions,)
    partial = request.known == "remove" or request.restrict_range
    counts = (scores > _NONE).sum(dim=1).tolist() if partial else [scores.shape[1]] * len(scores)
    chosen = _chosen(scores, known, request)
    where = _where(chosen, known)
    return [
        Answers(
            questions[row],
            names,
            ids,
            ranks,
            values,
            (1.0 - doubt) * np.exp(beta * values - totals[row]) + doubt / max(1, counts[row]),
            where[row],
            counts[row],
            fitted is not None,
        )
        for row, (ids, ranks, values) in enumerate(chosen)
    ]


def log_partition(scores: Tensor, beta: float) -> Tensor:  # (rows,)
    """The log of sum_e exp(beta s_e); a few rows at a time, which stay in the cache."""
    memory = scores.new_empty(min(_ROWS, len(scores)), scores.shape[1])
    parts = []
    for start in range(0, len(scores), _ROWS):
        some = scores[start : start + _ROWS]
        best = some.amax(dim=1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
        work = torch.sub(some, best, out=memory[: len(some)]).mul_(beta).exp_()
        parts.append(work.sum(dim=1).log() + beta * best[:, 0])
    return torch.cat(parts)


def _forbid(scores: Tensor, known: KnownRows) -> None:
    """Known answers stop being candidates."""
    scores[torch.from_numpy(owners_of(known.offsets)), torch.from_numpy(known.ids)] = _NONE


Chosen = tuple[Array, Array, Array]  # ids, ranks and scores of the answers of one question


def _chosen(scores: Tensor, known: KnownRows, request: Request) -> list[Chosen]:
    """The answers to show, of each question; scores of hidden ones are changed."""
    if request.known == "only":
        return [_known_ones(row, known.of(i)[0], request.k) for i, row in enumerate(scores)]
    if request.known == "hide":
        _forbid(scores, known)
    return _best(scores, request.k)


def _where(chosen: Sequence[Chosen], known: KnownRows) -> list[tuple[tuple[str, ...], ...]]:
    """In which splits each answer is known."""
    lengths = [len(ids) for ids, _, _ in chosen]
    rows = np.repeat(np.arange(len(chosen)), lengths)
    bits = known.splits_of(rows, np.concatenate([ids for ids, _, _ in chosen]))
    names = [known.named(b) for b in range(1 << len(known.names))]
    parts = np.split(bits, np.cumsum(lengths)[:-1])
    return [tuple(names[b] for b in part.tolist()) for part in parts]


def _best(scores: Tensor, k: int) -> list[Chosen]:
    """The k best candidates of each row."""
    columns, values = (t.numpy() for t in top(scores, k))  # (rows, k)
    ranks = np.arange(1, columns.shape[1] + 1)
    counts = (values > _NONE).sum(axis=1).tolist()
    return [(columns[i, :n], ranks[:n], values[i, :n]) for i, n in enumerate(counts)]


def _known_ones(scores: Tensor, known: Array, k: int) -> Chosen:
    """The k best known answers, with the places they have among all candidates."""
    known = known[scores.numpy()[known] > _NONE]
    places = torch.empty(len(scores), dtype=torch.int64)
    places[torch.sort(scores, descending=True, stable=True)[1]] = torch.arange(1, len(scores) + 1)
    ranks = places.numpy()[known]
    order = np.argsort(ranks)[:k]
    return known[order], ranks[order], scores.numpy()[known[order]]


def place_among(scores: Tensor, answer: int, *, known: Array, fitted: Calibration | None) -> Place:
    """Where an answer stands among these scores, known ones filtered."""  # (candidates,)
    refuse_unusable(scores)
    score = scores[answer].clone()
    rivals = scores.clone()
    rivals[torch.from_numpy(known)] = _NONE
    rivals[answer] = _NONE
    beta, doubt = (1.0, 0.0) if fitted is None else (1.0 / fitted.temperature, fitted.doubt)
    total = torch.logaddexp((rivals * beta).logsumexp(dim=0), score * beta)
    equal = int((rivals == score).sum())
    candidates = 1 + int((rivals > _NONE).sum())
    return Place(
        1.0 + int((rivals > score).sum()) + 0.5 * equal,
        candidates,
        float(score),
        (1.0 - doubt) * float(torch.exp(score * beta - total)) + doubt / candidates,
    )


def refuse_unusable(scores: Tensor) -> None:
    """Stop at a NaN or an infinity; one sum finds it anywhere.

    Raises:
        NumericalError: There is one.
    """
    if not bool(torch.isfinite(scores.sum())):
        raise NumericalError("a score of this model is not a finite number")
