"""Counts that join a model after its training: how much they weigh, chosen by validation facts.

While a model learns with counts it leans on them. One that was trained without has learned all it
can by vectors, and counts only tell it what it missed; few weights are then enough.
"""

import logging

import torch
from torch import Tensor

from hyperfact.graph.hkg import HKG
from hyperfact.graph.tallies import GROUPS
from hyperfact.models.evidence import Evidence
from hyperfact.runs.setup import Setup, choice_of

logger = logging.getLogger("hyperfact")

#: Factors that are tried for each kind of count, on its first weight; rising.
FACTORS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
_ROUNDS = 2


def join_counts(setup: Setup) -> None:
    """Give a trained model the counts that it was trained without, if it was.

    Kind after kind, those of most slots first, takes the factor with the highest MRR of validation
    facts, the smaller one where two are equal; then once more, for the others have changed.
    """
    counts = setup.counts
    if counts is None:
        return
    setup.model.evidence = counts
    if setup.config.evidence.learn == "nothing":
        return
    assert setup.valid is not None  # refused before training
    factors, best = _search(setup, counts, setup.valid)
    counts.multiply(factors)
    told = ", ".join(f"{float(factor):g}" for factor in factors)
    logger.info("factors of counts by validation facts: %s (MRR %.4f)", told, best)


def _search(setup: Setup, counts: Evidence, valid: HKG) -> tuple[Tensor, float]:
    """The best factors that were tried, and what they reach."""
    policy, seen = choice_of(setup.config), dict[tuple[float, ...], float]()

    def reached(factors: Tensor) -> float:
        key = tuple(factors.tolist())
        if key not in seen:
            counts.multiply(factors)
            seen[key] = setup.mrr(valid, policy)
        return seen[key]

    kinds = sorted(set(counts.groups.tolist()), key=lambda kind: (kind > 2, -kind))
    factors = torch.zeros(GROUPS)
    for _ in range(_ROUNDS):
        for kind in kinds:
            tried = [factors.index_fill(0, torch.tensor([kind]), value) for value in FACTORS]
            factors = max(tried, key=reached)
    return factors, reached(factors)
