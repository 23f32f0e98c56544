"""Judge what other software predicted: its scores by our policy, or its ranks as they are."""

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from hyperfact.errors import DataError, NumericalError
from hyperfact.evaluation.background import Background
from hyperfact.evaluation.evaluator import asked_queries, conclude
from hyperfact.evaluation.policy import Policy
from hyperfact.evaluation.ranking import Rivals, without
from hyperfact.evaluation.result import Evaluation
from hyperfact.graph.facts import Slot
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import Queries
from hyperfact.graph.ragged import Array, Places, find, owners_of

Missing = Literal["error", "worst"]


@dataclass(frozen=True)
class ScoredCandidates:
    """One row for each scored candidate of a query."""

    kind: ClassVar[str] = "scores"
    caveat: ClassVar[str] = ""
    fact: Array  # (rows,) of the split
    slot: Array  # (rows,)
    candidate: Array  # (rows,) entity
    score: Array  # (rows,)


@dataclass(frozen=True)
class GivenRanks:
    """One row for each query; a rank of n.5 means a tie with one rival."""

    kind: ClassVar[str] = "ranks"
    caveat: ClassVar[str] = (
        "ranks are taken as they are; that their filter is that of the policy is a claim"
    )
    fact: Array  # (rows,) of the split
    slot: Array  # (rows,)
    rank: Array  # (rows,)


def judge(
    graph: HKG,
    given: ScoredCandidates | GivenRanks,
    background: Background,
    *,
    policy: Policy | None = None,
    missing: Missing = "error",
) -> Evaluation:
    """Rank the answers of `graph` by predictions from elsewhere.

    A candidate without a score counts as worse than all that have one, and as equal to the others
    without. Ranks are taken as they are: whoever made them has filtered and broken ties.

    Args:
        graph: The facts that were asked about.
        given: Predictions.
        background: Known facts and training facts.
        policy: What is asked and how it is ranked.
        missing: What to do when a query has no prediction: refuse, or count the last rank.
    """
    policy = policy or Policy()
    queries, skipped = asked_queries(graph, background, policy)
    row = _rows_of(queries, given)
    known = background.filter(policy.filter)
    offsets, entities = without(known.of(graph.columns, queries), background.outsiders(policy))
    filtered = _Filtered(offsets, entities, len(graph.entities))
    found = row >= 0
    if missing == "error":
        _check_complete(graph, queries, row[found])
    if isinstance(given, GivenRanks):
        rivals = _from_ranks(queries, row[found], given.rank[found], filtered)
    else:
        _check_finite(graph, given)
        rivals = _from_scores(queries, row[found], given, found, filtered)
    return conclude(graph, queries, rivals, background=background, policy=policy, skipped=skipped)


@dataclass(frozen=True)
class _Filtered:
    """Who does not compete in each query."""

    offsets: Places
    entities: Array
    size: int  # of the vocabulary

    def candidates(self, answers: Array) -> Array:  # (queries,)
        """Who competes, the answer included."""
        owner = owners_of(self.offsets)
        others = self.entities != answers[owner]
        return self.size - np.bincount(owner[others], minlength=len(answers))

    def holds(self, row: Array, entity: Array) -> Array:  # (pairs,) bool
        """Whether each entity is filtered in each query."""
        pairs = np.sort(owners_of(self.offsets) * self.size + self.entities)
        return find(pairs, row * self.size + entity)[1]


def _rows_of(queries: Queries, given: ScoredCandidates | GivenRanks) -> Array:
    """The query of each prediction, -1 where the policy does not ask it."""
    width = int(max(queries.slot.max(initial=0), given.slot.max(initial=0))) + 1
    keys = queries.fact * width + queries.slot  # rising, because queries stand fact after fact
    asked = given.fact.astype(np.int64) * width + given.slot
    at, there = find(keys, asked)
    return np.where(there, at, -1)


def _check_complete(graph: HKG, queries: Queries, rows: Array) -> None:
    counts = np.bincount(rows, minlength=len(queries))
    absent = np.flatnonzero(counts == 0)
    if len(absent):
        fact, slot = queries.fact[absent[0]], Slot(int(queries.slot[absent[0]]))
        raise DataError(
            f"{len(absent):,} of {len(queries):,} queries have no prediction, the first is the "
            f"slot {slot} of the fact '{graph[int(fact)]}'"
        )


def _check_finite(graph: HKG, given: ScoredCandidates) -> None:
    wrong = np.flatnonzero(~np.isfinite(given.score))
    if len(wrong):
        fact, slot = given.fact[wrong[0]], Slot(int(given.slot[wrong[0]]))
        raise NumericalError(
            f"a score of the slot {slot} of the fact '{graph[int(fact)]}' is not a finite number"
        )


def _from_ranks(queries: Queries, row: Array, rank: Array, filtered: _Filtered) -> Rivals:
    if len(np.unique(row)) < len(row):
        raise DataError("a query has more than one rank")
    if not (np.isfinite(rank) & (rank >= 1) & (2 * rank == np.floor(2 * rank))).all():
        raise DataError("a rank must be 1, 1.5, 2 and so on")
    result = Rivals.none(len(queries))
    result.candidates[:] = filtered.candidates(queries.answer)
    result.score[:] = np.nan
    result.greater[:] = result.candidates - 1  # where no rank is given
    result.greater[row] = np.floor(rank) - 1
    result.equal[row] = (rank != np.floor(rank)).astype(np.int64)
    beyond = np.flatnonzero(1 + result.greater + result.equal > result.candidates)
    if len(beyond):
        worst = beyond[0]
        raise DataError(
            f"rank {1 + result.greater[worst]} among {result.candidates[worst]} candidates; "
            "was it made without a filter? then say so in the policy"
        )
    return result


def _from_scores(
    queries: Queries, row: Array, given: ScoredCandidates, found: Array, filtered: _Filtered
) -> Rivals:
    entity, score = given.candidate[found].astype(np.int64), given.score[found]
    if len(np.unique(row * filtered.size + entity)) < len(row):
        raise DataError("a candidate has more than one score in one query")
    count, answer = len(queries), queries.answer[row]
    own = entity == answer
    rival = ~own & ~filtered.holds(row, entity)
    result = Rivals.none(count)
    result.score[:] = -np.inf
    result.score[row[own]] = score[own]
    result.candidates[:] = filtered.candidates(queries.answer)
    true = result.score[row]
    result.greater[:] = np.bincount(row[rival & (score > true)], minlength=count)
    result.equal[:] = np.bincount(row[rival & (score == true)], minlength=count)
    unscored = np.isneginf(result.score)  # beside all the others without a score
    result.equal[unscored] = (result.candidates - 1 - result.greater)[unscored]
    unpredicted = np.bincount(row, minlength=count) == 0  # nothing predicted: the last rank
    result.greater[unpredicted] = result.candidates[unpredicted] - 1
    result.equal[unpredicted] = 0
    result.score[unscored] = np.nan
    return result
