"""How well a run answers sampled queries: filtered ranks of their hard answers.

Each hard answer is ranked among all entities that are no answer of its query. Ranks are averaged
over the answers of a query, then over queries, as in BetaE.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from hyperfact.graph.facts import Vocabulary
from hyperfact.predict.logic.asker import Asker
from hyperfact.predict.logic.effort import Effort
from hyperfact.predict.logic.sampling import SampledQuery

HITS = (1, 3, 10)


@dataclass(frozen=True)
class Ranked:
    """A hard answer and its rank."""

    query: SampledQuery
    answer: str
    missing: int  # facts that the shortest proof needs and nobody knew
    rank: float  # 1 + rivals above + half of the equal ones


@dataclass(frozen=True)
class Score:
    """Means over queries of the means over their answers."""

    name: str
    mrr: float
    hits: tuple[float, ...]  # at 1, 3, 10
    queries: int
    answers: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        hits = {f"hits@{k}": value for k, value in zip(HITS, self.hits, strict=True)}
        counts = {"queries": self.queries, "answers": self.answers}
        return {"mrr": self.mrr, **hits, **counts}


def rank_queries(
    asker: Asker, queries: Sequence[SampledQuery], effort: Effort | None = None
) -> list[Ranked]:
    """The rank of every hard answer."""
    programs = [asker.compiled(sampled.query) for sampled in queries]
    names, found = asker.predictor.entities, dict[int, list[Ranked]]()
    for places, truths in asker.truth_rows(programs, effort):
        for place, truth in zip(places, truths, strict=True):
            found[place] = list(_ranks(queries[place], truth, names))
    return [one for place in range(len(queries)) for one in found[place]]


def _ranks(sampled: SampledQuery, truth: Tensor, names: Vocabulary) -> Iterator[Ranked]:
    values = truth.numpy()
    rivals = np.ones(len(values), dtype=bool)
    rivals[[names.id(name, "entity") for name in sampled.easy]] = False
    rivals[[names.id(name, "entity") for name, _ in sampled.hard]] = False
    others = np.sort(values[rivals])
    for name, missing in sampled.hard:
        value = values[names.id(name, "entity")]
        above = len(others) - int(np.searchsorted(others, value, side="right"))
        equal = len(others) - int(np.searchsorted(others, value, side="left")) - above
        yield Ranked(sampled, name, missing, 1.0 + above + 0.5 * equal)


def score(name: str, ranks: Iterable[Ranked]) -> Score | None:
    """The metrics of some answers; None without any."""
    groups: dict[str, list[float]] = {}
    for one in ranks:
        groups.setdefault(one.query.id, []).append(one.rank)
    if not groups:
        return None
    rows = [np.array(some) for some in groups.values()]
    mrr = float(np.mean([(1.0 / some).mean() for some in rows]))
    hits = tuple(float(np.mean([(some <= k).mean() for some in rows])) for k in HITS)
    return Score(name, mrr, hits, len(rows), sum(map(len, rows)))


@dataclass(frozen=True)
class Report:
    """Scores of every kind."""

    shapes: tuple[Score, ...]
    missing: tuple[Score, ...]  # shape and number of missing facts
    qualifiers: tuple[Score, ...]  # the same answers with the query's qualifiers, and without

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        parts = {"shapes": self.shapes, "missing": self.missing, "qualifiers": self.qualifiers}
        return {key: {s.name: s.as_dict() for s in scores} for key, scores in parts.items()}


def report(ranks: Sequence[Ranked]) -> Report:
    """Scores by shape, by missing facts, and with and without qualifiers."""
    shapes = list(dict.fromkeys(one.query.shape for one in ranks))
    own = [one for one in ranks if one.query.twin is None]

    def scores(keys: Iterable[tuple[str, Callable[[Ranked], bool]]]) -> tuple[Score, ...]:
        found = (score(name, filter(keep, own)) for name, keep in keys)
        return tuple(one for one in found if one is not None)

    by_shape = scores((shape, _of(shape)) for shape in shapes)
    numbers = sorted({one.missing for one in own})
    by_missing = scores(
        (f"{shape}, {n} missing", _of(shape, n)) for shape in shapes for n in numbers
    )
    return Report(by_shape, by_missing, tuple(_paired(ranks, shapes)))


def _of(shape: str, missing: int | None = None) -> Callable[[Ranked], bool]:
    return lambda one: one.query.shape == shape and missing in (None, one.missing)


def _paired(ranks: Sequence[Ranked], shapes: Sequence[str]) -> Iterator[Score]:
    """Answers that are hard both with the qualifiers and without them."""
    full = {(one.query.id, one.answer): one for one in ranks if one.query.twin is None}
    pairs = [
        (full[one.query.twin, one.answer], one)
        for one in ranks
        if one.query.twin is not None and (one.query.twin, one.answer) in full
    ]
    for shape in shapes:
        mine = [pair for pair in pairs if pair[0].query.shape == shape]
        for word, side in (("with", 0), ("without", 1)):
            found = score(f"{shape} {word}", (pair[side] for pair in mine))
            if found is not None:
                yield found
