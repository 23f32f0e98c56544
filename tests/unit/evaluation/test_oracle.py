"""Fast ranking against brute force, and filters with planted mistakes, which must all be caught."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import torch

from hyperfact.evaluation import Background, Limits, Policy, rank_with
from hyperfact.evaluation import ranking as ranking_module
from hyperfact.evaluation.background import Filter
from hyperfact.evaluation.policy import FilterRule, Given
from hyperfact.graph.hkg import Columns
from hyperfact.graph.queries import KnownAnswers, Queries
from hyperfact.graph.ragged import Ids, Places, Table, offsets_of, owners_of
from hyperfact.kernels.rivals import RankCounts, count_rivals
from tests.support.oracle import Case, count, random_splits, scorer

FILTERS = ("exact", "ignore-qualifiers", "train+valid", "train-only", "none")
SLOTS = ("all", "all", "so", "subject", "object", "value")
SHARD = 1250


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def random_policy(rng: random.Random) -> Policy:
    return Policy(
        slots=rng.choice(SLOTS),  # type: ignore[arg-type]
        filter=rng.choice(FILTERS),  # type: ignore[arg-type]
        candidates=rng.choice(("all", "seen-so")),
        unseen=rng.choice(("keep", "keep", "skip")),
    )


def random_case(rng: random.Random) -> Case:
    return Case(random_splits(rng), Policy(), rng.choice((1, 2, 3, 5, 50)))


Rows = list[tuple[int, int, int, int, int]]


def fast(case: Case, background: Background, limits: Limits | None = None) -> Rows:
    graph = case.splits[case.split]
    found = rank_with(
        scorer(case.levels), graph, background, policy=case.policy, limits=limits
    ).ranks
    names = ("fact", "slot", "greater", "equal", "candidates")
    return list(zip(*(getattr(found, name).tolist() for name in names), strict=True))


@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 8))]
)
def test_counts_are_those_of_brute_force(seed: int) -> None:
    rng = random.Random(seed)
    cases = 0
    while cases < SHARD:
        case = random_case(rng)
        background = Background.of(case.splits)
        for _ in range(5):
            case = replace(case, policy=random_policy(rng), levels=rng.choice((1, 2, 3, 5, 50)))
            expected = list(count(case))
            if expected:
                small = rng.random() < 0.1
                limits = Limits(rng.choice((1, 3)), rng.choice((1, 2, 3))) if small else None
                assert fast(case, background, limits) == expected, case
                cases += 1


def test_metrics_are_exact_fractions() -> None:
    rng = random.Random(99)
    for _ in range(200):
        case = random_case(rng)
        splits = case.splits
        found = rank_with(scorer(case.levels), splits.test, Background.of(splits))
        ranks = [Fraction(1 + g) + Fraction(e, 2) for _, _, g, e, _ in count(case)]
        rivals = [c - 1 for *_, c in count(case)]
        expected = {
            "mrr": sum(1 / r for r in ranks) / len(ranks),
            "mean_rank": sum(ranks) / len(ranks),
            **{f"hits@{k}": Fraction(sum(r <= k for r in ranks), len(ranks)) for k in (1, 3, 10)},
        }
        if sum(rivals):
            expected["amri"] = 1 - 2 * (sum(ranks) - len(ranks)) / Fraction(sum(rivals))
        metrics = found.metrics.as_dict()
        assert all(abs(metrics[n] - float(v)) < 1e-12 for n, v in expected.items())
        assert metrics["ranks"] == len(ranks)


# -- planted mistakes -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Wrong(Filter):
    """A filter with a mistake in the key, or in what is found there."""

    key: Callable[[Table], Table] = lambda table: table
    answers: Callable[[Places, Ids], tuple[Places, Ids]] = lambda offsets, ids: (offsets, ids)
    slots: tuple[int, ...] = (0, 1, 2)

    def find(self, columns: Columns, queries: Queries) -> Places:
        assert self.known is not None
        table = self.key(queries.table(columns))
        own = self.known.examples.table(self.known.graph.columns)
        keys = self.known.find(table) if self.key is Wrong.key else _scan(table, self.key(own))
        return np.where(np.isin(np.minimum(queries.slot, 2), self.slots), keys, -1)

    def at(self, keys: Places) -> tuple[Places, Ids]:
        return self.answers(*super().at(keys))


def _scan(table: Table, own: Table) -> Places:
    """The first key that is equal, by comparing with all of them."""
    found = np.full(len(table), -1, dtype=np.int64)
    for row, key in product(range(len(table)), range(len(own))):
        if found[row] < 0 and table.same(np.array([row]), own, np.array([key]))[0]:
            found[row] = key
    return found


def _fixed(column: int) -> Callable[[Table], Table]:
    def forget(table: Table) -> Table:
        fixed = table.fixed.copy()
        fixed[:, column] = 0
        return replace(table, fixed=fixed)

    return forget


def _forget_attributes(table: Table) -> Table:
    order = np.lexsort((table.second, owners_of(table.offsets)))
    return replace(table, first=np.zeros_like(table.first), second=table.second[order])


def _forget_values(table: Table) -> Table:
    return replace(table, second=np.zeros_like(table.second))


def _first_only(offsets: Places, ids: Ids) -> tuple[Places, Ids]:
    counts = np.minimum(np.diff(offsets), 1)
    return offsets_of(counts), ids[offsets[:-1][counts > 0]]


def _all_but_last(offsets: Places, ids: Ids) -> tuple[Places, Ids]:
    keep = np.ones(len(ids), dtype=bool)
    keep[offsets[1:][np.diff(offsets) > 0] - 1] = False
    return offsets_of(np.bincount(owners_of(offsets)[keep], minlength=len(offsets) - 1)), ids[keep]


class Mistaken(Background):
    """A background whose filter is given."""

    def __init__(self, right: Background, wrong: Filter) -> None:
        super().__init__(right.known, right.train)
        object.__setattr__(self, "wrong", wrong)

    def filter(self, rule: FilterRule, given: Given = "all") -> Filter:  # noqa: ARG002
        return self.wrong  # type: ignore[attr-defined, no-any-return]


def _raw_order(known: KnownAnswers) -> Filter:
    """Keys with qualifiers as they stand, the blank where the value was."""

    class Raw(Filter):
        def find(self, columns: Columns, queries: Queries) -> Places:
            keys = [_raw_key(columns, queries, i) for i in range(len(queries))]
            owned = known.graph.columns
            first = {_raw_key(owned, known.examples, i): i for i in range(len(known))}
            return np.array([first.get(key, -1) for key in keys], dtype=np.int64)

    return Raw(known)


def _raw_key(c: Columns, queries: Queries, i: int) -> tuple[object, ...]:
    fact, slot = int(queries.fact[i]), int(queries.slot[i])
    places = range(int(c.offsets[fact]), int(c.offsets[fact + 1]))
    pairs = [(int(c.attributes[p]), int(c.values[p])) for p in places]
    if slot >= 2:
        pairs[slot - 2] = (pairs[slot - 2][0], -1)
    ends = (-1 if slot == 0 else int(c.subject[fact]), -1 if slot == 1 else int(c.object[fact]))
    return (*ends, int(c.relation[fact]), slot, tuple(pairs))


#: Each mistake makes a filter from the splits of a case.
MISTAKES: dict[str, Callable[[Case, Background], Filter]] = {
    "no filter": lambda *_: Filter(None),
    "train only": lambda c, _: Filter(KnownAnswers.build(c.splits.train)),
    "valid left out": lambda c, _: Filter(KnownAnswers.build(c.splits.train, c.splits.test)),
    "test left out": lambda c, _: Filter(KnownAnswers.build(c.splits.train, c.splits.valid)),
    "test only": lambda c, _: Filter(KnownAnswers.build(c.splits.test)),
    "qualifiers ignored": lambda _, b: b.filter("ignore-qualifiers"),
    "raw order of qualifiers": lambda _, b: _raw_order(b.known),
    "relation ignored": lambda _, b: Wrong(b.known, key=_fixed(1)),
    "object ignored": lambda _, b: Wrong(b.known, key=_fixed(2)),
    "attributes ignored": lambda _, b: Wrong(b.known, key=_forget_attributes),
    "values ignored": lambda _, b: Wrong(b.known, key=_forget_values),
    "first answer only": lambda _, b: Wrong(b.known, answers=_first_only),
    "last answer forgotten": lambda _, b: Wrong(b.known, answers=_all_but_last),
    "values never filtered": lambda _, b: Wrong(b.known, slots=(0, 1)),
    "subjects never filtered": lambda _, b: Wrong(b.known, slots=(1, 2)),
}


def exact_cases(count_: int) -> list[Case]:
    rng = random.Random(7)
    cases = [random_case(rng) for _ in range(count_)]
    return [replace(case, levels=1) if i % 2 else case for i, case in enumerate(cases)]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_filter_is_caught(mistake: str) -> None:
    assert len(MISTAKES) >= 12
    caught = 0
    for case in exact_cases(150):
        right = Background.of(case.splits)
        wrong = Mistaken(right, MISTAKES[mistake](case, right))
        caught += fast(case, wrong) != list(count(case))
        if caught >= 3:
            return
    pytest.fail(f"{mistake}: seen in {caught} of 150 cases")


def test_the_right_filter_passes_the_same_cases() -> None:
    for case in exact_cases(150):
        right = Background.of(case.splits)
        same = Mistaken(right, Wrong(right.known))
        assert fast(case, right) == fast(case, same) == list(count(case))


@pytest.mark.parametrize("mistake", ["target filtered", "target a rival", "sentinel for filtered"])
def test_a_wrong_count_is_caught(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = count_rivals

    def wrong(scores, targets, *, offsets, filtered, rows, held):  # type: ignore[no-untyped-def]
        if mistake == "sentinel for filtered":  # a number that a true score can be below
            full = scores.index_select(0, rows).clone()
            owner = torch.arange(len(rows)).repeat_interleave(offsets.diff())
            true = full.gather(1, targets[:, None])[:, 0].clone()
            full[owner, filtered] = 1.0
            full[torch.arange(len(rows)), targets] = true
            none = torch.zeros(len(rows) + 1, dtype=torch.long)
            return right(full, targets, offsets=none, filtered=filtered[:0])
        found = right(scores, targets, offsets=offsets, filtered=filtered, rows=rows, held=held)
        step = -1 if mistake == "target filtered" else 1
        return RankCounts(found.greater, (found.equal + step).clamp(min=0), found.finite)

    monkeypatch.setattr(ranking_module, "count_rivals", wrong)
    monkeypatch.setattr("hyperfact.evaluation.evaluator.check_invariants", lambda _: None)
    cases = exact_cases(60)
    assert any(fast(c, Background.of(c.splits)) != list(count(c)) for c in cases)
