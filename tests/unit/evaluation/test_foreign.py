"""Predictions of other software: what is missing, not asked for, last, or cannot be."""

import numpy as np
import pytest

from hyperfact.errors import DataError
from hyperfact.evaluation import Background, GivenRanks, Policy, ScoredCandidates, judge
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits


def small() -> Splits:
    """Three facts without qualifiers over five entities; (a, r, b) and (a, r, c) share a key."""
    facts = [Fact("a", "r", "b"), Fact("a", "r", "c"), Fact("d", "r", "e")]
    graph = HKG.from_facts(facts, entities="abcde")
    return Splits({"train": graph[:0], "test": graph}, "small")


def given_ranks(rank: list[float], rows: list[tuple[int, int]]) -> GivenRanks:
    fact, slot = np.array(rows, dtype=np.int64).reshape(-1, 2).T
    return GivenRanks(fact, slot, np.array(rank))


ALL = [(fact, slot) for fact in range(3) for slot in range(2)]


def test_a_query_without_a_rank_has_the_last() -> None:
    splits = small()
    given = given_ranks([1.0, 2.5], [(0, 0), (2, 1)])
    ranks = judge(splits.test, given, Background.of(splits), missing="worst").ranks
    assert ranks.candidates.tolist() == [5, 4, 5, 4, 5, 5]
    assert ranks.by("realistic").tolist() == [1.0, 4.0, 5.0, 4.0, 5.0, 2.5]


def test_the_last_rank_is_one_and_the_next_is_none() -> None:
    splits = small()
    background, last = Background.of(splits), [5.0, 4, 5, 4, 5, 5]
    ranks = judge(splits.test, given_ranks(last, ALL), background).ranks
    assert ranks.by("realistic").tolist() == last
    for rank, told in ((4.5, "rank 4 among 4"), (5.0, "rank 5 among 4")):
        with pytest.raises(DataError, match=told):
            judge(splits.test, given_ranks([*last[:3], rank, *last[4:]], ALL), background)
    for wrong in (1.25, 0.5, 0.0, float("inf"), float("nan")):
        with pytest.raises(DataError, match="a rank must be"):
            judge(splits.test, given_ranks([*last[:3], wrong, *last[4:]], ALL), background)


def test_predictions_that_the_policy_does_not_ask_for_are_left_out() -> None:
    splits = small()
    background = Background.of(splits)
    rank = [1.0, 2.0, 3.0, 2.0, 4.0, 5.0]
    for slots, rows in (("subject", [0, 2, 4]), ("object", [1, 3, 5])):
        policy = Policy(slots=slots)  # type: ignore[arg-type]
        found = judge(splits.test, given_ranks(rank, ALL), background, policy=policy).ranks
        assert found.by("realistic").tolist() == [rank[row] for row in rows]
    one = splits.test[:1]  # of one query only, with predictions before and after it
    for slots, row in (("subject", 0), ("object", 1)):
        policy = Policy(slots=slots)  # type: ignore[arg-type]
        found = judge(one, given_ranks(rank[:2], ALL[:2]), background, policy=policy).ranks
        assert found.by("realistic").tolist() == [rank[row]]
    with pytest.raises(DataError, match="nothing to rank"):
        judge(splits.test, given_ranks(rank, ALL), background, policy=Policy(slots="value"))


def test_scores_of_some_candidates_only() -> None:
    """What has no score comes after what has; a query without any has the last rank."""
    splits = small()
    rows = np.array([(0, 0, 0), (0, 0, 1), (0, 1, 3), (1, 0, 3), (1, 0, 4), (2, 0, 0), (2, 0, 3)])
    score = np.array([2.0, 2.0, 1.0, 1.0, 3.0, 5.0, 4.0])
    given = ScoredCandidates(rows[:, 0], rows[:, 1], rows[:, 2], score)
    ranks = judge(splits.test, given, Background.of(splits), missing="worst").ranks
    # a ties with b; b has no score beside d, nor have a and e (c is known); a neither beside d, e
    assert ranks.greater.tolist() == [0, 1, 2, 3, 1, 4]
    assert ranks.equal.tolist() == [1, 2, 2, 0, 0, 0]
    assert ranks.score[[0, 4]].tolist() == [2.0, 4.0]
    assert np.isnan(ranks.score[[1, 2, 3, 5]]).all()


def test_a_known_answer_does_not_compete_even_as_the_last_of_all() -> None:
    names = {"entities": "abcde", "relations": "r"}
    train, test = (HKG.from_facts([Fact("a", "r", o)], **names) for o in "eb")
    splits = Splits({"train": train, "test": test}, "two")
    rows = np.array([(0, 1, entity) for entity in range(5)])
    score = np.array([0.0, 1.0, 2.0, 0.0, 3.0])
    given = ScoredCandidates(rows[:, 0], rows[:, 1], rows[:, 2], score)
    policy = Policy(slots="object")
    ranks = judge(test, given, Background.of(splits), policy=policy).ranks
    assert (ranks.greater.tolist(), ranks.equal.tolist()) == ([1], [0])  # c, but not e
    assert ranks.candidates.tolist() == [4]
