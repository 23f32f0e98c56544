"""What can be said of a run directory at a glance, whether the run is finished or not."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from hyperfact.config import ExperimentConfig
from hyperfact.errors import DataError, HyperfactError, UserError
from hyperfact.runs import artifacts
from hyperfact.system.lock import LOCK, owner_of
from hyperfact.system.reading import parse_json, read_inside

State = Literal["finished", "running", "interrupted", "failed", "damaged"]
_LIMIT = 2**28
_DEPTH = 4


@dataclass(frozen=True)
class Overview:
    """A run as its directory shows it; nothing heavy is read."""

    path: Path
    state: State
    message: str  # the process of a running one, the reason of a failed or damaged one
    config: ExperimentConfig
    log: Sequence[Mapping[str, Any]]  # a row for each epoch
    metrics: Mapping[str, Any] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)

    def mrr(self, split: str) -> float | None:
        """The MRR of a split; of an unfinished run the best validation so far."""
        found = self.metrics.get(split)
        if isinstance(found, Mapping):
            value = found.get("mrr")
            return value if isinstance(value, float) else None
        seen = [row.get("valid_mrr") for row in self.log] if split == "valid" else []
        return max((value for value in seen if isinstance(value, float)), default=None)

    def as_dict(self) -> dict[str, Any]:
        """For machines."""
        return {
            "run": str(self.path),
            "state": self.state,
            "message": self.message,
            "dataset": self.config.data.dataset,
            "encoder": self.config.encoder.name,
            "decoder": self.config.decoder.name,
            "epochs": len(self.log),
            "of": self.config.training.epochs,
            "valid_mrr": self.mrr("valid"),
            "test_mrr": self.mrr("test"),
        }


def look(path: Path) -> Overview:
    """Read what a run directory says of itself.

    Raises:
        UserError: There is no run here.
    """
    if not (path / artifacts.CONFIG).is_file():
        raise UserError(f"{path}: no such run (it has no {artifacts.CONFIG})")
    config, log = artifacts.read_config(path), _log(path)
    if (path / artifacts.MANIFEST).exists():
        manifest = artifacts.read_manifest(path)
        metrics = _json(path, artifacts.METRICS)
        return Overview(path, "finished", "", config, log, metrics, manifest)
    owner = owner_of(path)
    if owner is not None:
        return Overview(path, "running", f"process {owner}", config, log)
    if (path / artifacts.FAILURE).is_file():
        reason = str(artifacts.read_failure(path).get("message", ""))
        return Overview(path, "failed", reason, config, log)
    return Overview(path, "interrupted", "", config, log)


def look_at_all(folder: Path) -> list[Overview]:
    """Every run in a folder and its folders; one that cannot be read is listed as damaged."""
    found = []
    for path in find_runs(folder):
        try:
            found.append(look(path))
        except HyperfactError as error:
            found.append(Overview(path, "damaged", str(error), ExperimentConfig(), []))
    return found


def find_runs(folder: Path) -> Iterator[Path]:
    """Run directories in a folder and its folders, by name; links are not followed."""
    if not folder.is_dir():
        raise UserError(f"{folder}: no such folder")
    for root, folders, files in os.walk(folder):
        folders.sort()
        here = Path(root)
        inside = {*folders, *files}
        if (artifacts.CONFIG in files and inside & _SIGNS) or inside >= _REMAINS:
            folders.clear()
            yield here
        elif len(here.relative_to(folder).parts) >= _DEPTH:
            folders.clear()


_SIGNS = {artifacts.MANIFEST, artifacts.LOG, artifacts.FAILURE, LOCK, "checkpoints"}
_REMAINS = {artifacts.MANIFEST, artifacts.METRICS}  # of a run that has lost its configuration


def _json(path: Path, name: str) -> dict[str, Any]:
    return parse_json(path / name, read_inside(path, name, limit=_LIMIT))


def _log(path: Path) -> list[dict[str, Any]]:
    """The rows so far; a last line that is only half written is left out."""
    if not (path / artifacts.LOG).exists():
        return []
    content = read_inside(path, artifacts.LOG, limit=_LIMIT)
    rows = []
    for line in content.decode("utf-8", "replace").split("\n")[:-1]:
        with suppress(ValueError, RecursionError):
            row = json.loads(line)
            if not isinstance(row, dict):
                raise DataError(f"{path / artifacts.LOG}: expected objects")
            rows.append(row)
    return rows
