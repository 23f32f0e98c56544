"""Training from parts: few facts in memory, the numbers of memory, and nothing altered is read."""

from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hyperfact.config import ExperimentConfig, ObjectiveConfig
from hyperfact.data import write
from hyperfact.errors import ConfigError, DataError, UserError
from hyperfact.evaluation import Background
from hyperfact.graph.facts_in_parts import FactsInParts
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.queries import Queries
from hyperfact.graph.ragged import Array
from hyperfact.graph.role_index import RoleIndex
from hyperfact.models.transeq import TransEQ
from hyperfact.runs.build import CHOICE
from hyperfact.runs.experiment import resume, run
from hyperfact.runs.run import evaluate_split, open_run
from hyperfact.runs.setup import set_up
from hyperfact.runs.streaming import load_training
from hyperfact.scale.disk_training import training_splits
from hyperfact.training.events import Event, Interruption, Report
from hyperfact.training.objectives import make_objective
from hyperfact.training.streamed import Streamed
from hyperfact.training.trainer import Trainer
from tests.support.models import config_of, model_of, random_facts
from tests.support.teams import together

HELD, BATCH = 128, 16


@pytest.fixture(scope="module")
def splits() -> Splits:
    facts = random_facts(300, entities=30)
    rows = np.random.default_rng(0).permutation(len(facts))
    parts = {"train": rows[:240], "valid": rows[240:270], "test": rows[270:]}
    return Splits({name: facts.select(np.sort(some)) for name, some in parts.items()}, "parts")


@pytest.fixture
def folder(splits: Splits, tmp_path: Path) -> Path:
    write(splits, tmp_path / "parts", format="parts")
    return tmp_path / "parts"


@pytest.fixture(scope="module")
def train(splits: Splits, tmp_path_factory: pytest.TempPathFactory) -> FactsInParts:
    folder = tmp_path_factory.mktemp("data") / "parts"
    write(splits, folder, format="parts")
    found = training_splits(folder, HELD, tell=lambda _: None).train
    assert isinstance(found, FactsInParts)
    return found


def config(folder: Path, **sections: dict[str, Any]) -> ExperimentConfig:
    own: dict[str, dict[str, Any]] = {
        "data": {"dataset": str(folder), "facts_held": HELD},
        "encoder": {"name": "lookup"},
        "objective": {"negatives": 4},
        "training": {"dim": 8, "epochs": 2, "batch_size": BATCH, "validate_every": 1},
    }
    for name, section in sections.items():
        own[name] = {**own.get(name, {}), **section}
    return config_of(**own)


def epoch_of(objective: Streamed, order: Array, size: int = BATCH) -> list[tuple[Any, int]]:
    """(fact, slot) of each item in the order in which training sees them."""
    found = []
    for start in range(0, len(objective), size):
        some, items = objective.part(order, start, min(start + size, len(objective)))
        assert objective.held <= HELD
        queries = some.queries.take(items)
        found += [(some.graph[f], s) for f, s in zip(queries.fact, queries.slot, strict=True)]
    return found


def test_every_item_comes_once_and_few_facts_are_held(train: FactsInParts, splits: Splits) -> None:
    objective = make_objective(train, ObjectiveConfig(negatives=4))
    assert isinstance(objective, Streamed)
    seen = epoch_of(objective, objective.shuffled(torch.Generator().manual_seed(3)))
    every = [(fact, slot) for fact in splits.train for slot in range(fact.arity)]
    assert len(seen) == len(set(seen)) == len(every) > 4 * HELD
    assert set(seen) == set(every)


def test_the_order_depends_on_the_seed_alone(train: FactsInParts) -> None:
    one, other = (make_objective(train, ObjectiveConfig(negatives=4)) for _ in range(2))
    assert isinstance(one, Streamed)
    assert isinstance(other, Streamed)
    order = one.shuffled(torch.Generator().manual_seed(3))
    first, again = epoch_of(one, order), epoch_of(other, order, size=7)
    assert first == again  # whatever is asked for at a time
    assert first != epoch_of(one, one.shuffled(torch.Generator().manual_seed(4)))


@pytest.mark.parametrize("settings", [{"negatives": 4}, {"negatives": 4, "joint": True}])
def test_the_same_order_gives_the_same_bits(
    train: FactsInParts, splits: Splits, settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    streamed, whole = (
        make_objective(g, ObjectiveConfig(**settings)) for g in (train, splits.train)
    )
    assert isinstance(streamed, Streamed)
    is_joint = "joint" in settings
    places = {
        (splits.train[int(f)], int(s)): item
        for item, (f, s) in enumerate(zip(whole.queries.fact, whole.queries.slot, strict=True))
    }

    def same_order(generator: torch.Generator) -> Array:
        seen = epoch_of(streamed, streamed.shuffled(generator))
        return np.array([places[fact, 0 if is_joint else slot] for fact, slot in seen])

    monkeypatch.setattr(whole, "shuffled", same_order)
    logs, weights = [], []
    for objective in (streamed, whole):
        trainer = trainer_of(objective, model_of(splits.train))
        logs.append([event.loss for event in trainer.run() if isinstance(event, Report)])
        weights.append(trainer.model.state_dict())
    assert logs[0] == logs[1]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def trainer_of(objective: Any, model: TransEQ) -> Trainer:
    settings = config_of(training={"dim": 8, "epochs": 1, "batch_size": BATCH})
    return Trainer(
        model,
        objective,
        training=settings.training,
        optimizer=settings.optimizer,
        generator=torch.Generator().manual_seed(5),
    )


def test_with_all_entities_an_epoch_has_the_loss_of_memory(
    train: FactsInParts, splits: Splits
) -> None:
    settings = ObjectiveConfig(negatives=0, label_smoothing=0.1)
    model = model_of(splits.train, precision="float64")
    z, means = model.encode(), []
    for graph in (train, splits.train):
        objective, total = make_objective(graph, settings), 0.0
        order = objective.shuffled(torch.Generator().manual_seed(0))
        for start in range(0, len(objective), 64):
            some, items = objective.part(order, start, min(start + 64, len(objective)))
            total += float(some.loss(model, items, z, None).detach())
        means.append(total / len(objective))
    assert means[0] == pytest.approx(means[1], rel=1e-9)


def test_what_is_known_of_all_facts_is_that_of_memory(train: FactsInParts, splits: Splits) -> None:
    assert train.fingerprint == splits.train.fingerprint
    roles = RoleIndex.of(train), RoleIndex.of(splits.train)
    for name in ("offsets", "entities", "counts"):
        assert np.array_equal(*(getattr(index, name) for index in roles))
    assert 0 < len(train) < len(splits.train)
    few = Splits({**splits.parts, "train": HKG(train.entities, train.relations, train.columns)})
    for rule in ("exact", "train+valid"):
        one, all_of = (Background.of(some).filter(rule) for some in (few, splits))
        queries = Queries.of(splits.test)
        ours, theirs = (some.of(splits.test.columns, queries) for some in (one, all_of))
        assert np.array_equal(ours[0], theirs[0])
        assert np.array_equal(ours[1], theirs[1])


def test_a_run_is_what_memory_ranks_and_goes_on_where_it_was(folder: Path, tmp_path: Path) -> None:
    torch.set_num_threads(1)
    done = run(config(folder), out=tmp_path / "whole")
    opened = open_run(tmp_path / "whole")
    assert len(opened.splits.train) == 240
    for split in ("valid", "test"):
        found = evaluate_split(opened, split, alone=True)
        assert found.metrics == done.results[split].metrics
    left = [20]

    def cut(_: Event) -> None:
        left[0] -= 1
        if not left[0]:
            raise Interruption(2)

    with pytest.raises(Interruption):
        run(config(folder), out=tmp_path / "cut", watch=cut)
    again = resume(tmp_path / "cut")
    weights, others = done.model.state_dict(), again.model.state_dict()
    assert all(torch.equal(weights[name], others[name]) for name in weights)


def told(folder: Path, negatives: int) -> list[float]:
    """The first losses, and the MRR of valid facts."""
    torch.set_num_threads(1)
    settings = config(folder, objective={"negatives": negatives}, training={"precision": "float64"})
    setup = set_up(settings, load_training(settings))
    reports = (event for event in setup.trainer.run() if isinstance(event, Report))
    losses = [report.loss for report in islice(reports, 12)]
    assert setup.valid is not None
    return [*losses, setup.mrr(setup.valid, CHOICE)]


@pytest.mark.slow
@pytest.mark.parametrize("negatives", [4, 0])
def test_two_processes_tell_what_one_tells(folder: Path, negatives: int) -> None:
    for theirs in together(2, told, folder, negatives):
        assert theirs == pytest.approx(told(folder, negatives), rel=1e-9)


def test_a_part_that_changes_while_training_ends_it_in_a_line(folder: Path) -> None:
    part = folder / "facts-train-00000.parquet"
    content = part.read_bytes()
    trainer = set_up(config(folder), load_training(config(folder))).trainer
    steps = trainer.run()
    next(steps)
    part.touch()  # the same bytes
    for _ in range(20):
        next(steps)
    part.write_bytes(content[:-9] + b"x" + content[-8:])
    with pytest.raises(DataError, match=r"facts-train-00000.parquet: altered, its SHA-256 is not"):
        list(steps)
    part.write_bytes(content)
    steps = set_up(config(folder), load_training(config(folder))).trainer.run()
    next(steps)
    part.unlink()
    with pytest.raises(DataError, match="this part of the dataset is missing"):
        list(steps)


REFUSED: dict[str, dict[str, dict[str, Any]]] = {
    "encoder.name = 'compgcn'": {"encoder": {"name": "compgcn"}},
    "evidence.order": {"evidence": {"order": 1}},
    "objective.filter_negatives": {"objective": {"filter_negatives": True}},
    "objective.partial": {"objective": {"partial": 0.5}},
    "objective.mask_others": {"objective": {"negatives": 0, "mask_others": True}},
    "objective.weigh_by": {"objective": {"negatives": 0, "weigh_by": "queries"}},
    "objective.negatives = 0 with": {
        "objective": {"negatives": 0},
        "decoder": {"name": "transe", "qualifiers": "ignore"},
    },
    "graph.hide_targets": {"graph": {"hide_targets": "batch"}},
    "data.train_on": {"data": {"train_on": "train+valid"}},
    "data.literals": {"data": {"literals": "drop"}},
    "evaluation.filter": {"evaluation": {"filter": "train-only"}},
    "evaluation.unseen": {"evaluation": {"unseen": "skip"}},
    "data.facts_held = 100": {"data": {"facts_held": 100}},
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_needs_all_facts_is_refused_by_name(name: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{name}.* needs all training facts in memory"):
        load_training(config(Path("nowhere"), **REFUSED[name]))


def test_a_dataset_of_another_kind_is_refused(tmp_path: Path, splits: Splits) -> None:
    with pytest.raises(UserError, match=r"data\.facts_held reads a dataset in parts"):
        load_training(config(tmp_path))
    write(splits.only("train"), tmp_path / "alone", format="parts")
    with pytest.raises(DataError, match="hyperfact split"):
        load_training(config(tmp_path / "alone"))
