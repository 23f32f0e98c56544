"""Tiny runs that are cut short, and what must be equal when they have ended after all."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from hyperfact.config import ExperimentConfig
from hyperfact.runs import artifacts
from hyperfact.training.checkpoints import Checkpoints

_CALLS = ("open", "write", "fsync", "replace", "unlink", "mkdir", "close")
_TIMES = {"seconds", "queries_per_second", "elapsed"}


def crash_config(**sections: dict[str, Any]) -> ExperimentConfig:
    """Every source of chance is on; a checkpoint after each step."""
    base: dict[str, dict[str, Any]] = {
        "training": {"dim": 8, "epochs": 4, "batch_size": 64, "validate_every": 1},
        "encoder": {"name": "compgcn", "dropout": 0.2},
        "graph": {"hide_targets": 0.3},
        "checkpoint": {"every_seconds": 0, "budget": 1.0, "keep": True},
    }
    for name, section in sections.items():
        base[name] = {**base.get(name, {}), **section}
    return ExperimentConfig.from_dict(base)


def without_times(value: Any) -> Any:
    """The same tree without what a clock has written into it."""
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in _TIMES}
    return [without_times(v) for v in value] if isinstance(value, list) else value


def outcome(path: Path) -> dict[str, Any]:
    """Everything that a finished run leaves, clocks aside."""
    last = Checkpoints(path).latest()
    names = (artifacts.WEIGHTS, artifacts.ENTITIES, artifacts.CONFIG)
    digests = {name: hashlib.sha256((path / name).read_bytes()).hexdigest() for name in names}
    tensors = {n: hashlib.sha256(t.numpy().tobytes()).hexdigest() for n, t in last.tensors.items()}
    log = [json.loads(line) for line in (path / artifacts.LOG).read_text().splitlines()]
    metrics = json.loads((path / artifacts.METRICS).read_text())
    return {
        "files": digests,
        "tensors": tensors,  # weights, optimizer, generator, order, hidden edges, best weights
        "state": without_times(dict(last.state)),
        "log": without_times(log),
        "metrics": without_times(metrics),
    }


class Crash(BaseException):
    """Stands for the end of the process; nothing in the package may catch it."""


@contextmanager
def before_each_call(
    monkeypatch: pytest.MonkeyPatch, hook: Callable[[str, tuple[Any, ...]], None]
) -> Iterator[None]:
    """Call `hook(name, arguments)` before every change that Python asks the system for."""
    busy: list[bool] = []

    def wrap(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            if not busy:
                busy.append(True)
                try:
                    hook(name, arguments)
                finally:
                    busy.clear()
            return real(*arguments, **more)

        return call

    with monkeypatch.context() as patch:
        for name in _CALLS:
            patch.setattr(os, name, wrap(name, getattr(os, name)))
        yield


def frozen(path: Path, to: Path) -> Path:
    """A copy of a run directory as a kill in this moment would leave it."""
    shutil.copytree(path, to)
    return to
