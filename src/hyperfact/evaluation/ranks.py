"""Ranks: one row for each ranked query, and the averages that follow from them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from hyperfact.errors import DataError, HyperfactError
from hyperfact.evaluation.policy import Ties
from hyperfact.graph.ragged import Array

HITS = (1, 3, 10)
_SHARE = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}
_SLACK = 1e-9  # of sums of float64


@dataclass(frozen=True)
class Ranks:
    """One row for each ranked query; all that metrics need."""

    fact: Array  # (queries,) row of the fact in its split
    slot: Array  # (queries,) 0 subject, 1 object, 2 + i the i-th value in canonical order
    arity: Array  # (queries,) of the fact
    greater: Array  # (queries,) rivals with a higher score
    equal: Array  # (queries,) rivals with the same score
    candidates: Array  # (queries,) who competed, the answer included
    score: Array  # (queries,) of the answer; NaN where other software told ranks only

    def __len__(self) -> int:
        return len(self.fact)

    def by(self, ties: Ties) -> Array:  # (queries,)
        """Ranks from 1: best, middle or worst place among equals."""
        places: Array = 1.0 + self.greater + _SHARE[ties] * self.equal
        return places

    def expected_reciprocal(self) -> Array:  # (queries,)
        """The mean of 1/rank when ties are broken at random: (H(g + e + 1) - H(g)) / (e + 1)."""
        top = int((self.greater + self.equal).max(initial=0)) + 1
        harmonic = np.concatenate([[0.0], np.cumsum(1.0 / np.arange(1, top + 1))])
        high = harmonic[self.greater + self.equal + 1]
        mean: Array = (high - harmonic[self.greater]) / (self.equal + 1)
        return mean

    def take(self, rows: Array) -> "Ranks":
        """These queries only (indices or a mask)."""
        return Ranks(*(getattr(self, f.name)[rows] for f in fields(self)))

    def sorted(self) -> "Ranks":
        """By fact and slot."""
        return self.take(np.lexsort((self.slot, self.fact)))

    def columns(self) -> dict[str, Array]:
        """By name, for a table."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


@dataclass(frozen=True)
class Metrics:
    """Averages over ranks."""

    mrr: float
    hits: Mapping[int, float]  # by k: the share of ranks up to k
    mean_rank: float
    amri: float | None  # adjusted mean rank index: 1 perfect, 0 chance; None where no rival is
    ranks: int

    @classmethod
    def of(cls, ranks: Ranks, ties: Ties = "realistic", *, hits: Sequence[int] = HITS) -> "Metrics":
        """Micro averages; each query counts once."""
        if not len(ranks):
            raise DataError("there is nothing to rank")
        places = ranks.by(ties)
        shares = {k: float((places <= k).mean()) for k in hits}
        chance = (ranks.candidates - 1).sum() / 2  # of places lost by a random order
        amri = 1.0 - float((places - 1).sum() / chance) if chance > 0 else None
        mrr = float((1.0 / places).mean())
        return cls(mrr, shares, float(places.mean()), amri, len(places))

    @classmethod
    def macro(cls, parts: Sequence["Metrics"]) -> "Metrics":
        """The plain mean of several metrics; each part counts once."""
        amris = [p.amri for p in parts if p.amri is not None]
        return cls(
            float(np.mean([p.mrr for p in parts])),
            {k: float(np.mean([p.hits[k] for p in parts])) for k in parts[0].hits},
            float(np.mean([p.mean_rank for p in parts])),
            float(np.mean(amris)) if amris else None,
            sum(p.ranks for p in parts),
        )

    @property
    def hits_at_1(self) -> float:
        """The share of answers on the first place."""
        return self.hits[1]

    @property
    def hits_at_3(self) -> float:
        """The share of answers on the first three places."""
        return self.hits[3]

    @property
    def hits_at_10(self) -> float:
        """The share of answers on the first ten places."""
        return self.hits[10]

    def as_dict(self) -> dict[str, Any]:
        """By the names that commands print."""
        return {
            "mrr": self.mrr,
            **{f"hits@{k}": share for k, share in self.hits.items()},
            "mean_rank": self.mean_rank,
            "amri": self.amri,
            "ranks": self.ranks,
        }


def mrr_by_ties(ranks: Ranks) -> dict[str, float]:
    """MRR under each rule for ties, and its mean over random orders of equals."""
    found = {ties: float((1.0 / ranks.by(ties)).mean()) for ties in _SHARE}  # type: ignore[arg-type]
    return {**found, "expected": float(ranks.expected_reciprocal().mean())}


def check_invariants(ranks: Ranks) -> None:
    """What holds for every ranking; a breach is a bug of ours.

    Raises:
        HyperfactError: A rank or a metric that cannot be.
    """
    best, worst = ranks.by("optimistic"), ranks.by("pessimistic")
    _insist(
        {
            "rivals are not negative": bool((ranks.greater >= 0).all() & (ranks.equal >= 0).all()),
            "no rank lies beyond the candidates": bool((worst <= ranks.candidates).all()),
            "1 <= optimistic <= pessimistic": bool((best >= 1).all() & (worst >= best).all()),
        }
    )
    found = Metrics.of(ranks, "optimistic")
    one, three, ten = found.hits_at_1, found.hits_at_3, found.hits_at_10
    _insist(
        {
            "Hits@1 <= Hits@3 <= Hits@10": one <= three <= ten,
            "0 < MRR <= 1": 0.0 < found.mrr <= 1.0 + _SLACK,
            "Hits@1 <= MRR <= Hits@1 + (1 - Hits@1) / 2": (
                one - _SLACK <= found.mrr <= one + (1.0 - one) / 2 + _SLACK
            ),
        }
    )


def _insist(laws: Mapping[str, bool]) -> None:
    broken = [law for law, holds in laws.items() if not holds]
    if broken:
        raise HyperfactError(f"a ranking breaks what must hold: {'; '.join(broken)}")
