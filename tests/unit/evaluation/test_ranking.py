"""Ties, one score path, numbers that are none, batches, candidates, names: nothing else counts."""

from collections.abc import Iterator

import numpy as np
import pytest
import torch
from torch import Tensor

from hyperfact.errors import HyperfactError, NumericalError, UnknownNameError, UserError
from hyperfact.evaluation import (
    Background,
    Limits,
    Policy,
    Ranks,
    Scorer,
    check_invariants,
    evaluate,
    rank_with,
)
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact, Vocabulary
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.queries import KnownAnswers
from hyperfact.models.decoders import DECODERS
from hyperfact.models.representations import Representations
from tests.support.models import model_of, random_facts


@pytest.fixture(autouse=True)
def _same_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def constant(facts: FactBatch, slots: Tensor, candidates: slice) -> Tensor:  # noqa: ARG001
    return torch.zeros(len(facts), candidates.stop - candidates.start)


@pytest.mark.parametrize("size", [2, 10, 1000])
def test_a_constant_model_is_not_good(size: int) -> None:
    graph = HKG.from_facts([Fact("e0", "r", "e1")], entities=[f"e{i}" for i in range(size)])
    found = rank_with(constant, graph, KnownAnswers.build(graph))
    harmonic = sum(1 / i for i in range(1, size + 1))
    assert found.ties["realistic"] == pytest.approx(2 / (size + 1), abs=1e-15)
    assert found.ties["expected"] == pytest.approx(harmonic / size, abs=1e-15)
    assert found.ties["optimistic"] == 1.0
    assert found.ties["pessimistic"] == pytest.approx(1 / size, abs=1e-15)
    assert found.metrics.amri == pytest.approx(0.0, abs=1e-12)
    if size == 1000:
        assert found.metrics.mrr == pytest.approx(0.001998, abs=1e-6)
        assert found.ties["expected"] == pytest.approx(0.007485, abs=1e-6)


@pytest.mark.parametrize("decoder", [d for d in DECODERS if not DECODERS[d].reads_facts])
@pytest.mark.parametrize(
    "chunk",
    [701, *(pytest.param(size, marks=pytest.mark.slow) for size in (10**6, 192))],
)
def test_ten_copies_of_the_answer_share_its_place(decoder: str, chunk: int) -> None:
    """The score of the answer comes from the same matrix as those of its copies (trap 2)."""
    base, queries = 211, 32
    entities = [f"e{i}" for i in range(10 * base)]
    draft = HKG.from_facts(
        [Fact(f"e{i}", "r", "e0") for i in range(queries)], entities=entities, relations=["r"]
    )
    model = model_of(draft, decoder={"name": decoder}, dim=24)
    model.unseen = None  # most entities are in no fact here
    with torch.no_grad():
        table = model.encoder.entities
        assert isinstance(table, Tensor)
        table.copy_(table[:base].repeat(10, 1))
        facts = FactBatch.of(draft, np.arange(queries))
        z = model.eval().encode()
        best = model.decoder.score_slot(facts, torch.ones(queries, dtype=torch.long), z).argmax(1)
    graph = HKG.from_facts(
        [Fact(f"e{i}", "r", f"e{b}") for i, b in enumerate(best.tolist())],
        entities=entities,
        relations=["r"],
    )
    found = evaluate(
        model,
        graph,
        KnownAnswers.build(graph),
        policy=Policy(slots="object"),
        limits=Limits(7, chunk),
    )
    assert found.ranks.greater.max() == 0
    assert found.ranks.equal.tolist() == [9] * queries
    assert found.metrics.mrr == pytest.approx(2 / 11, abs=1e-6)


# -- numbers that are none ------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf")])
@pytest.mark.parametrize("where", ["answer", "rival", "filtered", "everywhere"])
def test_a_score_that_is_no_number_stops_the_ranking(bad: float, where: str) -> None:
    graph = HKG.from_facts([Fact("a", "r", "b"), Fact("a", "r", "c")], entities="abcd")
    column = {"answer": 1, "rival": 3, "filtered": 2}.get(where)

    def score(facts: FactBatch, slots: Tensor, candidates: slice) -> Tensor:
        scores = torch.randn(len(facts), 4, generator=torch.Generator().manual_seed(0))
        asked = slots == 1
        if column is None:
            scores[asked] = bad
        else:
            scores[asked, column] = bad
        return scores[:, candidates]

    only = graph.select(np.array([0]))
    with pytest.raises(NumericalError, match=r"slot object of the fact 'a \| r \| b'") as caught:
        rank_with(score, only, KnownAnswers.build(graph))
    assert caught.value.exit_code == 5


def test_very_low_scores_are_numbers_like_others() -> None:
    """Filtered candidates are left out by a mask, not by a low score that others may undercut."""
    graph = HKG.from_facts([Fact("a", "r", "b"), Fact("a", "r", "c")], entities="abcd")

    def score(facts: FactBatch, slots: Tensor, candidates: slice) -> Tensor:  # noqa: ARG001
        return torch.tensor([-1e12, -1e30, -1e8, -1e34])[candidates].expand(len(facts), -1)

    ranks = rank_with(score, graph.select(np.array([0])), KnownAnswers.build(graph)).ranks
    assert ranks.greater.tolist() == [1, 1]  # of a: c; of b: a, but not c, which is known
    assert ranks.equal.tolist() == [0, 0]


# -- batches, pieces, threads ---------------------------------------------------------------------


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_batches_pieces_and_threads_do_not_change_ranks(precision: str) -> None:
    graph = random_facts(60, entities=400)
    model = model_of(graph, {"name": "compgcn"}, dim=20, precision=precision)
    z = model.eval().encode()
    known, found = KnownAnswers.build(graph), []
    sizes = [(128, 1), (128, 7), (128, 192), (128, 250), (1, 10**6), (7, 10**6), (128, 10**6)]
    for threads in (1, 2):
        torch.set_num_threads(threads)
        for size in sizes:
            limits = Limits(*size)
            found.append(evaluate(model, graph, known, limits=limits, representations=z))
    first = found[0]
    for other in found[1:]:
        same = (first.ranks.greater == other.ranks.greater) & (
            first.ranks.equal == other.ranks.equal
        )
        assert same.all() if precision == "float64" else same.mean() >= 0.999
        assert abs(first.metrics.mrr - other.metrics.mrr) <= (
            0.0 if precision == "float64" else 5e-5
        )


# -- candidates and names -------------------------------------------------------------------------


def test_only_entities_compete() -> None:
    """Rows beyond the entities (mediators, inverse ids) would win if they were looked at."""
    graph = random_facts(40)
    model = model_of(graph, precision="float64")
    z = model.eval().encode()
    more = torch.cat([z.entities, 1e6 * torch.ones(500, z.entities.shape[1]).double()])
    known = KnownAnswers.build(graph)
    plain = evaluate(model, graph, known)
    crowded = evaluate(model, graph, known, representations=Representations(more, z.relations))
    assert np.array_equal(plain.ranks.greater, crowded.ranks.greater)
    assert plain.metrics == crowded.metrics
    assert plain.candidates == crowded.candidates == len(graph.entities)


def test_padding_does_not_favour_entity_zero() -> None:
    """A fact ranks the same alone and beside a longer one, whose batch pads it with id 0."""
    graph = HKG.from_facts(
        [Fact("b", "r", "c"), Fact("b", "r", "d", (("p", "a"), ("q", "c"), ("p", "b")))]
    )
    model = model_of(graph, precision="float64")
    known = KnownAnswers.build(graph)
    both = evaluate(model, graph, known).ranks
    alone = evaluate(model, graph.select(np.array([0])), known).ranks
    assert both.greater[:2].tolist() == alone.greater.tolist()


@pytest.mark.parametrize("decoder", DECODERS)
def test_renaming_and_shuffling_change_nothing(decoder: str) -> None:
    graph = random_facts(50)
    model = model_of(graph, decoder={"name": decoder}, precision="float64")
    rng = np.random.default_rng(0)
    order = rng.permutation(len(graph.entities))  # new id -> old id
    names = Vocabulary(graph.entities[int(i)] for i in order)
    facts = list(graph)
    rows = rng.permutation(len(facts))
    moved = HKG.from_facts(
        [_turned(facts[i]) for i in rows], entities=names, relations=graph.relations
    )
    other = model_of(moved, decoder={"name": decoder}, precision="float64")
    weights = dict(model.state_dict())
    for name, tensor in weights.items():
        if "entit" in name and len(tensor) == len(order):
            weights[name] = tensor[torch.from_numpy(order)]
    other.load_state_dict(weights)
    before, after = (
        _by_fact(g, evaluate(m, g, KnownAnswers.build(g)).ranks)
        for g, m in ((graph, model), (moved, other))
    )
    assert before == after


def _turned(fact: Fact) -> Fact:
    return Fact(*fact.primary, fact.qualifiers[::-1])


def _by_fact(graph: HKG, ranks: Ranks) -> dict[tuple[Fact, str, str], tuple[int, int]]:
    found = {}
    for i in range(len(ranks)):
        fact, slot = graph[int(ranks.fact[i])], int(ranks.slot[i])
        pair = fact.qualifiers[slot - 2] if slot >= 2 else (str(slot), "")
        found[(fact, *pair)] = (int(ranks.greater[i]), int(ranks.equal[i]))
    return found


# -- policies -------------------------------------------------------------------------------------


def small() -> Splits:
    entities = "abcdefg"
    train = [Fact("a", "r", "b"), Fact("a", "r", "c", (("q", "d"),)), Fact("e", "r", "c")]
    test = [Fact("a", "r", "e", (("q", "d"),)), Fact("f", "r", "b")]
    parts = {
        name: HKG.from_facts(facts, entities=entities, relations=["q", "r"])
        for name, facts in (("train", train), ("test", test))
    }
    return Splits(parts, "small")


@pytest.mark.parametrize(
    ("policy", "candidates"),
    [
        (Policy(), [7, 6, 7, 6, 7]),  # c answers with the same qualifier; a is a subject of b
        (Policy(filter="none"), [7] * 5),
        (Policy(filter="train-only"), [7, 6, 7, 6, 7]),
        (Policy(filter="train+valid"), [7, 6, 7, 6, 7]),
        (Policy(filter="ignore-qualifiers"), [7, 5, 7, 6, 7]),  # b answers without qualifier
        (Policy(candidates="seen-so"), [5, 4, 6, 4, 5]),  # d and g never; d as its own answer
        (Policy(unseen="skip"), [7, 6, 7]),
        (Policy(slots="so"), [7, 6, 6, 7]),
        (Policy(slots="value"), [7]),
    ],
)
def test_a_policy_says_who_competes(policy: Policy, candidates: list[int]) -> None:
    splits = small()
    found = rank_with(constant, splits.test, Background.of(splits), policy=policy)
    assert found.ranks.candidates.tolist() == candidates
    assert found.ranks.equal.tolist() == [c - 1 for c in candidates]
    assert found.as_dict()["policy"]["filter"] == policy.filter
    assert found.skipped == (2 if policy.unseen == "skip" else 0)
    assert found.candidates == (5 if policy.candidates == "seen-so" else 7)


def test_a_policy_is_checked() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'optimistic'"):
        Policy(ties="optimist")  # type: ignore[arg-type]
    splits = small()
    for policy in (Policy(filter="train-only"), Policy(unseen="skip")):
        with pytest.raises(UserError, match="needs the training facts"):
            rank_with(constant, splits.test, KnownAnswers.build(splits.all), policy=policy)
    with pytest.raises(UserError, match="needs to know the splits"):
        rank_with(
            *(constant, splits.test, KnownAnswers.build(splits.all)),
            policy=Policy(filter="train+valid"),
        )


# -- what must always hold ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("greater", "equal", "candidates", "law"),
    [
        ([-1], [0], [5], "not negative"),
        ([0], [-1], [5], "not negative"),
        ([4], [1], [5], "beyond the candidates"),
    ],
)
def test_a_ranking_that_cannot_be_is_a_bug(
    greater: list[int], equal: list[int], candidates: list[int], law: str
) -> None:
    zero = np.zeros(1, dtype=np.int64)
    one, two, three = (np.array(numbers) for numbers in (greater, equal, candidates))
    with pytest.raises(HyperfactError, match=law) as caught:
        check_invariants(Ranks(zero, zero, zero + 2, one, two, three, zero / 1))
    assert caught.value.exit_code == 70


def test_a_scorer_may_be_any_function() -> None:
    score: Scorer = constant
    graph = random_facts(5)
    assert len(rank_with(score, graph, KnownAnswers.build(graph)).ranks) == graph.arity.sum()
