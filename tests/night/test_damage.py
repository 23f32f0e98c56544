"""20,000 damaged files through everything that opens a run; the default suite tries 400."""

import logging
import shutil
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import torch

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
from tests.unit.runs.test_damaged_artifacts import FILES, RANKS
from tests.unit.runs.test_experiment import splits_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Path]:
    torch.set_num_threads(1)
    run(crash_config(training={"epochs": 1}), splits=splits_of(), out=tmp_path / "run")
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        shutil.copytree(tmp_path / "run", Path(folder) / "run")
        yield Path(folder) / "run"


def test_damaged_runs_never_crash(made: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.CRITICAL, "hyperfact")
    splits, names = splits_of(), list(Ranks.__dataclass_fields__)
    last = Checkpoints(made).numbers()[-1]
    states = [f"checkpoints/{last:06}.{kind}" for kind in ("json", "safetensors")]
    models, checkpoints, tables = (Damage(made, n) for n in (FILES, states, [RANKS]))
    models.try_all(
        [
            lambda: open_run(made, splits=splits),
            lambda: Predictor.load(made, splits=splits).model,
            lambda: look(made).as_dict(),
        ],
        15_000,
        seed=100,
    )
    checkpoints.try_all([lambda: Checkpoints(made).latest()], 4_000, seed=101)
    tables.try_all([lambda: read_table(made / RANKS, names)], 1_000, seed=102)
    for damage in (models, checkpoints, tables):
        assert set(damage.codes) <= {0, 2}
        assert damage.slowest <= 1
        assert damage.growth <= damage.size + 200e6
    assert artifacts.read_run(made).path == made  # healed
