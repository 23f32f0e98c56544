"""Sampled neighbourhoods: the whole graph where nothing is left out, right on average elsewhere."""

from typing import Any

import numpy as np
import pytest
import torch

from hyperfact.config import EvidenceConfig, ObjectiveConfig
from hyperfact.errors import ConfigError
from hyperfact.graph.hkg import HKG
from hyperfact.kernels.edges import EdgeIndex
from hyperfact.models.evidence import Evidence
from hyperfact.models.nearby import nearby
from hyperfact.models.neighbourhood import neighbourhood
from hyperfact.models.transeq import TransEQ
from hyperfact.training.gradients import accumulate
from hyperfact.training.objectives import make_objective
from hyperfact.training.trainer import Trainer
from tests.support.models import config_of, model_of, random_facts

EVERYBODY = 10**6
FORMS: dict[str, dict[str, Any]] = {
    "compgcn": {"layers": 2, "composition": "sub"},
    "compgcn-one": {"layers": 1, "normaliser": "mean"},
    "rgcn": {"layers": 2},
    "rgcn-block": {"layers": 2, "decomposition": "block", "parts": 2, "normaliser": "global"},
    "vrgcn": {"layers": 3},
}


def model_for(form: str, graph: HKG, **more: Any) -> TransEQ:
    options = {"name": form.partition("-")[0], **FORMS[form], **more}
    return model_of(graph, options, precision="float64")


@pytest.mark.parametrize("form", FORMS)
def test_with_everybody_heard_vectors_are_those_of_the_whole_graph(form: str) -> None:
    graph = random_facts(60, entities=40)
    model = model_for(form, graph)
    model.sample = (EVERYBODY,) * FORMS[form]["layers"]
    keep = model.keep_without(np.arange(7))
    model.eval()  # normalised by running means: those of a batch are of other nodes
    seeds = torch.tensor([0, 3, 4, 17, 39])
    for kept in (None, keep):
        with torch.no_grad():
            whole, near = model.encode(keep=kept), nearby(model, keep=kept).make(seeds)
        assert torch.allclose(near.entities, whole.entities[seeds], rtol=0, atol=1e-12)
        assert torch.allclose(near.relations, whole.relations, rtol=0, atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("settings", [{"negatives": 3}, {"negatives": 3, "joint": True}])
def test_with_everybody_heard_loss_and_gradients_are_the_same(
    form: str, settings: dict[str, Any]
) -> None:
    graph = random_facts(60, entities=40)
    objective = make_objective(graph, ObjectiveConfig(**settings))
    losses, slopes = [], []
    for sample in ((), (EVERYBODY,) * FORMS[form]["layers"]):
        model = model_for(form, graph, batch_norm=False)
        model.sample = sample
        loss = accumulate(
            model,
            objective,
            np.arange(0, len(objective), 3),
            micro_batch=16,
            keep=model.keep_without(np.arange(5)),
            generator=torch.Generator().manual_seed(1),
        )
        losses.append(loss)
        slopes.append({n: p.grad for n, p in model.named_parameters() if p.grad is not None})
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)
    assert slopes[0].keys() == slopes[1].keys()
    for name, slope in slopes[0].items():
        assert torch.allclose(slope, slopes[1][name], rtol=0, atol=1e-12), name


def test_counts_of_evidence_are_those_of_whom_the_rows_stand_for() -> None:
    graph, losses = random_facts(60, entities=40), []
    objective = make_objective(graph, ObjectiveConfig(negatives=3))
    for sample in ((), (EVERYBODY, EVERYBODY)):
        model = model_for("compgcn", graph, batch_norm=False)
        model.evidence, model.sample = Evidence(graph, EvidenceConfig(order=2)).double(), sample
        items, generator = np.arange(0, len(objective), 3), torch.Generator().manual_seed(1)
        losses.append(
            accumulate(model, objective, items, micro_batch=16, keep=None, generator=generator)
        )
    assert losses[0] == pytest.approx(losses[1], rel=1e-12)


def star(size: int) -> EdgeIndex:
    """Node 0 hears all others, and they hear nobody."""
    sources = np.arange(1, size + 1)
    zeros = np.zeros(size, dtype=np.int64)
    return EdgeIndex.build(sources, zeros, zeros, num_nodes=size + 1, num_relations=1)


def test_drawn_edges_stand_for_all_and_the_mean_is_right() -> None:
    graph, weights = star(9), torch.arange(9, dtype=torch.float64)
    generator, sums = torch.Generator().manual_seed(0), []
    for _ in range(2000):
        near = neighbourhood(graph, np.array([0]), (3,), generator=generator)
        assert len(near.edges) == len(set(near.edges.tolist())) == 3
        (hop,) = near.hops(weights)
        sums.append(float(hop.weights.sum()))
    assert np.mean(sums) == pytest.approx(36.0, abs=1.0)
    keep = np.arange(9) < 2
    few = neighbourhood(graph, np.array([0]), (3,), keep=keep, generator=None)
    assert sorted(few.edges.tolist()) == [0, 1]
    assert few.factor.tolist() == [1.0, 1.0]


def test_no_node_hears_more_than_its_share_and_the_seed_decides() -> None:
    model = model_for("compgcn", random_facts(200, entities=20))
    heard, seeds = model.encoder.heard(), np.array([2, 5, 11])
    near, same, other = (
        neighbourhood(heard, seeds, (4, 2), generator=torch.Generator().manual_seed(seed))
        for seed in (3, 3, 4)
    )
    assert np.array_equal(near.edges, same.edges)
    assert not np.array_equal(near.edges, other.edges)
    received = np.bincount(near.target, minlength=near.counts[1])
    assert received[:3].tolist() == [4, 4, 4]
    assert received[3:].max() <= 2
    assert near.nodes[:3].tolist() == seeds.tolist()
    assert np.array_equal(near.nodes[near.source], heard.source[near.edges])
    assert np.array_equal(near.nodes[near.target], heard.target[near.edges])


@pytest.mark.parametrize("form", ["compgcn", "rgcn", "vrgcn"])
def test_a_training_repeats_its_bits_and_learns(form: str) -> None:
    graph, logs = random_facts(60, entities=40), []
    for _ in range(2):
        model = model_for(form, graph, dropout=0.1)
        model.sample = (3, 2, 2)[: FORMS[form]["layers"]]
        settings = config_of(training={"dim": 8, "epochs": 6, "batch_size": 64, "micro_batch": 40})
        trainer = Trainer(
            model,
            make_objective(graph, ObjectiveConfig(negatives=5)),
            training=settings.training,
            optimizer=settings.optimizer.model_copy(update={"lr": 0.02}),
            hide_targets="batch",
            generator=torch.Generator().manual_seed(5),
        )
        for _ in trainer.run():
            pass
        logs.append([epoch.loss for epoch in trainer.log])
    assert logs[0] == logs[1]
    assert logs[0][-1] < logs[0][0]


REFUSED: dict[str, dict[str, dict[str, Any]]] = {
    r"for encoders that can compute a few entities alone \(compgcn, rgcn, vrgcn\)": {
        "encoder": {"name": "stare"}
    },
    r"a number for each layer, and encoder\.layers = 1": {"graph": {"sample": [4, 4]}},
    r"needs sampled negatives": {"objective": {"negatives": 0}},
    r"graph\.strangers = 0": {"graph": {"sample": [4], "strangers": 0.5}},
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_sampled_is_said(message: str) -> None:
    sections: dict[str, dict[str, Any]] = {
        "encoder": {"name": "compgcn"},
        "graph": {"sample": [4]},
        "objective": {"negatives": 2},
    }
    config_of(**sections)
    with pytest.raises(ConfigError, match=message):
        config_of(**{**sections, **REFUSED[message]})


def test_numbers_of_neighbours_are_positive() -> None:
    with pytest.raises(ConfigError, match=r"graph\.sample"):
        config_of(graph={"sample": [4, 0]})
