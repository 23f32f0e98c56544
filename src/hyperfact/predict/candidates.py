"""From scores to ranked answers: who competes, at which rank, with which probability.

The place of one answer (`places`) goes the same way, so that its numbers are the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
import torch
from torch import Tensor

from hyperfact.errors import NumericalError
from hyperfact.graph.ragged import Array, owners_of
from hyperfact.predict.answers import TOLD, Answer, Answers, Request
from hyperfact.predict.calibration import Calibration
from hyperfact.predict.knowledge import Knowledge, KnownRows
from hyperfact.predict.questions import QuestionIds, ResolvedQuestion
from hyperfact.predict.scoring import Scorer, top

_NONE = float("-inf")  # no candidate
_ROWS = 8
_LEAST = -80.0  # exp of it is nothing beside 1, and quicker to compute than that of -inf


# -- scores, and who competes ---------------------------------------------------------------------


def scores_of(
    scorer: Scorer, knowledge: Knowledge, questions: Sequence[QuestionIds]
) -> Tensor:  # (questions, candidates)
    """Scores of questions of one kind: for entities, or for relations."""
    if questions[0].is_relation:
        scores = torch.stack([scorer.relations(q, knowledge.prior(q)) for q in questions])
    else:
        scores = scorer.entities(questions)
    return refuse_unusable(scores)


def refuse_unusable(scores: Tensor) -> Tensor:
    """The same scores, if none is a NaN or an infinity; one sum finds it anywhere.

    Raises:
        NumericalError: There is one.
    """
    if not bool(torch.isfinite(scores.sum())):
        raise NumericalError("a score of this model is not a finite number")
    return scores


def forbid(scores: Tensor, known: KnownRows) -> None:
    """Known answers stop being candidates."""
    scores[torch.from_numpy(owners_of(known.offsets)), torch.from_numpy(known.ids)] = _NONE


def forbid_others(scores: Tensor, known: KnownRows, answers: Tensor) -> None:
    """Known answers but one of each question stop being candidates."""
    right = scores.gather(1, answers[:, None])
    forbid(scores, known)
    scores.scatter_(1, answers[:, None], right)


def restrict(scores: Tensor, knowledge: Knowledge, questions: Sequence[QuestionIds]) -> list[Array]:
    """Only those who were seen in the asked role stay candidates; everybody, where nobody was.

    Returns:
        Who was seen there, for each question.
    """
    ranges = [knowledge.in_range(question) for question in questions]
    for row, ids in zip(scores.numpy(), ranges, strict=True):  # one thread is enough for a row
        if len(ids):
            kept = row[ids]
            row.fill(_NONE)
            row[ids] = kept
    return ranges


@dataclass(frozen=True)
class Softmax:
    """Probabilities of scores, over those who compete for each question.

    p = (1 - d) exp(beta score) / sum + d / n, as `hyperfact.predict.calibration` fits it.
    """

    log_sums: Array  # (questions,) log of the sum of exp(beta score)
    counts: list[int]  # (questions,) who competes
    beta: float = 1.0
    doubt: float = 0.0

    @classmethod
    def of(
        cls, scores: Tensor, fitted: Calibration | None, among: Sequence[Array] | None = None
    ) -> "Softmax":
        """Over these scores, minus infinity for who does not compete.

        Args:
            scores: Of every candidate.  # (questions, candidates)
            fitted: From scores to probabilities; None: a plain softmax.
            among: Who can compete at all, for each question; nobody stands for everybody.
        """
        beta, doubt = (1.0, 0.0) if fitted is None else (1.0 / fitted.temperature, fitted.doubt)
        if among is None:
            counts = np.count_nonzero(scores.numpy() > _NONE, axis=1).tolist()
            return cls(log_partition(scores, beta).numpy(), counts, beta, doubt)
        pairs = zip(scores.numpy(), among, strict=True)
        rows = [row[ids] if len(ids) else row for row, ids in pairs]
        sums = np.array([_log_sum(row, beta) for row in rows])
        return cls(sums, [int(np.count_nonzero(row > _NONE)) for row in rows], beta, doubt)

    def probabilities(self, row: int, scores: Array) -> Array:
        """Of some scores of one question."""
        sure = (1.0 - self.doubt) * np.exp(self.beta * scores - self.log_sums[row])
        result: Array = sure + self.doubt / max(1, self.counts[row])
        return result


def _log_sum(scores: Array, beta: float) -> float:
    """The log of sum_e exp(beta s_e) of one row."""
    best = scores.max(initial=_NONE)
    return (
        float(beta * best + np.log(np.exp(beta * (scores - best)).sum())) if best > _NONE else best
    )


def log_partition(scores: Tensor, beta: float) -> Tensor:  # (rows,)
    """The log of sum_e exp(beta s_e); a few rows at a time, which stay in the cache."""
    memory = scores.new_empty(min(_ROWS, len(scores)), scores.shape[1])
    parts = []
    for start in range(0, len(scores), _ROWS):
        some = scores[start : start + _ROWS]
        best = some.amax(dim=1, keepdim=True)
        finite = best.clamp(min=torch.finfo(scores.dtype).min)
        work = torch.sub(some, finite, out=memory[: len(some)]).mul_(beta).clamp_(min=_LEAST).exp_()
        parts.append(work.sum(dim=1).log() + beta * best[:, 0])
    return torch.cat(parts)


# -- the list of the best answers -----------------------------------------------------------------


def rank(
    questions: Sequence[ResolvedQuestion],
    scores: Tensor,
    knowledge: Knowledge,
    *,
    request: Request,
    fitted: Calibration | None,
) -> list[Answers]:
    """The best answers of each question.

    Args:
        questions: Of one kind: for entities, or for relations.
        scores: Of all candidates; they are changed.
        knowledge: What is known, and who was seen in the asked role.
        request: How many, and what to do with known ones.
        fitted: From scores to probabilities; None: by a plain softmax.
    """
    ids = [question.ids for question in questions]
    known = knowledge.known(ids)
    among = restrict(scores, knowledge, ids) if request.restrict_range else None
    if request.known == "remove":
        forbid(scores, known)
    softmax = Softmax.of(scores, fitted, among)
    chosen = _chosen(scores, known, request)
    where = _where(chosen, known)
    names = knowledge.candidates_of(ids[0])
    lists = [
        Answers(
            questions[row],
            names,
            knowledge.splits.labels,
            found,
            ranks,
            values,
            softmax.probabilities(row, values),
            where[row],
            softmax.counts[row],
            calibrated=fitted is not None,
            shape=knowledge.shapes.likeness(ids[row]),
            seen_role=among is None or len(among[row]) > 0,
        )
        for row, (found, ranks, values) in enumerate(chosen)
    ]
    if request.known != "mark":
        return lists
    return [replace(a, told=_told(a, i, scores[i], known, softmax)) for i, a in enumerate(lists)]


def _told(
    listed: Answers, row: int, scores: Tensor, known: KnownRows, softmax: Softmax
) -> tuple[Answer, ...]:
    """The best of those whom training or added facts name and the list does not."""
    told = known.among(row, ("train", "added"))
    others = np.setdiff1d(told, listed.ids)
    others = others[scores.numpy()[others] > _NONE]
    if not len(others):
        return ()
    found = others[np.argsort(-scores.numpy()[others], kind="stable")[: TOLD + 1]]
    values, ranks = scores.numpy()[found], np.array([1 + ahead(scores, int(i)) for i in found])
    where = known.where(np.full(len(found), row), found)
    below = replace(
        listed,
        ids=found,
        ranks=ranks,
        scores=values,
        probabilities=softmax.probabilities(row, values),
        where=tuple(where),
    )
    return tuple(below)


def ahead(scores: Tensor, answer: int) -> int:
    """How many come before one of them; equal scores in the order of ids."""
    score = scores[answer]
    return int((scores > score).sum()) + int((scores[:answer] == score).sum())


Chosen = tuple[Array, Array, Array]  # ids, ranks and scores of the answers of one question


def _chosen(scores: Tensor, known: KnownRows, request: Request) -> list[Chosen]:
    """The answers to show, of each question; scores of hidden ones are changed."""
    if request.known == "only":
        return [_known_ones(row, known.of(i), request.k) for i, row in enumerate(scores)]
    if request.known == "hide":
        forbid(scores, known)
    return _best(scores, request.k)


def _where(chosen: Sequence[Chosen], known: KnownRows) -> list[tuple[tuple[str, ...], ...]]:
    """In which splits each answer is known."""
    lengths = [len(ids) for ids, _, _ in chosen]
    rows = np.repeat(np.arange(len(chosen)), lengths)
    found = iter(known.where(rows, np.concatenate([ids for ids, _, _ in chosen])))
    return [tuple(islice(found, length)) for length in lengths]


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
