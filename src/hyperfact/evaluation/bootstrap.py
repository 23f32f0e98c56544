"""How sure a mean over ranks is: facts drawn again and again, with replacement.

Facts are drawn, not queries: the queries of one fact share its entities and are not independent.
"""

from dataclasses import dataclass

import numpy as np

from hyperfact.graph.ragged import Array

RESAMPLES, LEVEL = 1000, 0.95
_CELLS = 2**22  # draws that exist at once


@dataclass(frozen=True)
class Interval:
    """A percentile interval."""

    low: float
    high: float
    level: float = LEVEL


def resampled_means(
    facts: Array, values: Array, *, resamples: int = RESAMPLES, seed: int = 0
) -> Array:  # (resamples, figures)
    """Means over queries of the drawn facts.

    Args:
        facts: The fact of each query.  # (queries,)
        values: Of each query.  # (queries, figures)
        resamples: How often all facts are drawn.
        seed: Of the draws; the same seed draws the same facts for every model.
    """
    owner = np.unique(facts, return_inverse=True)[1]
    count = int(owner.max()) + 1
    sums = np.stack([np.bincount(owner, v) for v in values.T], axis=1)  # (facts, figures)
    sums = np.concatenate([sums, np.bincount(owner)[:, None]], axis=1)
    rng, block = np.random.default_rng(seed), max(1, _CELLS // count)
    means = []
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = rng.integers(count, size=(rows, count)) + count * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * count).reshape(rows, count)
        totals = times.astype(np.float64) @ sums
        means.append(totals[:, :-1] / totals[:, -1:])
    return np.concatenate(means)


def interval(means: Array, level: float = LEVEL) -> Interval:
    """The middle share of resampled means."""
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level)
