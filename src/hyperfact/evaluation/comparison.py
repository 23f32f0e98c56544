"""Rankings of the same queries: the difference, how sure it is, and who wins how often."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hyperfact.errors import DataError
from hyperfact.evaluation.bootstrap import RESAMPLES, Interval, interval, resampled_means
from hyperfact.evaluation.policy import Ties
from hyperfact.evaluation.ranks import Metrics, Ranks
from hyperfact.graph.frames import make_frame
from hyperfact.graph.ragged import Array


@dataclass(frozen=True)
class Comparison:
    """The second ranking against the first; positive differences are gains."""

    ranks: int
    first: float  # MRR
    second: float
    difference: float
    interval: Interval  # of the difference, by a paired bootstrap over facts
    p: float  # two-sided share of resamples on the other side of no difference
    wins: int  # queries that the second ranks better
    ties: int
    losses: int

    def as_dict(self) -> dict[str, Any]:
        """By the names that commands print."""
        return asdict(self)

    def to_frame(self, kind: str | None = None) -> Any:
        """As a table of one row, with `low` and `high` of the interval; see `HKG.to_frame`."""
        row = {**asdict(self), "low": self.interval.low, "high": self.interval.high}
        return make_frame({name: [row[name]] for name in row if name != "interval"}, kind)


@dataclass(frozen=True)
class Standing:
    """One ranking among several of the same queries."""

    name: str
    metrics: Metrics
    against_best: Comparison | None  # the best one being the first; None: it is the best

    def as_dict(self) -> dict[str, Any]:
        """By the names that commands print."""
        against = None if self.against_best is None else self.against_best.as_dict()
        return {"name": self.name, **self.metrics.as_dict(), "against_best": against}


def standings(
    rankings: Mapping[str, Ranks], *, ties: Ties = "realistic", rows: Array | None = None
) -> list[Standing]:
    """Several aligned rankings, the best first, each compared with it query by query.

    Args:
        rankings: By name; the same queries in the same order.
        ties: Rank among equals.
        rows: Only these queries.
    """
    some = {n: r if rows is None else r.take(rows) for n, r in rankings.items()}
    found = {name: Metrics.of(ranks, ties=ties) for name, ranks in some.items()}
    best, *others = sorted(found, key=lambda name: -found[name].mrr)
    return [
        Standing(best, found[best], None),
        *(Standing(n, found[n], compare(some[best], some[n], ties=ties)) for n in others),
    ]


def align(first: Ranks, second: Ranks) -> tuple[Ranks, Ranks]:
    """Both in the same order.

    Raises:
        DataError: They do not ask the same.
    """
    first, second = first.sorted(), second.sorted()
    same = np.array_equal(first.fact, second.fact) and np.array_equal(first.slot, second.slot)
    if not same:
        raise DataError(
            f"the two rankings do not ask the same queries ({len(first):,} and {len(second):,})"
        )
    return first, second


def compare(
    first: Ranks,
    second: Ranks,
    *,
    ties: Ties = "realistic",
    rows: Array | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Comparison:
    """Compare two aligned rankings.

    Args:
        first: The base line.
        second: What is compared with it; the same queries in the same order.
        ties: Rank among equals.
        rows: Only these queries.
        resamples: Of the paired bootstrap.
        seed: Of its draws.
    """
    if rows is not None:
        first, second = first.take(rows), second.take(rows)
    if not len(first):
        raise DataError("there is nothing to compare")
    one, two = first.by(ties), second.by(ties)
    gains = 1.0 / two - 1.0 / one
    means = resampled_means(first.fact, gains[:, None], resamples=resamples, seed=seed)[:, 0]
    below, above = float((means <= 0).mean()), float((means >= 0).mean())
    return Comparison(
        len(first),
        float((1.0 / one).mean()),
        float((1.0 / two).mean()),
        float(gains.mean()),
        interval(means),
        min(1.0, 2 * min(below, above)),
        int((two < one).sum()),
        int((two == one).sum()),
        int((two > one).sum()),
    )
