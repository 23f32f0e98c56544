"""Slices, intervals, comparisons, and predictions that other software made."""

import json
from pathlib import Path

import duckdb
import numpy as np
import pytest
import torch

from hyperfact.errors import (
    DataError,
    FormatError,
    HyperfactError,
    NumericalError,
    UnknownNameError,
)
from hyperfact.evaluation import (
    SLICES,
    Background,
    Evaluation,
    GivenRanks,
    Metrics,
    Policy,
    Ranks,
    ScoredCandidates,
    align,
    check_invariants,
    compare,
    judge,
    rank_with,
)
from hyperfact.evaluation.bootstrap import resampled_means
from hyperfact.evaluation.predictions import read_predictions
from hyperfact.evaluation.slices import NOT_SEEN, SEEN
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.queries import Queries
from tests.support.models import random_facts
from tests.support.oracle import scorer

noise = scorer(13)


def splits_of(count: int = 120, entities: int = 12) -> Splits:
    whole = random_facts(count, entities=entities)
    cut = 2 * count // 3
    return Splits({"train": whole[:cut], "test": whole[cut:]}, "toy")


@pytest.fixture
def found() -> Evaluation:
    splits = splits_of()
    return rank_with(noise, splits.test, Background.of(splits))


@pytest.mark.parametrize("name", SLICES)
def test_slices_sum_to_the_whole(found: Evaluation, name: str) -> None:
    parts = found.by(name)
    expected = len(found.ranks)
    if name == "attribute":
        expected = int((found.ranks.slot >= 2).sum())
    assert sum(m.ranks for m in parts.values()) == expected
    assert len(parts) > (name != "frequency")  # each of the few entities is frequent
    if name != "attribute":
        mean = sum(m.mrr * m.ranks for m in parts.values()) / expected
        assert mean == pytest.approx(found.metrics.mrr)


def test_each_slice_holds_what_it_says() -> None:
    train = [Fact("a", "r", "b", (("q", "c"),)), Fact("a", "s", "a")]
    test = [Fact("a", "r", "b"), Fact("b", "s", "d", (("q", "a"), ("p", "c")))]
    parts = {
        n: HKG.from_facts(f, entities="abcd", relations="pqrs")
        for n, f in (("train", train), ("test", test))
    }
    splits = Splits(parts, "tiny")
    found = rank_with(noise, splits.test, Background.of(splits))
    sizes = {name: {k: m.ranks for k, m in found.by(name).items()} for name in SLICES}
    assert sizes == {
        "slot": {"subject": 2, "object": 2, "value": 2},
        "arity": {"2": 2, "4": 4},
        "relation": {"r": 2, "s": 4},
        "attribute": {"p": 1, "q": 1},
        "frequency": {"never": 1, "once": 3, "2 to 9 times": 2},
        "primary": {SEEN: 2, NOT_SEEN: 4},
    }
    assert found.leak_free is not None
    assert found.leak_free.ranks == 4
    halves = found.by("relation").values()
    assert found.macro.mrr == pytest.approx(sum(m.mrr for m in halves) / 2)
    assert found.by_arity().keys() == {2, 4}
    with pytest.raises(UnknownNameError, match="did you mean 'arity'"):
        found.by("aritie")


def test_an_interval_is_that_of_a_plain_bootstrap(found: Evaluation) -> None:
    interval = found.intervals(resamples=2000)["mrr"]
    assert interval.low < found.metrics.mrr < interval.high
    assert found.intervals()["mrr"] == found.intervals()["mrr"]
    rng = np.random.default_rng(5)
    facts = np.unique(found.ranks.fact)
    rows = {fact: np.flatnonzero(found.ranks.fact == fact) for fact in facts}
    places, means = found.ranks.by("realistic"), []
    for _ in range(2000):
        drawn = np.concatenate([rows[f] for f in rng.choice(facts, len(facts))])
        means.append(float((1 / places[drawn]).mean()))
    low, high = np.quantile(means, [0.025, 0.975])
    assert interval.low == pytest.approx(low, abs=0.004)
    assert interval.high == pytest.approx(high, abs=0.004)
    assert set(found.intervals()) == {"mrr", "hits@1", "hits@3", "hits@10"}


def test_the_number_of_resamples_is_that_asked_for(found: Evaluation) -> None:
    values = np.ones((len(found.ranks), 2))
    means = resampled_means(found.ranks.fact, values, resamples=17)
    assert means.shape == (17, 2)
    assert np.array_equal(means, np.ones((17, 2)))


@pytest.mark.parametrize(("greater", "equal"), [(0, 0), (0, 3), (2, 0), (4, 5)])
def test_the_expected_reciprocal_is_the_mean_over_all_places(greater: int, equal: int) -> None:
    one = np.ones(1, dtype=np.int64)
    ranks = Ranks(one, one, one, greater * one, equal * one, 20 * one, one / 2)
    places = range(1 + greater, 2 + greater + equal)
    expected = sum(1 / place for place in places) / len(places)
    assert ranks.expected_reciprocal().tolist() == [pytest.approx(expected, abs=1e-15)]


@pytest.mark.parametrize(
    ("mrr", "hits", "law"),
    [
        (0.3, {1: 0.4, 3: 0.5, 10: 0.6}, "Hits@1 <= MRR"),
        (0.71, {1: 0.4, 3: 0.5, 10: 0.6}, "Hits@1 <= MRR"),
        (0.5, {1: 0.4, 3: 0.3, 10: 0.6}, "Hits@1 <= Hits@3"),
        (0.5, {1: 0.4, 3: 0.5, 10: 0.45}, "Hits@1 <= Hits@3"),
        (0.0, {1: 0.0, 3: 0.5, 10: 0.5}, "0 < MRR"),
        (1.5, {1: 1.0, 3: 1.0, 10: 1.0}, "MRR <= 1"),
    ],
)
def test_metrics_that_cannot_be_are_a_bug(
    found: Evaluation, monkeypatch: pytest.MonkeyPatch, mrr: float, hits: dict[int, float], law: str
) -> None:
    check_invariants(found.ranks)
    wrong = Metrics(mrr, hits, 2.0, 0.5, 10)
    monkeypatch.setattr(Metrics, "of", lambda *_: wrong)
    with pytest.raises(HyperfactError, match=law):
        check_invariants(found.ranks)


# -- comparisons ----------------------------------------------------------------------------------


def shifted(ranks: Ranks, step: int) -> Ranks:
    greater = np.maximum(0, ranks.greater + step)
    columns = {**ranks.columns(), "greater": greater}
    return Ranks(*columns.values())


def test_a_ranking_compared_with_itself(found: Evaluation) -> None:
    same = compare(found.ranks, found.ranks)
    assert (same.wins, same.ties, same.losses) == (0, len(found.ranks), 0)
    assert same.difference == 0.0
    assert same.p == 1.0
    assert same.interval.low <= 0 <= same.interval.high


def test_a_better_ranking_wins(found: Evaluation) -> None:
    better = shifted(found.ranks, -1)
    shuffled = better.take(np.random.default_rng(0).permutation(len(better)))
    gain = compare(*align(found.ranks, shuffled))
    assert gain.losses == 0
    assert gain.wins == int((found.ranks.greater > 0).sum())
    assert gain.wins + gain.ties == gain.ranks
    assert gain.difference == pytest.approx(gain.second - gain.first)
    assert gain.interval.low > 0
    assert gain.p < 0.01
    loss = compare(*align(better, found.ranks))
    assert loss.difference == pytest.approx(-gain.difference)
    assert loss.interval.high == pytest.approx(-gain.interval.low)
    part = compare(found.ranks, better, rows=np.flatnonzero(found.ranks.slot < 2))
    assert part.ranks == int((found.ranks.slot < 2).sum())


def test_other_queries_cannot_be_compared(found: Evaluation) -> None:
    with pytest.raises(DataError, match="do not ask the same"):
        align(found.ranks, found.ranks.take(np.arange(len(found.ranks) - 1)))


# -- predictions ----------------------------------------------------------------------------------


def everything(splits: Splits) -> ScoredCandidates:
    """All scores of `noise`, as other software would write them."""
    graph = splits.test
    queries = Queries.of(graph)
    facts = FactBatch.of(graph, queries.fact)
    count = len(graph.entities)
    scores = noise(facts, torch.from_numpy(queries.slot).long(), slice(0, count)).double().numpy()
    return ScoredCandidates(
        np.repeat(queries.fact, count),
        np.repeat(queries.slot, count),
        np.tile(np.arange(count), len(queries)),
        scores.ravel(),
    )


@pytest.mark.parametrize("filter", ["exact", "ignore-qualifiers", "none"])
@pytest.mark.parametrize("candidates", ["all", "seen-so"])
def test_foreign_scores_are_judged_as_our_own(filter: str, candidates: str) -> None:
    splits = splits_of()
    policy = Policy(filter=filter, candidates=candidates)  # type: ignore[arg-type]
    background = Background.of(splits)
    ours = rank_with(noise, splits.test, background, policy=policy).ranks
    theirs = judge(splits.test, everything(splits), background, policy=policy).ranks
    for name in ("fact", "slot", "greater", "equal", "candidates", "score"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name


def test_candidates_without_a_score_come_last_together() -> None:
    splits = splits_of()
    full = everything(splits)
    top = full.score >= 8
    given = ScoredCandidates(
        *(getattr(full, n)[top] for n in ("fact", "slot", "candidate", "score"))
    )
    background = Background.of(splits)
    ours = rank_with(noise, splits.test, background).ranks
    theirs = judge(splits.test, given, background, missing="worst").ranks
    kept = ~np.isnan(theirs.score)
    assert np.array_equal(ours.greater[kept], theirs.greater[kept])
    assert np.array_equal(ours.equal[kept], theirs.equal[kept])
    listed = ~kept & (theirs.equal > 0)
    last = (1 + theirs.greater + theirs.equal)[listed]
    assert listed.any()
    assert np.array_equal(last, theirs.candidates[listed])


def test_given_ranks_are_taken_as_they_are() -> None:
    splits = splits_of()
    background = Background.of(splits)
    ours = rank_with(noise, splits.test, background).ranks
    rank = 1.0 + ours.greater + 0.5 * (ours.equal > 0)
    theirs = judge(splits.test, GivenRanks(ours.fact, ours.slot, rank), background).ranks
    assert np.array_equal(theirs.by("realistic"), rank)
    assert np.isnan(theirs.score).all()


def test_wrong_predictions_are_refused() -> None:
    splits = splits_of()
    graph, background = splits.test, Background.of(splits)
    ours = rank_with(noise, graph, background).ranks
    fact, slot, one = ours.fact, ours.slot, np.ones(len(ours))

    def refuse(given: ScoredCandidates | GivenRanks, message: str) -> None:
        with pytest.raises((DataError, NumericalError), match=message):
            judge(graph, given, background)

    refuse(GivenRanks(fact[1:], slot[1:], one[1:]), "1 of .* queries have no prediction")
    refuse(GivenRanks(fact, slot, one * 0.5), "a rank must be")
    refuse(GivenRanks(fact, slot, one * 500), "without a filter")
    twice = np.append(np.arange(len(fact)), 0)
    refuse(GivenRanks(fact[twice], slot[twice], one[twice]), "more than one rank")
    full = everything(splits)
    broken = full.score.copy()
    broken[7] = np.nan
    refuse(ScoredCandidates(full.fact, full.slot, full.candidate, broken), "finite")
    same = np.zeros_like(full.candidate)
    refuse(ScoredCandidates(full.fact, full.slot, same, full.score), "more than one score")


def rows_of(splits: Splits, *, named: bool) -> list[dict[str, object]]:
    graph, full = splits.test, everything(splits)
    found: list[dict[str, object]] = []
    for i in range(len(full.fact)):
        fact, slot = graph[int(full.fact[i])], int(full.slot[i])
        entities = [fact.subject, fact.object, *(v for _, v in fact.qualifiers)]
        entities_asked = ["?" if j == slot else e for j, e in enumerate(entities)]
        s, o, *values = entities_asked
        pairs = [f"{a} = {v}" for (a, _), v in zip(fact.qualifiers, values, strict=True)][::-1]
        key: dict[str, object] = {"fact": int(full.fact[i]), "slot": slot}
        if named:
            question = " | ".join([s, fact.relation, o, *pairs])
            key = {"question": question, "answer": entities[slot]}
        candidate = graph.entities[int(full.candidate[i])]
        found.append({**key, "candidate": candidate, "score": float(full.score[i])})
    return found


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet", ".tsv"])
@pytest.mark.parametrize("named", [True, False])
def test_files_of_predictions_are_read(tmp_path: Path, suffix: str, named: bool) -> None:
    splits = splits_of(45)
    rows = rows_of(splits, named=named)
    lines = tmp_path / "rows.jsonl"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    path = tmp_path / f"given{suffix}"
    options = {".csv": "FORMAT csv", ".tsv": "FORMAT csv, DELIMITER '\t'"}
    kind = options.get(suffix, "FORMAT " + ("parquet" if suffix == ".parquet" else "json"))
    duckdb.sql(f"COPY (FROM read_json('{lines}')) TO '{path}' ({kind})")
    given = read_predictions(path, splits.test)
    assert isinstance(given, ScoredCandidates)
    background = Background.of(splits)
    ours, theirs = (judge(splits.test, g, background).ranks for g in (everything(splits), given))
    assert np.array_equal(ours.greater, theirs.greater)
    assert np.array_equal(ours.equal, theirs.equal)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fact,slot,rank\n", "holds no prediction"),
        ("fact,rank\n0,1\n", "lacks the column 'slot'"),
        ("fact,slot,score\n0,0,1\n", "lacks the column 'candidate'"),
        ("fact,slot,rank\n0,0,best\n", "expected a number in the column 'rank', got 'best'"),
        ("fact,slot,rank\n0.5,0,1\n", "whole numbers in the column 'fact'"),
        ("fact,slot,rank\n99,0,1\n", "fact 99 of 15"),
        ("fact,slot,rank\n0,9,1\n", "slot 9 of fact 0"),
        ("fact,slot,candidate,score\n0,0,e99,1\n", "unknown entity 'e99'"),
        ("question,answer,rank\ne1 | r0 | ?,e99,1\n", "unknown entity 'e99'"),
        ("question,answer,rank\ne1 | r0 | ?,e1,1\n", "not among the facts"),
        ("question,answer,rank\ne1 | r0 | e2,e1,1\n", "one blank"),
    ],
)
def test_a_wrong_file_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "given.csv"
    path.write_text(text)
    with pytest.raises(FormatError, match=message) as caught:
        read_predictions(path, splits_of(45).test)
    assert str(path) in str(caught.value)
    with pytest.raises(FormatError, match="ends in"):
        read_predictions(tmp_path / "given.xlsx", splits_of(45).test)
    with pytest.raises(FormatError, match="no such file"):
        read_predictions(tmp_path / "absent.csv", splits_of(45).test)
