"""Counts that join after training: they change no weight of the model, and may only help."""

from pathlib import Path
from typing import Any

import pytest
import torch

from hyperfact.config import ExperimentConfig
from hyperfact.errors import ConfigError
from hyperfact.graph.hkg import Splits
from hyperfact.runs.experiment import run
from hyperfact.runs.run import open_run
from hyperfact.runs.weighing import FACTORS
from tests.support.models import random_facts


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def splits() -> Splits:
    whole = random_facts(120, entities=12, seed=3)
    order = torch.randperm(120, generator=torch.Generator().manual_seed(0)).numpy()
    parts = {"train": order[:80], "valid": order[80:100], "test": order[100:]}
    return Splits({name: whole.select(rows) for name, rows in parts.items()}, "toy")


def config(**sections: dict[str, Any]) -> ExperimentConfig:
    training = {"dim": 8, "epochs": 2, "batch_size": 32, "validate_every": 1}
    base: dict[str, dict[str, Any]] = {
        "training": {**training, "precision": "float32"},
        "decoder": {"name": "mdistmult"},
    }
    for name, section in sections.items():
        base[name] = {**base.get(name, {}), **section}
    return ExperimentConfig.from_dict(base)


def test_the_model_is_trained_as_without_counts(splits: Splits) -> None:
    bare = run(config(), splits=splits)
    after = run(config(evidence={"order": 3, "learn": "validation"}), splits=splits)
    assert after.model.evidence is not None
    mine = dict(after.model.named_parameters())
    for name, weight in bare.model.named_parameters():
        assert torch.equal(weight, mine[name]), name
    assert [e.valid_mrr for e in after.epochs] == [e.valid_mrr for e in bare.epochs]


def test_counts_that_do_not_help_weigh_nothing_and_others_help(splits: Splits) -> None:
    bare = run(config(), splits=splits).results["valid"].metrics.mrr
    chosen = run(config(evidence={"order": 3, "learn": "validation"}), splits=splits)
    evidence = chosen.model.evidence
    assert evidence is not None
    assert chosen.results["valid"].metrics.mrr >= bare
    factors = evidence.weights().detach() / evidence.start
    for group in set(evidence.groups.tolist()):
        mine = factors[evidence.groups == group]
        nearest = min(FACTORS, key=lambda factor: abs(factor - float(mine[0])))
        assert torch.allclose(mine, torch.full_like(mine, nearest), atol=1e-6)


def test_without_learning_first_weights_stay(splits: Splits) -> None:
    settings = {"order": 2, "learn": "nothing", "start": [0.0, 0.5, 1.0]}
    whole = run(config(evidence=settings, data={"train_on": "train+valid"}), splits=splits)
    evidence = whole.model.evidence
    assert evidence is not None
    assert torch.equal(evidence.weights(), evidence.start.to(evidence.own))
    assert sorted(set(evidence.weights().tolist())) == [0.0, 0.5]


def test_a_stored_run_has_its_counts(splits: Splits, tmp_path: Path) -> None:
    wanted = config(evidence={"order": 3, "learn": "validation"})
    made = run(wanted, splits=splits, out=tmp_path / "run")
    opened = open_run(tmp_path / "run", splits=splits)
    assert made.model.evidence is not None
    assert opened.model.evidence is not None
    assert torch.equal(made.model.evidence.weights(), opened.model.evidence.weights())


def test_without_validation_facts_it_is_refused_before_training(splits: Splits) -> None:
    wanted = config(evidence={"order": 2, "learn": "validation"}, data={"train_on": "train+valid"})
    with pytest.raises(ConfigError, match=r"evidence\.learn.*'nothing'"):
        run(wanted, splits=splits, watch=lambda _: pytest.fail("it was trained"))
