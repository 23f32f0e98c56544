"""Ranking against a plain oracle, and the policies that make numbers comparable."""

import random

import numpy as np
import pytest
import torch
from torch import Tensor

from hyperfact.errors import DataError, NumericalError
from hyperfact.evaluation import Limits, Metrics, Policy, Ranks, Ties, evaluate
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import KnownAnswers
from hyperfact.models.transeq import TransEQ
from tests.support.models import model_of, random_facts


def brute_force(
    model: TransEQ, graph: HKG, known: set[Fact], *, slots: str = "all"
) -> list[tuple[int, int]]:
    """Greater and equal rivals of each slot of each fact, by sets of facts."""
    from hyperfact.graph.batches import FactBatch

    found, names = [], list(graph.entities)
    z = model.eval().encode()
    for row, fact in enumerate(graph):
        for slot in range(2 if slots == "so" else fact.arity):
            batch = FactBatch.of(graph, np.array([row]))
            scores = model.score_slot(batch, torch.tensor([slot]), z)[0].tolist()
            answer = [fact.subject, fact.object, *(v for _, v in fact.qualifiers)][slot]
            true = scores[names.index(answer)]
            greater = equal = 0
            for name, score in zip(names, scores, strict=True):
                if name != answer and filled(fact, slot, name) not in known:
                    greater += score > true
                    equal += score == true
            found.append((greater, equal))
    return found


def filled(fact: Fact, slot: int, name: str) -> Fact:
    pairs = list(fact.qualifiers)
    if slot >= 2:
        pairs[slot - 2] = (pairs[slot - 2][0], name)
    subject = name if slot == 0 else fact.subject
    return Fact(subject, fact.relation, name if slot == 1 else fact.object, tuple(pairs))


def tied_model(graph: HKG, seed: int, *, levels: int) -> TransEQ:
    """Few distinct vectors, so that ties are common."""
    model = model_of(graph, precision="float64", seed=seed)
    with torch.no_grad():
        table = model.encoder.entities
        assert isinstance(table, Tensor)
        table.copy_(table[torch.arange(len(table)) % levels])
    return model


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("slots", ["all", "so"])
def test_counts_are_those_of_the_oracle(seed: int, slots: str) -> None:
    rng = random.Random(seed)
    whole = random_facts(60, entities=9, seed=seed)
    rows = np.arange(60)
    train, test = whole.select(rows[:45]), whole.select(rows[45:])
    model = tied_model(train, seed, levels=rng.choice((1, 3, 9)))
    known = KnownAnswers.build(train, test)
    policy = Policy(slots=slots)  # type: ignore[arg-type]
    found = evaluate(model, test, known, policy=policy, limits=Limits(rng.choice((1, 5, 1000))))
    expected = brute_force(model, test, set(whole), slots=slots)
    counts = zip(found.ranks.greater.tolist(), found.ranks.equal.tolist(), strict=True)
    assert list(counts) == expected
    assert len(found.ranks) == len(expected)
    assert sum(m.ranks for m in found.by_arity().values()) == len(expected)
    assert sum(m.ranks for m in found.by_slot().values()) == len(expected)


def test_a_constant_model_is_not_good() -> None:
    graph = HKG.from_facts([Fact("e0", "r", "e1")], entities=[f"e{i}" for i in range(1000)])
    model = tied_model(graph, 0, levels=1)
    known = KnownAnswers.build(graph)
    mrr = {
        ties: evaluate(model, graph, known, policy=Policy(ties=ties)).metrics.mrr
        for ties in ("realistic", "optimistic", "pessimistic")
    }
    assert mrr == {"realistic": pytest.approx(2 / 1001), "optimistic": 1.0, "pessimistic": 0.001}


def test_the_known_answers_are_filtered_and_others_are_not() -> None:
    graph = HKG.from_facts(
        [Fact("a", "r", "b"), Fact("a", "r", "c"), Fact("a", "r", "d", (("q", "e"),))]
    )
    model = tied_model(graph, 0, levels=1)
    ranks = evaluate(model, graph.select(np.array([0])), KnownAnswers.build(graph)).ranks
    assert ranks.equal.tolist() == [4, 3]  # of 5 entities; c also answers (a, r, ?), d does not
    assert ranks.candidates.tolist() == [5, 4]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
def test_a_score_that_is_not_finite_stops_and_names_the_fact(bad: float) -> None:
    graph = random_facts(20)
    model = model_of(graph)
    with torch.no_grad():
        next(model.parameters())[int(graph.columns.subject[0])] = bad
    with pytest.raises(NumericalError, match=r"slot .* of the fact"):
        evaluate(model, graph, KnownAnswers.build(graph))


def test_evaluation_has_no_side_effects() -> None:
    graph = random_facts(30)
    model = model_of(graph, {"name": "compgcn"})
    model.train()
    model.decoder.eval()
    before = {name: t.clone() for name, t in model.state_dict().items()}
    state = torch.get_rng_state()
    first = evaluate(model, graph, KnownAnswers.build(graph)).metrics
    assert evaluate(model, graph, KnownAnswers.build(graph)).metrics == first
    assert model.training
    assert model.encoder.training
    assert not model.decoder.training
    assert all(torch.equal(before[n], t) for n, t in model.state_dict().items())
    assert torch.equal(state, torch.get_rng_state())


def test_batches_do_not_change_ranks() -> None:
    graph = random_facts(40)
    model = model_of(graph, {"name": "compgcn"}, precision="float64")
    known = KnownAnswers.build(graph)
    results = [evaluate(model, graph, known, limits=Limits(size)).ranks for size in (1, 7, 10**6)]
    for other in results[1:]:
        assert np.array_equal(results[0].greater, other.greater)
        assert np.array_equal(results[0].equal, other.equal)


@pytest.mark.parametrize("ties", ["realistic", "optimistic", "pessimistic"])
def test_metrics_are_averages_of_ranks(ties: Ties) -> None:
    one = np.zeros(3, dtype=np.int64)
    ranks = Ranks(one, one, one + 2, np.array([0, 2, 20]), np.array([0, 2, 4]), one + 30, one / 2)
    share = {"realistic": 0.5, "optimistic": 0.0, "pessimistic": 1.0}[ties]
    places = [1.0, 3 + 2 * share, 21 + 4 * share]
    metrics = Metrics.of(ranks, ties)
    assert metrics.mrr == pytest.approx(sum(1 / p for p in places) / 3)
    assert metrics.hits_at_1 == pytest.approx(1 / 3)
    assert metrics.hits_at_3 == pytest.approx((1 + (places[1] <= 3)) / 3)
    assert metrics.hits_at_10 == pytest.approx(2 / 3)
    assert metrics.mean_rank == pytest.approx(sum(places) / 3)
    assert set(metrics.as_dict()) >= {"mrr", "hits@1", "hits@3", "hits@10", "ranks"}


def test_nothing_to_rank_is_an_error() -> None:
    graph = random_facts(10)
    with pytest.raises(DataError, match="nothing to rank"):
        evaluate(model_of(graph), graph[0:0], KnownAnswers.build(graph))
