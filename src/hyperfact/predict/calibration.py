"""Scores to probabilities, by two numbers fitted on validation facts.

p_e = (1 - d) softmax(score_e / T) + d / n over the n filtered candidates. The temperature
T (Guo et al., ICML 2017) says how far scores may be trusted; the doubt d is the share of queries
about which the model knows nothing, such as those of unseen entities: without it a few hopeless
queries would make T take the confidence from all others. Both minimise the negative log-likelihood
of one half of the queries, with a weak prior that holds log T near 0 where queries are few; the
other half measures them.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import torch
from torch import Tensor

_BINS = 10
LEAST = 20  # queries; with fewer a temperature would be noise
_STEPS = 30
_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


@dataclass(frozen=True)
class Calibration:
    """Fitted temperature and doubt, and what the held-out half of the queries says about them."""

    temperature: float
    doubt: float  # 0 to 1
    queries: int  # fitted and measured on, half each
    nll_before: float  # of the plain softmax
    nll_after: float
    ece_before: float  # expected calibration error of the best answer, 10 bins
    ece_after: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> "Calibration":
        """The inverse of `as_dict`."""
        return cls(**value)

    @staticmethod
    def is_one(value: object) -> bool:
        """Whether `from_dict` can read a value."""
        return isinstance(value, dict) and set(value) == {f.name for f in fields(Calibration)}


def fit(scores: Tensor, answers: Tensor) -> Calibration | None:
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
    doubt = _doubt(*_likelihood(*even, beta))
    return Calibration(
        1.0 / beta,
        doubt,
        len(scores),
        _nll(*_likelihood(*odd, 1.0), 0.0),
        _nll(*_likelihood(*odd, beta), doubt),
        expected_calibration_error(*odd, 1.0),
        expected_calibration_error(*odd, beta, doubt),
    )


def _cost(scores: Tensor, answers: Tensor, log_beta: float) -> float:
    """The mean negative log-likelihood at the best doubt, and the prior's share of one query."""
    log_p, even = _likelihood(scores, answers, math.exp(log_beta))
    return _nll(log_p, even, _doubt(log_p, even)) + log_beta**2 / len(scores)


def _likelihood(
    scores: Tensor, answers: Tensor, beta: float
) -> tuple[Tensor, Tensor]:  # (queries,), (queries,)
    """The log-probability of each answer under softmax, and its probability by chance."""
    right = scores.gather(1, answers[:, None])
    # in place on a copy: a second copy would be what limits the number of queries
    total = (scores * beta).sub_(right * beta).logsumexp(dim=1)
    return -total.double(), 1.0 / (scores > -math.inf).sum(dim=1).double()


def _doubt(log_p: Tensor, chance: Tensor) -> float:
    """The best doubt: expectation and maximisation over which queries the model knows."""
    doubt, p = 0.05, log_p.exp()
    for _ in range(_STEPS):
        guessed = doubt * chance
        doubt = float((guessed / ((1.0 - doubt) * p + guessed)).mean())
    return doubt


def _nll(log_p: Tensor, chance: Tensor, doubt: float) -> float:
    """The mean negative log-likelihood."""
    if doubt == 0.0:
        return float(-log_p.mean())
    return float(-((1.0 - doubt) * log_p.exp() + doubt * chance).log().mean())


def expected_calibration_error(
    scores: Tensor, answers: Tensor, beta: float, doubt: float = 0.0
) -> float:
    """Mean gap, over bins of confidence, between confidence and accuracy of the best answer."""
    best, column = scores.max(dim=1)
    sure = torch.exp(best * beta - (scores * beta).logsumexp(dim=1)).double()
    confidence = (1.0 - doubt) * sure + doubt / (scores > -math.inf).sum(dim=1)
    correct = (column == answers).double()
    bins = (confidence * _BINS).long().clamp(max=_BINS - 1)
    sums = torch.zeros(_BINS, dtype=torch.double)
    sums.index_add_(0, bins, confidence - correct)
    return float(sums.abs().sum() / len(scores))
