"""Training: exact, repeatable, pure, and it stops where it must."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from hyperfact.config import ObjectiveConfig, OptimizerConfig, TrainingConfig
from hyperfact.errors import NumericalError
from hyperfact.models.transeq import TransEQ
from hyperfact.models.unseen import Unseen
from hyperfact.training.events import Epoch, Report
from hyperfact.training.gradients import accumulate
from hyperfact.training.objectives import make_objective
from hyperfact.training.optimizer import learning_rate
from hyperfact.training.trainer import HideTargets, Trainer
from tests.support.models import ENCODER_FORMS, model_of, random_facts


def trainer_of(
    model: TransEQ, graph: Any, *, hide: HideTargets = "none", negatives: int = 0, **more: Any
) -> Trainer:
    optimizer = {k: more.pop(k) for k in list(more) if k in OptimizerConfig.model_fields}
    return Trainer(
        model,
        make_objective(graph, ObjectiveConfig(negatives=negatives)),
        training=TrainingConfig(**{"epochs": 2, "batch_size": 16, **more}),
        optimizer=OptimizerConfig(**optimizer),
        hide_targets=hide,
        generator=torch.Generator().manual_seed(5),
    )


def reports_of(trainer: Trainer) -> Iterator[Report]:
    return (event for event in trainer.run() if isinstance(event, Report))


def fingerprint(model: TransEQ) -> str:
    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


@pytest.mark.parametrize(
    "encoder", ["lookup", "compgcn", "rgcn", "kegcn", "stare", "gmpnn", "ingram"]
)
@pytest.mark.parametrize("decoder", ["mdistmult", "mtransh"])
def test_micro_batches_change_nothing(encoder: str, decoder: str) -> None:
    graph = random_facts(40)
    objective = make_objective(graph, ObjectiveConfig())
    gradients, losses = [], []
    for size in (1000, 7, 1):
        model = model_of(graph, ENCODER_FORMS[encoder], {"name": decoder}, precision="float64")
        items = np.arange(0, len(objective), 2)
        losses.append(
            accumulate(model, objective, items, micro_batch=size, keep=None, generator=None)
        )
        gradients.append([p.grad for p in model.parameters()])
    assert losses == pytest.approx([losses[0]] * 3)
    for other in gradients[1:]:
        for a, b in zip(gradients[0], other, strict=True):
            assert (a is None) == (b is None)
            assert a is None or b is None or torch.allclose(a, b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("strangers", [0.0, 0.5])
def test_the_gradient_is_that_of_the_whole_model(strangers: float) -> None:
    """Through a detached leaf and back, against plain backpropagation."""
    graph = random_facts(40)
    objective = make_objective(graph, ObjectiveConfig())
    items = np.arange(30)
    one, two = (
        model_of(graph, ENCODER_FORMS["compgcn"], {"dropout": 0.0}, precision="float64")
        for _ in range(2)
    )
    for model in (one, two):
        model.unseen = Unseen(graph, strangers=strangers)
    chance = [torch.Generator().manual_seed(7) for _ in range(2)] if strangers else [None, None]
    accumulate(one, objective, items, micro_batch=30, keep=None, generator=chance[0])
    items = items[np.argsort(graph.arity[objective.queries.fact[items]], kind="stable")]
    torch.autograd.backward(objective.loss(two, items, two.encode(), chance[1]) / len(items))
    for (name, a), (_, b) in zip(one.named_parameters(), two.named_parameters(), strict=True):
        assert a.grad is not None
        assert b.grad is not None, name
        assert torch.allclose(a.grad, b.grad, atol=1e-12), name


@pytest.mark.parametrize("hide", ["none", "batch", 0.3])
@pytest.mark.parametrize("negatives", [0, 4])
def test_same_seed_same_bits(hide: HideTargets, negatives: int) -> None:
    graph = random_facts(40)
    encoder = {"name": "compgcn", "dropout": 0.1}
    prints = []
    for _ in range(2):
        model = model_of(graph, encoder)
        reports = list(reports_of(trainer_of(model, graph, hide=hide, negatives=negatives)))
        prints.append((fingerprint(model), [r.loss for r in reports]))
    assert prints[0] == prints[1]


def test_training_reports_every_step_and_leaves_global_chance_alone() -> None:
    graph = random_facts(40)
    model = model_of(graph)
    before, state = fingerprint(model), torch.get_rng_state()
    trainer = trainer_of(model, graph, epochs=20, lr=0.01)
    reports = list(reports_of(trainer))
    assert len(reports) == 20 * trainer.steps
    assert [r.epoch for r in reports if r.step == r.steps] == list(range(1, 21))
    assert sum(r.items for r in reports) == 20 * len(trainer.objective)
    assert np.mean([r.loss for r in reports[-5:]]) < 0.8 * np.mean([r.loss for r in reports[:5]])
    assert fingerprint(model) != before
    assert torch.equal(state, torch.get_rng_state())


def test_every_query_is_trained_once_an_epoch() -> None:
    graph = random_facts(40)
    trainer = trainer_of(model_of(graph), graph, epochs=1)
    list(trainer.run())
    assert sorted(trainer.order.tolist()) == list(range(len(trainer.objective)))


def test_who_watches_may_stop() -> None:
    graph = random_facts(40)
    trainer = trainer_of(model_of(graph), graph, epochs=50)
    for report in reports_of(trainer):
        if report.step == 2:
            break
    assert trainer.epoch == 1


def test_the_facts_of_the_batch_are_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_facts(40)
    model = model_of(graph, ENCODER_FORMS["compgcn"])
    trainer = trainer_of(model, graph, hide="batch", epochs=1)
    seen: list[torch.Tensor] = []
    encode = model.encode

    def spy(**options: Any) -> Any:
        seen.append(options["keep"])
        return encode(**options)

    monkeypatch.setattr(model, "encode", spy)
    list(trainer.run())
    for step, keep in enumerate(seen):
        items = trainer.order[step * 16 : (step + 1) * 16]
        facts = trainer.objective.facts_of(items)
        hidden = set(np.flatnonzero(~keep.numpy()).tolist())
        assert hidden == set(model.graph.edges_only_of(facts).tolist())
        mediators = np.flatnonzero(np.isin(model.graph.mediator_fact, facts))
        nodes = mediators + model.graph.num_entities
        assert not keep.numpy()[np.isin(model.graph.source, nodes)].any()


def test_a_share_of_facts_is_hidden_and_changes_each_epoch() -> None:
    graph = random_facts(40)
    model = model_of(graph, ENCODER_FORMS["compgcn"])
    trainer = trainer_of(model, graph, hide=0.25, epochs=3)
    masks = []
    for report in reports_of(trainer):
        if report.step == report.steps:
            assert trainer.hidden is not None
            masks.append(trainer.hidden)
    assert not torch.equal(masks[0], masks[1])
    assert all(0.5 < float(m.float().mean()) < 0.95 for m in masks)


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_stops_before_it_spreads(bad: float) -> None:
    graph = random_facts(40)
    model = model_of(graph)
    trainer = trainer_of(model, graph)
    with torch.no_grad():
        next(model.parameters())[0, 0] = bad
    before = fingerprint(model)
    with pytest.raises(NumericalError, match="epoch 1, step 1"):
        list(trainer.run())
    assert fingerprint(model) == before


def test_clipping_limits_the_gradient() -> None:
    graph = random_facts(40)
    model = model_of(graph)
    trainer = trainer_of(model, graph, clip_norm=1e-3)
    report = next(reports_of(trainer))
    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    assert report.gradient_norm > 1e-3
    assert float(norm) == pytest.approx(1e-3, rel=1e-3)


def test_the_learning_rate_rises_then_decays() -> None:
    settings = OptimizerConfig(lr=0.1, lr_decay=0.5, warmup_epochs=2)
    rates = [learning_rate(settings, e) for e in (0.0, 0.5, 1.0, 2.0, 2.9, 3.0)]
    assert rates == pytest.approx([0.0, 0.025, 0.025, 0.025, 0.025, 0.0125])


@pytest.mark.parametrize("name", ["adam", "adamw"])
def test_weight_decay_shrinks(name: str) -> None:
    graph = random_facts(40)
    sizes = []
    for decay in (0.0, 0.5):
        model = model_of(graph)
        list(trainer_of(model, graph, name=name, weight_decay=decay, lr=0.02).run())
        sizes.append(sum(float(p.detach().square().sum()) for p in model.parameters()))
    assert sizes[1] < sizes[0]


def scored(scores: list[float], **training: Any) -> list[Epoch]:
    """The epochs of a training whose validations give these scores."""
    graph = random_facts(20)
    trainer = trainer_of(model_of(graph), graph, epochs=len(scores), batch_size=99, **training)
    events = trainer.run(validate=iter(scores).__next__)
    return [event for event in events if isinstance(event, Epoch)]


def test_training_stops_after_validations_without_progress() -> None:
    scores = [0.1, 0.3, 0.2, 0.3, 0.9]
    found = scored(scores, validate_every=1, patience=2)
    assert [epoch.valid_mrr for epoch in found] == scores[:4]
    assert [epoch.best for epoch in found] == [True, True, False, False]
    assert len(scored(scores, validate_every=1, patience=3)) == 5
    assert len(scored([0.5, 0.4, 0.3, 0.2, 0.1], validate_every=1)) == 5


def test_validations_come_when_they_are_due_and_at_the_end() -> None:
    found = scored([0.1, 0.2, 0.3, 0.4, 0.5], validate_every=2)
    assert [epoch.valid_mrr is not None for epoch in found] == [False, True, False, True, True]
    assert scored([0.1], validate_every=0)[0].valid_mrr is None
