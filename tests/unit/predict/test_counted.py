"""A model that counts: every objective, stored and opened, asked and explained."""

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hyperfact.errors import UserError
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.queries import Queries
from hyperfact.graph.ragged import Array
from hyperfact.kernels.reference import softmax_loss
from hyperfact.kernels.softmax import SoftmaxOptions, Targets
from hyperfact.predict import Predictor
from hyperfact.predict.explain import explain
from hyperfact.predict.export import export_scorer
from hyperfact.runs.build import build
from hyperfact.runs.experiment import run
from hyperfact.runs.run import Run, evaluate_split, open_run
from hyperfact.training.objective import AllEntities
from tests.support.models import config_of, random_facts
from tests.support.runs import folder, league, league_config

COUNTS = {"order": 3, "related": True, "related_two": True, "chains": 0.01, "profiles": True}
TRAINING = {"dim": 8, "epochs": 2, "batch_size": 64, "validate_every": 0, "precision": "float32"}
ASKED = "player 3 | plays for | ? | position = goal"


@lru_cache
def stored() -> tuple[Run, Path]:
    path = folder() / "run"
    config = league_config(evidence=COUNTS, training=TRAINING)
    return run(config, splits=league(), out=path), path


@pytest.mark.parametrize(("decoder", "partial"), [("mdistmult", 0.5), ("mtransh", 0.0)])
def test_the_loss_is_that_of_scores_and_counts(decoder: str, partial: float) -> None:
    facts = random_facts(40)
    config = config_of(
        decoder={"name": decoder, "dropout": 0.0},
        objective={"negatives": 0, "partial": partial},
        evidence=COUNTS,
        training={"dim": 8, "precision": "float64"},
    )
    model = build(config, facts, torch.Generator().manual_seed(0))
    assert model.evidence is not None
    objective, items = AllEntities(facts, config.objective), np.arange(30)
    z = model.encode()
    found = objective.loss(model, items, z, torch.Generator().manual_seed(1))
    batch, slots, targets = objective.ask(items, torch.Generator().manual_seed(1))
    scores = model.decoder.score_slot(batch, slots, z)
    scores = scores + model.evidence.scores(batch, slots, answers=targets)
    torch.testing.assert_close(found, softmax_loss(scores, targets, SoftmaxOptions()).sum())


@pytest.mark.parametrize(
    "objective",
    [{"negatives": 4}, {"joint": True}, {"share": 0.5}, {"joint": True, "negatives": 3}],
)
def test_weights_learn_under_every_objective(objective: dict[str, Any]) -> None:
    config = league_config(evidence=COUNTS, objective=objective, training=TRAINING)
    found = run(config, splits=league())
    assert found.model.evidence is not None
    assert float(found.model.evidence.own.detach().abs().sum()) > 0


def test_a_stored_run_opens_to_the_same_scores() -> None:
    trained, path = stored()
    opened = open_run(path, splits=league())
    here, there = (evaluate_split(one, "valid").ranks.columns() for one in (trained, opened))
    for name, column in here.items():
        assert np.array_equal(column, there[name]), name
    answers = [
        one.ask(ASKED) for one in (Predictor.of(trained), Predictor.load(path, splits=league()))
    ]
    assert answers[0].names == answers[1].names
    assert np.array_equal(answers[0].scores, answers[1].scores)


def test_who_was_never_seen_is_equal_to_its_like() -> None:
    splits = league()
    trained, _ = stored()
    trained.model.eval()
    seen = set(Queries.of(splits.train).answer.tolist())
    strangers = [i for i in range(len(splits.entities)) if i not in seen]
    assert len(strangers) >= 2
    with torch.no_grad():
        scores = scores_of(trained)
    assert bool((scores[:, strangers] == scores[:, strangers[:1]]).all())


def scores_of(trained: Run) -> torch.Tensor:
    """Of every slot of every validation fact."""
    queries = Queries.of(trained.splits.valid)
    facts = FactBatch.of(trained.splits.valid, queries.fact)
    slots = torch.from_numpy(queries.slot.astype(np.int64))
    return trained.model.score_slot(facts, slots, trained.model.encode())


def test_an_explanation_counts_exactly() -> None:
    trained, path = stored()
    predictor = Predictor.load(path, splits=league())
    found = explain(predictor, ASKED, "club 3", count=50, measure=True)
    assert found.counts
    train = trained.splits.train
    for count in found.counts:
        assert len(count.facts) in (count.count, 0)  # chains name no facts
    alone = next(c for c in found.counts if c.text == "object of plays for = club 3")
    expected = [f for f in train if f.relation == "plays for" and f.object == "club 3"]
    assert sorted(map(str, alone.facts)) == sorted(map(str, expected))
    assert found.as_dict()["counts"][0]["count"] >= 1


def test_hidden_facts_are_not_counted() -> None:
    trained, _ = stored()
    train, evidence = trained.splits.train, trained.model.evidence
    assert evidence is not None
    rows: Array = np.array([0, 5, 9])
    rest = train.select(np.setdiff1d(np.arange(len(train)), rows))
    less, anew = evidence.without(train, rows), type(evidence)(rest, trained.config.evidence)
    mine, other = less.tallies.contexts, anew.tallies.contexts
    assert mine.counts.sum() == other.counts.sum()
    assert less.tallies.chains is not None
    assert evidence.tallies.contexts.counts.sum() > mine.counts.sum()


def test_a_scorer_that_counts_is_not_exported(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="counts training facts"):
        export_scorer(Predictor.of(stored()[0]), tmp_path / "scorer.pt2")


def test_one_target_each() -> None:
    targets = Targets.one_each(torch.tensor([4, 2]))
    assert targets.offsets.tolist() == [0, 1, 2]
