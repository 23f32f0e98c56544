"""Thousands of run directories with random damage: refused or read, never a crash."""

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch

from hyperfact.config import ExperimentConfig
from hyperfact.evaluation import Ranks
from hyperfact.predict import Predictor
from hyperfact.runs import artifacts
from hyperfact.runs.catalog import look
from hyperfact.runs.experiment import run
from hyperfact.runs.run import open_run
from hyperfact.system.tables import read_table
from hyperfact.training.checkpoints import Checkpoints
from tests.support.crashes import crash_config
from tests.support.damage import Damage
from tests.unit.runs.test_experiment import splits_of

TEXTS = (artifacts.MANIFEST, artifacts.ENTITIES, artifacts.RELATIONS, artifacts.METRICS)
FILES = (artifacts.WEIGHTS, artifacts.CONFIG, *TEXTS)
#: What is parsed first and decides most is tried most often.
WEIGHED = (*FILES, *[artifacts.MANIFEST] * 3, *[artifacts.WEIGHTS] * 2, artifacts.ENTITIES)
RANKS = artifacts.RANKS.format(split="test")


@pytest.fixture(scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "run"
    torch.set_num_threads(1)
    run(crash_config(training={"epochs": 1}), splits=splits_of(), out=path)
    return path


@pytest.fixture
def made(_made: Path, tmp_path: Path) -> Iterator[Path]:
    """In memory where that can be: disks take their time when files are cut again and again."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        path = Path(folder) / "run"
        shutil.copytree(_made, path)
        yield path


def harmless(damage: Damage) -> bool:
    assert damage.slowest <= 1
    assert damage.growth <= damage.size + 200e6
    return set(damage.codes) <= {0, 2, 4}


def test_damaged_runs_never_crash_the_first_line_of_defence(made: Path) -> None:
    """9,000 files through all that reads a run and builds no model from it.

    That is manifest, checksums, names, tensors, metrics and configuration. 2,000 checkpoints follow
    below; all of them go through models too at night.
    """

    def read() -> None:
        ExperimentConfig.from_toml(artifacts.read_run(made).config)

    damage = Damage(made, WEIGHED)
    damage.try_all([read], 9_000, seed=0)
    assert harmless(damage)
    assert damage.codes.count(2) > 6_000


def test_damaged_checkpoints_never_crash(made: Path, caplog: pytest.LogCaptureFixture) -> None:
    """2,000 of them; each is noticed, and the generation before is taken."""
    caplog.set_level(logging.CRITICAL, "hyperfact.training.checkpoints")
    first, last = Checkpoints(made).numbers()
    files = [f"checkpoints/{last:06}.{kind}" for kind in ("json", "safetensors")]
    numbers = []
    damage = Damage(made, files)
    damage.try_all([lambda: numbers.append(Checkpoints(made).latest().number)], 2000, seed=1)
    assert harmless(damage)
    assert numbers.count(first) >= 1990  # some changes undo each other


def test_damaged_runs_never_crash_a_model(made: Path) -> None:
    """400 files through everything: the whole model, the predictor, the list of runs."""
    splits = splits_of()
    doors = (
        lambda: open_run(made, splits=splits),
        lambda: Predictor.load(made, splits=splits).model,
        lambda: look(made).as_dict(),
    )
    damage = Damage(made, FILES)
    damage.try_all(doors, 400, seed=2)
    assert harmless(damage)
    assert damage.codes.count(2) > 500


def test_damaged_rank_tables_never_crash(made: Path) -> None:
    """40 of them; opening one takes DuckDB longer than all the others together."""
    damage = Damage(made, [RANKS])
    names = list(Ranks.__dataclass_fields__)
    damage.try_all([lambda: read_table(made / RANKS, names)], 40, seed=3)
    assert harmless(damage)
    assert damage.codes.count(2) > 20
