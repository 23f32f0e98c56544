"""Real processes that are really killed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from hyperfact.data import write
from hyperfact.runs import artifacts
from tests.support import ROOT
from tests.support.crashes import outcome
from tests.support.forks import Forked
from tests.unit.runs.test_experiment import splits_of

SETTINGS = {
    "training.dim": 8,
    "training.epochs": 50,
    "training.batch_size": 64,
    "training.validate_every": 10,
    "encoder.dropout": 0.2,
    "graph.hide_targets": 0.3,
    "checkpoint.every_seconds": 0,
    "checkpoint.budget": 1.0,
    "checkpoint.keep": "true",
}


def dataset(folder: Path) -> Path:
    write(splits_of(), folder / "data", format="jsonl")
    return folder / "data"


class Process(Protocol):
    """What tests need of a process."""

    pid: int
    returncode: Any

    def poll(self) -> int | None: ...
    def send_signal(self, sig: int, /) -> None: ...
    def communicate(self, *, timeout: float = ...) -> tuple[str, str]: ...


def fresh(*words: str) -> Process:
    """The command line in a process that has just begun, with hashes of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "hyperfact", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def start(*words: str) -> Process:
    """The command line in a process of its own, forked where the system can."""
    return Forked(*words) if hasattr(os, "fork") else fresh(*words)


def train(data: Path, out: Path, *, by: Callable[..., Process] = start, **more: object) -> Process:
    settings = {**SETTINGS, **{key.replace("__", "."): value for key, value in more.items()}}
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    return by(*("train", "--dataset", str(data), "--threads", "1", "--out", str(out), *options))


def go_on(data: Path, out: Path) -> Process:
    """Resume what is there; begin where there is nothing yet."""
    if (out / artifacts.CONFIG).exists():
        return start("resume", str(out))
    return train(data, out)


def wait_for(path: Path, process: Process, *, seconds: float = 120) -> None:
    """Until the file exists or the process has ended."""
    end = time.monotonic() + seconds
    while not path.exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.002)


def wait_for_epoch(log: Path, process: Process) -> None:
    """Until an epoch is logged; so a step is done, and there is something to store."""
    wait_for(log, process)
    while not log.read_text() and process.poll() is None:
        time.sleep(0.002)


def kill_again_and_again(data: Path, out: Path, kills: int, rng: random.Random) -> int:
    """Start, kill at a random moment, resume, kill …; then let it end. Returns the kills.

    Two of three moments lie after the process has begun to write, the others anywhere.
    """
    done = 0
    while done < kills and not (out / artifacts.MANIFEST).exists():
        process = go_on(data, out)
        if rng.random() < 2 / 3:
            wait_for(out / "lock.json", process)
            time.sleep(rng.uniform(0, 0.4))
        else:
            time.sleep(rng.uniform(0, 1.5))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        done += process.returncode == -signal.SIGKILL
    finish(go_on(data, out))
    return done


def finish(process: Process) -> str:
    """Wait for success; the words on stderr."""
    _, words = process.communicate(timeout=300)
    assert process.returncode == 0, words
    return words


def equal(one: Path, other: Path) -> bool:
    return outcome(one) == outcome(other) and not list(other.rglob(".*.tmp"))
