"""The edges of ranking: nothing given, one candidate, the last place, exactly the limit."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hyperfact.errors import DataError, HyperfactError
from hyperfact.evaluation import (
    Background,
    Evaluation,
    Interval,
    Limits,
    Metrics,
    Policy,
    Ranks,
    align,
    bootstrap,
    check_invariants,
    compare,
    rank_with,
    ranking,
)
from hyperfact.evaluation.bootstrap import resampled_means
from hyperfact.evaluation.slices import RankedQueries, slices_of
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.queries import KnownAnswers
from tests.support.models import random_facts
from tests.support.oracle import scorer

noise = scorer(13)


def ranks_of(places: list[int], *, facts: list[int] | None = None, candidates: int = 20) -> Ranks:
    """Ranks without ties, each of a fact of its own unless told otherwise."""
    zero = np.zeros(len(places), dtype=np.int64)
    fact = np.arange(len(places)) if facts is None else np.array(facts)
    return Ranks(fact, zero, zero + 2, np.array(places) - 1, zero, zero + candidates, zero / 1)


@pytest.fixture
def found() -> Evaluation:
    whole = random_facts(120, entities=12)
    splits = Splits({"train": whole[:80], "test": whole[80:]}, "toy")
    return rank_with(noise, splits.test, Background.of(splits))


# -- draws -----------------------------------------------------------------------------------------


class Counting:
    """A generator that notes how much is drawn at once."""

    def __init__(self, seed: int) -> None:
        self.inner, self.sizes = np.random.Generator(np.random.PCG64(seed)), list[int]()

    def integers(self, high: int, size: tuple[int, int]) -> Any:
        self.sizes.append(size[0] * size[1])
        return self.inner.integers(high, size=size)


@pytest.mark.parametrize(("cells", "most"), [(2**22, 250), (70, 70), (29, 20), (19, 10), (1, 10)])
def test_few_draws_exist_at_once_and_their_number_changes_nothing(
    cells: int, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """25 resamples of 10 facts: all at once, or as many as fit, but one at least."""
    values = np.random.default_rng(0).random((30, 2))
    facts = np.repeat(np.arange(10), 3)
    whole = resampled_means(facts, values, resamples=25, seed=3)
    counting = Counting(3)
    monkeypatch.setattr(bootstrap, "_CELLS", cells)
    monkeypatch.setattr(np.random, "default_rng", {3: counting}.__getitem__)
    parts = resampled_means(facts, values, resamples=25, seed=3)
    assert np.allclose(whole, parts, rtol=1e-12, atol=0)
    assert max(counting.sizes) == most
    assert sum(counting.sizes) == 250


def test_draws_begin_with_seed_zero_and_another_seed_draws_others(found: Evaluation) -> None:
    values = found.ranks.greater[:, None]
    plain = resampled_means(found.ranks.fact, values, resamples=20)
    assert np.array_equal(plain, resampled_means(found.ranks.fact, values, resamples=20, seed=0))
    assert not np.array_equal(
        plain, resampled_means(found.ranks.fact, values, resamples=20, seed=1)
    )
    assert found.intervals() == found.intervals(seed=0) != found.intervals(seed=1)
    worse = ranks_of([2] * 9 + [5])
    better = ranks_of([1, 3] * 5)
    same = compare(worse, better)
    assert same == compare(worse, better, seed=0)
    assert same != compare(worse, better, seed=1)


def test_intervals_of_equal_ranks_have_no_width() -> None:
    second = Evaluation(ranks_of([2] * 8), Policy(), random_facts(8))
    assert second.intervals(resamples=50) == {
        "mrr": Interval(0.5, 0.5),
        "hits@1": Interval(0.0, 0.0),
        "hits@3": Interval(1.0, 1.0),
        "hits@10": Interval(1.0, 1.0),
    }
    third = replace(second, ranks=ranks_of([3] * 8))
    assert third.intervals(resamples=50)["hits@3"] == Interval(1.0, 1.0)


# -- comparisons -----------------------------------------------------------------------------------


def test_p_is_twice_the_smaller_share_of_resamples() -> None:
    """Against plain draws; a mixed case, in which it is neither 0 nor 1."""
    one, two = ranks_of([2, 2, 2, 4, 4, 1]), ranks_of([1, 1, 3, 2, 5, 2])
    gains = 1 / two.by("realistic") - 1 / one.by("realistic")
    means = resampled_means(one.fact, gains[:, None], resamples=400)[:, 0]
    share = min(int((means <= 0).sum()), int((means >= 0).sum())) / 400
    assert 0.05 < share < 0.4
    assert compare(one, two, resamples=400).p == pytest.approx(2 * share)
    assert compare(two, one, resamples=400).p == pytest.approx(2 * share)


def test_a_clear_loss_is_clear() -> None:
    loss = compare(ranks_of([1] * 8), ranks_of([3] * 8))
    assert loss.interval.high < 0
    assert (loss.wins, loss.ties, loss.losses) == (0, 0, 8)
    with pytest.raises(DataError, match="nothing to compare"):
        compare(ranks_of([1]), ranks_of([1]), rows=np.zeros(0, dtype=np.int64))


def test_the_same_facts_with_other_slots_are_other_queries() -> None:
    ranks = ranks_of([1, 2])
    for other in (replace(ranks, slot=ranks.slot + 1), replace(ranks, fact=ranks.fact + 1)):
        with pytest.raises(DataError, match=r"do not ask the same queries \(2 and 2\)"):
            align(ranks, other)


# -- metrics ---------------------------------------------------------------------------------------


def test_the_adjusted_index_needs_a_rival() -> None:
    assert Metrics.of(ranks_of([1], candidates=1)).amri is None
    assert Metrics.of(ranks_of([1], candidates=2)).amri == 1.0
    assert Metrics.of(ranks_of([2], candidates=2)).amri == -1.0


def test_macro_averages_count_each_part_once() -> None:
    parts = [
        Metrics.of(ranks_of([1, 1, 4])),
        Metrics.of(ranks_of([12])),
        Metrics.of(ranks_of([1], candidates=1)),
    ]
    mean = Metrics.macro(parts)
    assert mean.mrr == pytest.approx((0.75 + 1 / 12 + 1) / 3)
    assert mean.hits == pytest.approx({1: (2 / 3 + 1) / 3, 3: (2 / 3 + 1) / 3, 10: 2 / 3})
    assert mean.mean_rank == pytest.approx((2 + 12 + 1) / 3)
    known = [part.amri for part in parts[:2] if part.amri is not None]
    assert len(known) == 2
    assert mean.amri == pytest.approx(sum(known) / 2)
    assert mean.ranks == 5
    assert Metrics.macro(parts[2:]).amri is None


@pytest.mark.parametrize("places", [[1, 2, 2], [2, 2], [1], [1, 1], [20], [3, 4], [11]])
def test_rankings_at_the_edge_of_what_may_be_pass(places: list[int]) -> None:
    check_invariants(ranks_of(places))


@pytest.mark.parametrize(("greater", "equal"), [(-1, 0), (0, -1)])
def test_every_broken_law_is_named(greater: int, equal: int) -> None:
    wrong = replace(ranks_of([1]), greater=np.array([greater]), equal=np.array([equal]))
    with pytest.raises(HyperfactError, match=r"not negative.*1 <= optimistic <= pessimistic"):
        check_invariants(wrong)


def test_the_gap_of_ties_is_the_best_less_the_worst() -> None:
    tied = replace(ranks_of([1, 2]), equal=np.array([1, 2]))
    found = Evaluation(tied, Policy(), random_facts(2))
    assert found.tie_gap == pytest.approx((1 + 1 / 2) / 2 - (1 / 2 + 1 / 4) / 2)
    assert (found.candidates, found.skipped) == (0, 0)  # nobody has counted


def test_results_tell_what_training_did_not_show(found: Evaluation) -> None:
    assert found.leak_free is not None
    assert found.as_dict()["leak_free"] == found.leak_free.as_dict()
    blind = rank_with(noise, found.graph, KnownAnswers.build(found.graph))
    assert blind.as_dict()["leak_free"] is None
    assert blind.by("frequency") == blind.by("primary") == {}


def test_each_slice_holds_the_queries_that_ask_so(found: Evaluation) -> None:
    """Not only as many of them."""
    asked = RankedQueries(found.ranks, found.graph)
    for name in ("attribute", "relation", "arity"):
        for label, rows in slices_of(asked, name).items():
            for row in rows:
                fact, slot = found.graph[int(found.ranks.fact[row])], int(found.ranks.slot[row])
                pair = fact.qualifiers[slot - 2][0] if slot >= 2 else None
                here = {"attribute": pair, "relation": fact.relation, "arity": str(fact.arity)}
                assert here[name] == label


def test_frequencies_have_these_bounds() -> None:
    times = (0, 1, 2, 9, 10, 99, 100, 999, 1000, 1001)
    train = [Fact(f"e{n}", f"r{i}", "z") for n in times for i in range(n)]
    test = [Fact(f"e{n}", "r0", "z", (("q", "z"),)) for n in times]
    names = {
        "entities": ["z", *(f"e{n}" for n in times)],
        "relations": [f"r{i}" for i in range(1001)],
    }
    names["relations"].append("q")
    graph = HKG.from_facts(test, **names)
    found = rank_with(
        noise,
        graph,
        Background(KnownAnswers.build(graph), HKG.from_facts(train, **names)),
        policy=Policy(slots="subject"),
    )
    assert {name: m.ranks for name, m in found.by("frequency").items()} == {
        **{"never": 1, "once": 1, "2 to 9 times": 2, "10 to 99": 2, "100 to 999": 2},
        "1000 and more": 2,
    }


# -- limits ----------------------------------------------------------------------------------------


def test_as_many_queries_as_fit_are_scored_at_once() -> None:
    cells = ranking._CELLS
    assert Limits(1000).rows(10) == 1000
    assert Limits(1000).rows(cells // 2) == 2
    assert Limits(1000).rows(cells) == Limits(1000).rows(4 * cells) == 1
    assert Limits(2 * cells).rows(1) == Limits(2 * cells).rows(0) == cells
