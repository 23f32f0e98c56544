"""Losses against plain loops; negatives against the facts they must avoid."""

import math
import random
from itertools import pairwise
from typing import Literal

import numpy as np
import pytest
import torch

from hyperfact.config import ExperimentConfig, ObjectiveConfig
from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.partial import AgreeingAnswers
from hyperfact.graph.queries import KnownAnswers, Queries
from hyperfact.kernels.reference import softmax_loss
from hyperfact.kernels.softmax import SoftmaxOptions, Targets
from hyperfact.models.decoders.decoder import LinearForm, put
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ
from hyperfact.training.adversarial import self_adversarial
from hyperfact.training.joint import JointSoftmax
from hyperfact.training.objective import AllEntities, SampledNegatives
from hyperfact.training.objectives import make_objective
from hyperfact.training.share import sampled
from tests.support.models import model_of, random_facts, toy


def naive_loss(scores: list[float], answers: list[int], *, mask: bool, smoothing: float) -> float:
    """The mean over answers of the cross-entropy with a smoothed target."""
    total = 0.0
    for answer in answers:
        candidates = [j for j in range(len(scores)) if j == answer or not (mask and j in answers)]
        z = math.log(sum(math.exp(scores[j]) for j in candidates))
        for j in candidates:
            target = smoothing / len(candidates) + (1 - smoothing) * (j == answer)
            total -= target * (scores[j] - z)
    return total / len(answers)


@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.9])
def test_the_multi_answer_loss_is_its_formula(mask: bool, smoothing: float) -> None:
    rng = random.Random(0)
    rows = [[rng.gauss(0, 2) for _ in range(7)] for _ in range(5)]
    answers = [sorted(rng.sample(range(7), k)) for k in (1, 2, 3, 6, 7)]
    targets = Targets(
        torch.tensor([0, *np.cumsum([len(a) for a in answers])]),
        torch.tensor([a for row in answers for a in row]),
    )
    options = SoftmaxOptions(mask_others=mask, smoothing=smoothing)
    losses = softmax_loss(torch.tensor(rows).double(), targets, options)
    for row, loss in enumerate(losses.tolist()):
        expected = naive_loss(rows[row], answers[row], mask=mask, smoothing=smoothing)
        assert loss == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("biased", [False, True])
def test_a_sample_of_candidates_stands_for_all(biased: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    queries, table = (torch.randn(n, 4, generator=generator).double() for n in (3, 30))
    bias = torch.randn(30, generator=generator).double() if biased else None
    form = LinearForm(queries, table, bias)
    targets = Targets(torch.tensor([0, 1, 3, 4]), torch.tensor([7, 2, 7, 29]))
    whole = form.scores()
    sums = []
    for _ in range(3000):
        few, renamed, _ = sampled(form, targets, SoftmaxOptions(), share=0.4, generator=generator)
        scores = few.scores()
        assert 12 <= scores.shape[1] <= 15
        owner = torch.tensor([0, 1, 1, 2])
        torch.testing.assert_close(scores[owner, renamed.answers], whole[owner, targets.answers])
        sums.append(scores.exp().sum(dim=1))
    found = torch.stack(sums)
    error = found.std(dim=0) / len(found) ** 0.5
    assert bool(((found.mean(dim=0) - whole.exp().sum(dim=1)).abs() < 5 * error).all())


def test_a_share_of_candidates_is_for_training_and_linear_scores() -> None:
    graph = random_facts(40)
    model = model_of(graph, decoder={"name": "mdistmult", "dropout": 0.0}, precision="float64")
    all_of, some = (AllEntities(graph, ObjectiveConfig(share=s)) for s in (1.0, 0.3))
    items, z = np.arange(len(all_of)), model.encode()
    exact = float(all_of.loss(model, items, z, None).detach())
    assert float(some.loss(model, items, z, None).detach()) == pytest.approx(exact)
    generator = torch.Generator().manual_seed(0)
    drawn = [float(some.loss(model, items[:3], z, generator).detach()) for _ in range(5)]
    assert len(set(drawn)) > 1
    other = model_of(graph, decoder={"name": "mtransh"})
    with pytest.raises(ConfigError, match="linear"):
        some.loss(other, items, other.encode(), generator)


@pytest.mark.parametrize("decoder", ["mdistmult", "mtransh"])
@pytest.mark.parametrize("weigh_by", ["facts", "queries"])
def test_cubes_of_the_vectors_of_a_fact_are_added(
    decoder: str, weigh_by: Literal["facts", "queries"]
) -> None:
    graph = random_facts(30)
    model = model_of(graph, decoder={"name": decoder}, precision="float64")
    plain, penal = (
        AllEntities(graph, ObjectiveConfig(weigh_by=weigh_by, cubes=c)) for c in (0.0, 0.5)
    )
    items, z = np.arange(len(plain)), model.encode()
    added = penal.loss(model, items, z, None) - plain.loss(model, items, z, None)
    facts, slots, targets = plain.ask(items, None)
    vectors, expected = z.vectors(facts, slots), 0.0
    for row in range(len(items)):
        rows = [vectors[row, slot] for slot in range(vectors.shape[1]) if facts.mask[row, slot]]
        names = facts.relations[row][facts.relation_mask[row]]
        rows += [z.relations[name] for name in names.tolist()]
        size = sum(abs(x) ** 3 for vector in rows for x in vector.tolist())
        expected += 0.5 * size * (1.0 if targets.weights is None else float(targets.weights[row]))
    assert float(added.detach()) == pytest.approx(expected)


@pytest.mark.parametrize("decoder", ["mdistmult", "mtransh"])
@pytest.mark.parametrize("mask", [False, True])
@pytest.mark.parametrize("weigh_by", ["facts", "queries"])
def test_all_entities_scores_each_distinct_query_once(
    decoder: str, mask: bool, weigh_by: Literal["facts", "queries"]
) -> None:
    """Both paths, fused and plain: the loss of every query, by brute force."""
    graph = random_facts(40, entities=5)
    model = model_of(graph, decoder={"name": decoder}, precision="float64")
    settings = ObjectiveConfig(mask_others=mask, label_smoothing=0.2, weigh_by=weigh_by)
    objective = AllEntities(graph, settings)
    z = model.encode()
    assert len(objective) == len(KnownAnswers.build(graph)) < len(Queries.of(graph))
    total = 0.0
    for item in range(len(objective)):
        facts, slots = objective.batch(np.array([item]))
        scores = model.score_slot(facts, slots, z)[0].tolist()
        answers = objective.known.at(np.array([item]))[1].tolist()
        mean = len(objective.known.values) / len(objective)
        weight = len(answers) / mean if weigh_by == "facts" else 1.0
        total += weight * naive_loss(scores, answers, mask=mask, smoothing=0.2)
    loss = objective.loss(model, np.arange(len(objective)), z, None)
    assert float(loss.detach()) == pytest.approx(total)


def test_facts_of_a_query_are_all_that_it_asks_about() -> None:
    graph = random_facts(60, entities=6)
    queries = Queries.of(graph)
    table = queries.table(graph.columns)
    for objective in (
        AllEntities(graph, ObjectiveConfig()),
        SampledNegatives(graph, ObjectiveConfig(negatives=1)),
    ):
        mine = objective.queries.table(graph.columns)
        for item in range(0, len(objective), 7):
            same = [
                int(queries.fact[j])
                for j in range(len(queries))
                if table.same(np.array([j]), mine, np.array([item]))[0]
            ]
            facts = objective.facts_of(np.array([item])).tolist()
            if isinstance(objective, AllEntities):
                assert facts == sorted(set(same))
            else:
                assert facts == [int(objective.queries.fact[item])]


@pytest.mark.parametrize("decoder", ["mdistmult", "transformer"])
@pytest.mark.parametrize("smoothing", [0.0, 0.3])
def test_sampled_negatives_are_one_softmax_for_each_slot(decoder: str, smoothing: float) -> None:
    graph = toy()
    model = model_of(graph, decoder={"name": decoder, "dropout": 0.0}, precision="float64")
    objective = SampledNegatives(graph, ObjectiveConfig(negatives=3, label_smoothing=smoothing))
    items, z = np.arange(len(objective)), model.encode()
    assert len(objective) == int(graph.arity.sum())
    loss = float(objective.loss(model, items, z, torch.Generator().manual_seed(1)).detach())
    assert loss == pytest.approx(sampled_loss(objective, model, z, smoothing))


def test_negatives_that_may_not_be_used_have_no_share_in_the_loss() -> None:
    """Where nearly every entity is an answer some draws stay wrong; they are left out."""
    names = [f"e{i}" for i in range(6)]
    facts = [Fact("e0", "r", name) for name in names] + [Fact("e1", "r", "e0")]
    graph = HKG.from_facts(facts, entities=names)
    model = model_of(graph, decoder={"name": "mdistmult", "dropout": 0.0}, precision="float64")
    settings = ObjectiveConfig(negatives=4, label_smoothing=0.25, filter_negatives=True)
    objective, z = SampledNegatives(graph, settings), model.encode()
    items = np.arange(len(objective))
    _, usable = objective.draw(items, torch.Generator().manual_seed(1))
    assert not usable.all()
    assert usable.any()
    loss = float(objective.loss(model, items, z, torch.Generator().manual_seed(1)).detach())
    assert loss == pytest.approx(sampled_loss(objective, model, z, 0.25))


def sampled_loss(
    objective: SampledNegatives, model: TransEQ, z: Representations, smoothing: float
) -> float:
    """One query after the other, each against the negatives that may be used."""
    items = np.arange(len(objective))
    negatives, usable = objective.draw(items, torch.Generator().manual_seed(1))
    facts, slots = objective.batch(items)
    scores = model.score_slot(facts, slots, z)
    total = 0.0
    for row in items:
        rivals = negatives[row][usable[row]].tolist()
        there = [int(objective.queries.answer[row]), *rivals]
        some = [float(scores[row, n].detach()) for n in there]
        total += naive_loss(some, [0], mask=False, smoothing=smoothing)
    return total


@pytest.mark.parametrize("filtered", [False, True])
def test_no_negative_is_the_answer_or_a_known_fact(filtered: bool) -> None:
    graph = random_facts(300, entities=8)
    objective = SampledNegatives(graph, ObjectiveConfig(negatives=50, filter_negatives=filtered))
    known = KnownAnswers.build(graph)
    items = np.arange(len(objective))
    negatives, usable = objective.draw(items, torch.Generator().manual_seed(0))
    offsets, values = known.of(graph, objective.queries)
    for row in items:
        answers = set(values[offsets[row] : offsets[row + 1]].tolist())
        forbidden = answers if filtered else {int(objective.queries.answer[row])}
        drawn = negatives[row][usable[row]].tolist()
        assert not forbidden & set(drawn)
        assert bool(usable[row].any()) == (len(forbidden) < 8)
        assert bool(usable[row].all()) or len(forbidden) > 4  # of 8; chance may fail the others


def test_negatives_are_uniform_over_the_allowed() -> None:
    graph = toy()
    objective = SampledNegatives(graph, ObjectiveConfig(negatives=20_000))
    drawn, _ = objective.draw(np.array([0]), torch.Generator().manual_seed(0))
    counts = np.bincount(drawn[0].numpy(), minlength=7)
    allowed = [j for j in range(7) if j != objective.queries.answer[0]]
    expected = 20_000 / 6
    chi = sum((counts[j] - expected) ** 2 / expected for j in allowed)
    assert counts.sum() == counts[allowed].sum()
    assert chi < 20.5  # 5 degrees of freedom, p = 0.001


def test_settings_choose_the_objective() -> None:
    assert isinstance(make_objective(toy(), ObjectiveConfig()), AllEntities)
    assert isinstance(make_objective(toy(), ObjectiveConfig(negatives=5)), SampledNegatives)
    for negatives in (0, 5):
        settings = ObjectiveConfig(joint=True, negatives=negatives)
        assert isinstance(make_objective(toy(), settings), JointSoftmax)


def test_partial_queries_are_answered_by_all_facts_that_agree() -> None:
    graph = random_facts(80, entities=6)
    objective = AllEntities(graph, ObjectiveConfig(partial=0.9))
    items, generator = np.arange(len(objective)), torch.Generator().manual_seed(0)
    facts, slots, targets = objective.ask(items, generator)
    whole, *_ = objective.ask(items, None)
    offsets, values = objective.known.at(items)
    assert whole.mask.sum() > facts.mask.sum()  # some are left out, and only where there is chance
    answers = [
        set(targets.answers[low:high].tolist()) for low, high in pairwise(targets.offsets.tolist())
    ]
    for item, (low, high) in enumerate(pairwise(offsets.tolist())):
        assert set(values[low:high].tolist()) <= answers[item]  # whoever knew more still knows
    bare = facts.mask.sum(dim=1) == 2
    assert 0.3 < float(bare[whole.mask.sum(dim=1) > 2].double().mean()) < 0.7
    for row in torch.nonzero(bare & (slots == 1))[:, 0].tolist()[:20]:
        subject, relation = int(facts.entities[row, 0]), int(facts.relations[row, 0])
        c = graph.columns
        agree = (c.subject == subject) & (c.relation == relation)
        assert answers[row] == set(c.object[agree].tolist())


def test_partial_queries_are_drawn_anew_and_weigh_what_the_query_does() -> None:
    graph = random_facts(80, entities=6)
    objective = AllEntities(graph, ObjectiveConfig(partial=0.9))
    items, generator = np.arange(len(objective)), torch.Generator().manual_seed(0)
    (one, _, first), (two, _, _) = (objective.ask(items, generator) for _ in range(2))
    assert not (one.mask.shape == two.mask.shape and torch.equal(one.mask, two.mask))
    *_, exact = objective.ask(items, None)
    assert first.weights is not None
    assert exact.weights is not None
    assert torch.equal(first.weights, exact.weights)


def test_sampled_negatives_of_a_partial_question_answer_no_fact_that_agrees() -> None:
    graph = random_facts(80, entities=9)
    settings = ObjectiveConfig(negatives=30, partial=0.9, filter_negatives=True)
    objective = SampledNegatives(graph, settings)
    items = np.arange(len(objective))
    asked = objective.leave_out(items, torch.Generator().manual_seed(0))
    assert asked is not None
    assert (np.diff(asked.columns.offsets) < graph.num_qualifiers[objective.queries.fact]).any()
    drawn, usable = objective.draw(items, torch.Generator().manual_seed(1), asked)
    offsets, values = AgreeingAnswers.build(graph).of(asked)
    for row in items:
        known = set(values[offsets[row] : offsets[row + 1]].tolist())
        assert objective.queries.answer[row] in known
        assert known.isdisjoint(drawn[row][usable[row]].tolist())


@pytest.mark.parametrize("negatives", [0, 3])
def test_a_decoder_without_values_is_asked_for_subjects_and_objects_of_bare_facts(
    negatives: int,
) -> None:
    graph = random_facts(40, entities=9)
    objective = make_objective(graph, ObjectiveConfig(negatives=negatives), values=False)
    items = np.arange(len(objective))
    assert set(objective.queries.slot.tolist()) == {0, 1}
    facts, _ = objective.batch(items, objective.leave_out(items, None))
    assert facts.entities.shape[1] == 2
    assert np.isin(np.arange(len(graph)), objective.facts_of(items)).all()
    model = model_of(graph)
    assert objective.loss(model, items, model.encode(), None).isfinite()


def naive_joint(
    model: TransEQ, z: Representations, graph: HKG, row: int, rivals: list[tuple[int, int]]
) -> float:
    """Equation 1: -log of the share of a fact among itself and its (slot, entity) corruptions."""
    facts = FactBatch.of(graph, np.array([row]))
    every = [torch.tensor([slot]) for slot in range(int(graph.arity[row]))]

    def phi(slot: torch.Tensor, changed: FactBatch) -> float:
        return float(model.decoder.score(changed, slot, z).detach())

    fact = sum(phi(slot, facts) for slot in every) / len(every)
    masses = [math.exp(phi(every[slot], put(facts, every[slot], e))) for slot, e in rivals]
    return -math.log(math.exp(fact) / (math.exp(fact) + sum(masses)))


@pytest.mark.parametrize("decoder", ["mdistmult", "mtransh", "transformer"])
def test_joint_is_equation_1_over_every_other_entity(decoder: str) -> None:
    graph = random_facts(12, entities=5)
    options = {} if decoder == "mtransh" else {"dropout": 0.0}
    model = model_of(graph, decoder={"name": decoder, **options}, precision="float64")
    objective, z = JointSoftmax(graph, ObjectiveConfig(joint=True)), model.encode()
    assert len(objective) == len(graph)
    total = 0.0
    for row in range(len(graph)):
        true = FactBatch.of(graph, np.array([row])).entities[0].tolist()
        slots = range(int(graph.arity[row]))
        rivals = [(slot, e) for slot in slots for e in range(5) if e != true[slot]]
        total += naive_joint(model, z, graph, row, rivals)
    loss = objective.loss(model, np.arange(len(objective)), z, None)
    assert float(loss.detach()) == pytest.approx(total)


@pytest.mark.parametrize("filtered", [False, True])
def test_joint_is_equation_1_over_k_negatives_of_each_slot(filtered: bool) -> None:
    """Facts in any order; with few entities some negatives may not be used."""
    names = [f"e{i}" for i in range(4)]
    several = [Fact("e0", "r", name) for name in names]
    others = [Fact("e1", "r", "e0", (("a", "e2"), ("a", "e3"))), Fact("e3", "p", "e3")]
    graph = HKG.from_facts([*several, *others], entities=names)
    model = model_of(graph, decoder={"name": "mdistmult", "dropout": 0.0}, precision="float64")
    settings = ObjectiveConfig(joint=True, negatives=3, filter_negatives=filtered)
    objective, z = JointSoftmax(graph, settings), model.encode()
    items = np.random.default_rng(0).permutation(len(graph))
    found = objective.loss(model, items, z, torch.Generator().manual_seed(1))
    slots = [(int(row), slot) for row in items for slot in range(int(graph.arity[row]))]
    places = np.array([int(graph.arity[:row].sum()) + slot for row, slot in slots])
    single = SampledNegatives(graph, settings)
    drawn, usable = single.draw(places, torch.Generator().manual_seed(1))
    assert bool(usable.all()) != filtered
    total = 0.0
    for row in items:
        mine = [at for at, (fact, _) in enumerate(slots) if fact == row]
        rivals = [(slots[at][1], e) for at in mine for e in drawn[at][usable[at]].tolist()]
        total += naive_joint(model, z, graph, int(row), rivals)
    assert float(found.detach()) == pytest.approx(total)


def test_joint_has_gradients_also_where_no_negative_may_be_used() -> None:
    graph = HKG.from_facts([Fact("a", "r", "a"), Fact("a", "r", "b"), Fact("b", "r", "a")])
    model = model_of(graph, decoder={"name": "mdistmult", "dropout": 0.0}, precision="float64")
    settings = ObjectiveConfig(joint=True, negatives=2, filter_negatives=True)
    objective = JointSoftmax(graph, settings)
    loss = objective.loss(model, np.arange(3), model.encode(), torch.Generator().manual_seed(0))
    loss.backward()  # type: ignore[no-untyped-call]
    gradients = [p.grad for p in model.parameters() if p.grad is not None]
    assert all(bool(torch.isfinite(g).all()) for g in gradients)
    assert any(bool(g.any()) for g in gradients)


@pytest.mark.parametrize("setting", ["label_smoothing", "partial", "share"])
def test_joint_refuses_what_it_would_ignore(setting: str) -> None:
    with pytest.raises(ConfigError, match=rf"objective\.{setting}.* joint = false"):
        ExperimentConfig.from_dict({"objective": {"joint": True, setting: 0.5}})


def test_self_adversarial_negatives_are_their_formula() -> None:
    scores = torch.tensor([[1.0, 2.0, -1.0], [0.5, -math.inf, 0.3], [0.2, -math.inf, -math.inf]])
    scores = scores.double().requires_grad_()
    found = self_adversarial(scores, 0.5)

    def sigmoid(x: float) -> float:
        return 1 / (1 + math.exp(-x))

    heavy, light = math.exp(1.0), math.exp(-0.5)  # of factor 0.5 and scores 2 and -1
    wrong = heavy * math.log(sigmoid(-2.0)) + light * math.log(sigmoid(1.0))
    expected = [-math.log(sigmoid(1.0)) - wrong / (heavy + light)]
    expected.append(-math.log(sigmoid(0.5)) - math.log(sigmoid(-0.3)))
    expected.append(-math.log(sigmoid(0.2)))
    assert found.tolist() == pytest.approx(expected)
    torch.autograd.backward(found.sum())
    assert scores.grad is not None
    assert scores.grad.isfinite().all()
    assert scores.grad[0, 1] == pytest.approx(sigmoid(2.0) * heavy / (heavy + light))  # w is fixed


def test_a_training_with_self_adversarial_negatives_goes_down() -> None:
    model, graph = model_of(toy(), precision="float64"), toy()
    objective = SampledNegatives(graph, ObjectiveConfig(negatives=4, adversarial=0.5))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(25):
        optimizer.zero_grad()
        generator = torch.Generator().manual_seed(0)
        loss = objective.loss(model, np.arange(len(objective)), model.encode(), generator)
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.5 * losses[0]
