"""Scores to probabilities: one temperature, fitted on validation facts (Guo et al., ICML 2017).

p_e = softmax(score_e / T) over the filtered candidates of a query. T minimises the negative
log-likelihood of the true answers of one half of the queries, with a weak prior that holds log T
near 0 where queries are few; the other half measures it.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import torch
from torch import Tensor

_BINS = 10
LEAST = 20  # queries; with fewer a temperature would be noise
_STEPS = 30
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class Temperature:
    """A fitted temperature, and what the held-out half of the queries says about it."""

    temperature: float
    queries: int  # fitted and measured on, half each
    nll_before: float  # at temperature 1
    nll_after: float
    ece_before: float  # expected calibration error of the best answer, 10 bins
    ece_after: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "Temperature":
        """The inverse of `as_dict`."""
        return cls(**value)


def fit(scores: Tensor, answers: Tensor) -> Temperature | None:
    """Fit on the even rows, measure on the odd ones; None if there are too few.

    Args:
        scores: Of each candidate, minus infinity where it is filtered.  # (queries, candidates)
        answers: The column of the true answer, never filtered.  # (queries,)
    """
    if len(scores) < LEAST:
        return None
    even, odd = (scores[0::2], answers[0::2]), (scores[1::2], answers[1::2])
    low, high = math.log(1e-2), math.log(1e2)  # of the inverse temperature
    a, b = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_a, at_b = _cost(*even, a), _cost(*even, b)
    for _ in range(_STEPS):  # golden section
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - _GOLDEN * (high - low)
            at_a = _cost(*even, a)
        else:
            low, a, at_a = a, b, at_b
            b = low + _GOLDEN * (high - low)
            at_b = _cost(*even, b)
    beta = math.exp((low + high) / 2)
    return Temperature(
        1.0 / beta,
        len(scores),
        _nll(*odd, 1.0),
        _nll(*odd, beta),
        expected_calibration_error(*odd, 1.0),
        expected_calibration_error(*odd, beta),
    )


def _cost(scores: Tensor, answers: Tensor, log_beta: float) -> float:
    """The mean negative log-likelihood, and the prior's share of one query."""
    return _nll(scores, answers, math.exp(log_beta)) + log_beta**2 / len(scores)


def _nll(scores: Tensor, answers: Tensor, beta: float) -> float:
    """The mean of log sum_e exp(beta s_e) - beta s_answer."""
    right = scores.gather(1, answers[:, None])[:, 0]
    # in place on a copy: a second copy would be what limits the number of queries
    total = (scores * beta).sub_(right[:, None] * beta).logsumexp(dim=1)
    return float(total.mean())


def expected_calibration_error(scores: Tensor, answers: Tensor, beta: float) -> float:
    """Mean gap, over bins of confidence, between confidence and accuracy of the best answer."""
    best, column = scores.max(dim=1)
    confidence = torch.exp(best * beta - (scores * beta).logsumexp(dim=1)).double()
    correct = (column == answers).double()
    bins = (confidence * _BINS).long().clamp(max=_BINS - 1)
    sums = torch.zeros(_BINS, dtype=torch.double)
    sums.index_add_(0, bins, confidence - correct)
    return float(sums.abs().sum() / len(scores))
