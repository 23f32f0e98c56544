"""Runs: what checkpoints cost, and how long storing and reading one takes."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import best, row
from hyperfact.config import ExperimentConfig
from hyperfact.data import load
from hyperfact.runs.experiment import run
from hyperfact.training.checkpoints import Checkpoints, Schedule

_MODEL: dict[str, dict[str, Any]] = {
    "training": {"dim": 32, "epochs": 6, "batch_size": 4096, "validate_every": 0},
    "data": {"dataset": "baseball"},
}


def rows() -> Iterator[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        yield from _files(Path(folder))
        yield from _share(Path(folder) / "run")


def _files(folder: Path) -> Iterator[dict[str, Any]]:
    """Forty megabytes, the state of about 2.5 million parameters."""
    checkpoints, tensors = Checkpoints(folder), {"a": torch.zeros(10_000_000)}
    seconds = best(lambda: checkpoints.save({}, tensors))
    yield row("write, flush, read back a checkpoint of 40 MB", seconds, "s")
    seconds = best(checkpoints.latest)
    yield row("read and check a checkpoint of 40 MB", seconds, "s")


def _share(path: Path) -> Iterator[dict[str, Any]]:
    """Every save of a real run is timed; the default budget is in force."""
    spent: list[float] = []
    note = Schedule.note

    def noting(self: Schedule, seconds: float) -> None:
        spent.append(seconds)
        note(self, seconds)

    Schedule.note = noting  # type: ignore[method-assign]
    try:
        start = time.perf_counter()
        result = run(ExperimentConfig.from_dict(_MODEL), splits=load("baseball"), out=path)
    finally:
        Schedule.note = note  # type: ignore[method-assign]
    share = sum(spent) / sum(epoch.seconds for epoch in result.epochs)
    yield row(
        f"share of training spent on {len(spent)} checkpoints, baseball",
        100 * share,
        "%",
        bound="<= 2 %",
        ok=bool(spent) and share <= 0.02,
    )
    yield row("  whole run", time.perf_counter() - start, "s")
