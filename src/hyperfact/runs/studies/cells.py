"""A cell of a study: one training, whose result is stored once and never trained twice."""

import json
import platform
import re
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from hyperfact import __version__
from hyperfact.config import ExperimentConfig
from hyperfact.errors import UserError
from hyperfact.evaluation import Policy
from hyperfact.graph.hkg import Splits
from hyperfact.runs.artifacts import MANIFEST, read_config
from hyperfact.runs.experiment import resume, run, train_and_test
from hyperfact.runs.looks import note_looks
from hyperfact.runs.provenance import fingerprint, processor, versions
from hyperfact.runs.run import Run, open_run
from hyperfact.runs.setup import set_up
from hyperfact.system.memory import forget_peak, peak_memory
from hyperfact.system.writing import write_atomically
from hyperfact.training.events import Epoch, Event, Hold, Watch


def name_of(dataset: str, row: str, seed: int) -> str:
    """Of the file and the folder of a cell."""
    return re.sub(r"[^A-Za-z0-9.+-]+", "_", f"{dataset}-{row}-{seed}")


@dataclass(frozen=True)
class Cell:
    """One training of a study."""

    row: str  # of the table
    dataset: str
    seed: int
    config: ExperimentConfig
    curve: bool = False  # rank test facts at every validation too; it decides nothing
    budget: str = "full"  # how it was asked for; the configuration has its effect

    @property
    def name(self) -> str:
        """Of its file and folder."""
        return name_of(self.dataset, self.row, self.seed)

    @property
    def fingerprint(self) -> str:
        """Of everything that decides its figures; a look at test facts on the way does not."""
        return fingerprint(self.config)


@dataclass(frozen=True)
class Outcome:
    """What a cell gave, all of it measured."""

    row: str
    dataset: str
    seed: int
    fingerprint: str  # of the configuration
    version: str
    epochs: int
    best_epoch: int
    seconds: float
    parameters: int
    memory: int  # bytes, the most that the process held meanwhile
    valid: dict[str, Any] | None
    test: dict[str, Any] | None
    curve: list[dict[str, float]]  # seconds of training so far, MRR of valid and perhaps of test
    budget: str = "full"
    data: dict[str, str] = field(default_factory=dict)  # fingerprint of each split
    machine: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Of its file and folder."""
        return name_of(self.dataset, self.row, self.seed)


class Cells:
    """The results of a study in a folder.

    A training that another study beside this one has done is not done again.

    Args:
        folder: Of the study.
        splits: Gives the facts of a dataset.
        hold: Keeps signals out of steps.
    """

    def __init__(
        self, folder: Path, splits: Callable[[ExperimentConfig], Splits], hold: Hold = nullcontext
    ) -> None:
        self.folder, self.splits, self.hold = folder, splits, hold

    def stored(self, cell: Cell) -> Outcome | None:
        """A result of before, if there is one.

        Raises:
            UserError: It is that of another configuration.
        """
        path = self._path(cell)
        if not path.exists():
            return None
        found = _read(path)
        if found.fingerprint != cell.fingerprint:
            raise UserError(
                f"{path}: this result is of another configuration; remove it or give another --out"
            )
        return found

    def all(self) -> list[Outcome]:
        """Every result that is stored here."""
        return [_read(path) for path in sorted((self.folder / "cells").glob("*.json"))]

    def borrowed(self, cell: Cell) -> Outcome | None:
        """The result of the same configuration and facts in another study's folder, copied."""
        data = _fingerprints(self.splits(cell.config))
        for path in sorted(self.folder.parent.glob("*/cells/*.json")):
            found = _read(path)
            complete = not cell.curve or all("test" in point for point in found.curve)
            if complete and (found.fingerprint, found.data) == (cell.fingerprint, data):
                return self._store(cell, replace(found, row=cell.row))
        return None

    def run(self, cell: Cell, watch: Watch) -> Outcome:
        """Train it, or go on with its training, and store the result."""
        forget_peak()
        outcome = self._traced(cell, watch) if cell.curve else self._plain(cell, watch)
        if outcome.test is not None:
            looks = 1 + sum("test" in point for point in outcome.curve)
            run, ranks = self.run_folder(cell.name), outcome.test["ranks"]
            note_looks(run, cell.config, "reproduce", queries=ranks, looks=looks)
        return self._store(cell, outcome)

    def _store(self, cell: Cell, outcome: Outcome) -> Outcome:
        path = self._path(cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(asdict(outcome), indent=1, sort_keys=True) + "\n"
        write_atomically(path, text.encode("utf-8"))
        return outcome

    def _path(self, cell: Cell) -> Path:
        return self.folder / "cells" / f"{cell.name}.json"

    def run_folder(self, name: str) -> Path:
        """Where the run of a cell is stored."""
        return self.folder / "runs" / name

    def opened(self, name: str) -> Run:
        """The run of a cell, with its model."""
        path = self.run_folder(name)
        return open_run(path, splits=self.splits(read_config(path)))

    def _plain(self, cell: Cell, watch: Watch) -> Outcome:
        path, splits = self.run_folder(cell.name), self.splits(cell.config)
        if (path / MANIFEST).exists():
            raise UserError(f"{path}: the run is finished, but its result is missing; remove it")
        if path.exists():
            result = resume(path, splits=splits, watch=watch, hold=self.hold)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            result = run(cell.config, splits=splits, out=path, watch=watch, hold=self.hold)
        return outcome_of(cell, splits, result, [])

    def _traced(self, cell: Cell, watch: Watch) -> Outcome:
        """With the MRR of test facts beside each validation; the clock stands meanwhile."""
        tested: list[float] = []

        def look(event: Event) -> None:
            watch(event)
            if isinstance(event, Epoch) and event.valid_mrr is not None:
                with setup.trainer.averaged():
                    tested.append(setup.mrr(splits["test"], Policy()))

        splits = self.splits(cell.config)
        setup = set_up(cell.config, splits)
        result = train_and_test(setup, watch=look, hold=self.hold)
        return outcome_of(cell, splits, result, tested)


def outcome_of(cell: Cell, splits: Splits, result: Run, tested: list[float]) -> Outcome:
    """The figures of a finished training."""
    curve, clock = [], 0.0
    test = iter(tested)
    for epoch in result.epochs:
        clock += epoch.seconds
        if epoch.valid_mrr is not None:
            point = {"epoch": epoch.epoch, "seconds": clock, "valid": epoch.valid_mrr}
            curve.append(point | ({"test": next(test)} if tested else {}))
    return Outcome(
        row=cell.row,
        dataset=cell.dataset,
        seed=cell.seed,
        fingerprint=cell.fingerprint,
        version=__version__,
        epochs=len(result.epochs),
        best_epoch=result.best_epoch,
        seconds=result.seconds,
        parameters=sum(p.numel() for p in result.model.parameters()),
        memory=peak_memory(),
        valid=_metrics(result, "valid"),
        test=_metrics(result, "test"),
        curve=curve,
        budget=cell.budget,
        data=_fingerprints(splits),
        machine={
            "processor": processor(),
            "system": platform.system(),
            "threads": torch.get_num_threads(),
            "precision": result.model.precision,  # what `auto` was here
            "versions": versions(),
        },
    )


def _fingerprints(splits: Splits) -> dict[str, str]:
    return {name: facts.fingerprint for name, facts in splits.items()}


def _read(path: Path) -> Outcome:
    return Outcome(**json.loads(path.read_text(encoding="utf-8")))


def _metrics(result: Run, split: str) -> dict[str, Any] | None:
    found = result.results.get(split)
    if found is None:
        return None
    told = found.as_dict()
    return {key: told[key] for key in told if key not in ("intervals", "macro")}
