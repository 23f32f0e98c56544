"""Processes that are killed, machines that are cut off, real data: all end as if nothing had been.

Nothing leaves this machine: processes talk on loopback, machines in namespaces of their own.
"""

import os
import random
import signal
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from hyperfact.config import ExperimentConfig
from hyperfact.data import load
from hyperfact.evaluation import evaluate
from hyperfact.runs import artifacts
from hyperfact.runs.build import CHOICE, resolve
from hyperfact.runs.configurations import read_config
from hyperfact.runs.experiment import run
from hyperfact.runs.setup import set_up
from hyperfact.training.events import Report
from tests.support import ROOT
from tests.support.benchmarks import data_folder
from tests.support.kills import dataset
from tests.support.namespaces import Machine, two_machines, why_not
from tests.support.teams import together

pytestmark = pytest.mark.slow

_LIMIT = 400.0  # seconds that a training of a few may take on a busy machine
SETTINGS = (
    "training.epochs=30",
    "training.dim=8",
    "training.batch_size=64",
    "training.validate_every=10",
    "checkpoint.every_seconds=0",
    "checkpoint.budget=1.0",
    "encoder.dropout=0.2",
)


def command(data: Path, out: Path) -> list[str]:
    """The same training, stored there."""
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    words = ["-m", "hyperfact", "train", "--dataset", str(data), "--threads", "1", *settings]
    return [*words, "--out", str(out)]


def start(words: list[str], log: Path) -> "subprocess.Popen[bytes]":
    with log.open("ab") as file:
        return subprocess.Popen([sys.executable, *words], stdout=file, stderr=file, cwd=ROOT)


def wait_for_checkpoint(out: Path, process: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + _LIMIT
    while not list(out.glob("checkpoints/*.json")):
        assert process.poll() is None, "it ended before its first checkpoint"
        assert time.monotonic() < end
        time.sleep(0.05)


def workers(out: Path) -> list[int]:
    """The processes that train there, not who has started them."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
        except OSError:
            continue
        is_worker = b"--processes" not in words and b"torch.distributed.run" not in words
        if is_worker and str(out).encode() in words and b"hyperfact" in words:
            found.append(int(path.parent.name))
    return sorted(found)


def same(one: Path, other: Path) -> bool:
    """Whether two finished runs have the same weights and metrics, bit for bit."""
    names = (artifacts.WEIGHTS, artifacts.RANKS.format(split="test"))
    return all((one / name).read_bytes() == (other / name).read_bytes() for name in names)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("cluster"))


@pytest.fixture(scope="module")
def whole(data: Path) -> Path:
    """A training by two processes that nothing has disturbed."""
    out = data.parent / "whole"
    process = start([*command(data, out), "--processes", "2"], out.with_suffix(".log"))
    assert process.wait(_LIMIT) == 0, out.with_suffix(".log").read_text()
    return out


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_worker_ends_the_job_with_a_line(
    data: Path, whole: Path, tmp_path: Path, seed: int
) -> None:
    out, log, rng = tmp_path / "run", tmp_path / "log", random.Random(seed)
    process = start([*command(data, out), "--processes", "2"], log)
    wait_for_checkpoint(out, process)
    time.sleep(rng.random())
    victims = workers(out)
    if len(victims) < 2:
        pytest.skip("it was over before the kill")
    os.kill(rng.choice(victims), signal.SIGKILL)
    assert process.wait(_LIMIT) == 3
    said = [line for line in log.read_text().splitlines() if line.startswith("error")]
    assert len(said) == 1
    assert "was killed by signal 9" in said[0]
    go_on = start(
        ["-m", "hyperfact", "resume", str(out), "--processes", "2", "--threads", "1"], log
    )
    assert go_on.wait(_LIMIT) == 0, log.read_text()
    assert same(whole, out)


def test_torchrun_starts_a_killed_worker_again(data: Path, whole: Path, tmp_path: Path) -> None:
    out, log = tmp_path / "run", tmp_path / "log"
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "3"]
    process = start([*torchrun, *command(data, out)], log)
    wait_for_checkpoint(out, process)
    os.kill(workers(out)[-1], signal.SIGKILL)
    assert process.wait(_LIMIT) == 0, log.read_text()
    assert same(whole, out)


def torchrun_on(
    machine: Machine, master: Machine, data: Path, out: Path
) -> "subprocess.Popen[bytes]":
    words = [
        *(sys.executable, "-m", "torch.distributed.run", "--nnodes", "2", "--nproc-per-node", "1"),
        *("--rdzv-backend", "c10d", "--rdzv-endpoint", f"{master.address}:29511"),
        *("--rdzv-id", "night", "--rdzv-conf", f"is_host={int(machine == master)}"),
        *("--max-restarts", "3", "--local-addr", machine.address, *command(data, out)),
    ]
    return machine.start(*words, log=out.with_suffix(f".{machine.name}.log"), cwd=ROOT)


def logs_of(out: Path) -> str:
    return "\n".join(path.read_text() for path in out.parent.glob("*.log"))


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "can be")
def test_two_machines_train_as_one(data: Path, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with two_machines() as machines:
        nodes = [torchrun_on(machine, machines[0], data, out) for machine in machines]
        assert [node.wait(_LIMIT) for node in nodes] == [0, 0], logs_of(out)
    assert same(whole, out)


@pytest.mark.skipif(bool(why_not()), reason=why_not() or "can be")
def test_a_machine_that_is_lost_and_comes_back(data: Path, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    with two_machines() as (first, second):
        nodes = [torchrun_on(machine, first, data, out) for machine in (first, second)]
        wait_for_checkpoint(out, nodes[0])
        second.kill()
        nodes[1].wait(30)
        nodes[1] = torchrun_on(second, first, data, out)
        assert [node.wait(_LIMIT) for node in nodes] == [0, 0], logs_of(out)
    assert same(whole, out)


def first_steps(config: ExperimentConfig, count: int) -> tuple[list[float], list[int]]:
    """Losses of the first steps on FB-AUTO, then the ranks of validation facts."""
    torch.set_num_threads(1)
    setup = set_up(config, load("FB-AUTO", data_dir=data_folder()))
    reports = (event for event in setup.trainer.run() if isinstance(event, Report))
    losses = [report.loss for report in islice(reports, count)]
    assert setup.valid is not None
    ranks = evaluate(setup.model, setup.valid, setup.known, policy=CHOICE).ranks
    return losses, ranks.greater.tolist()


def test_losses_and_ranks_do_not_depend_on_the_number_of_processes() -> None:
    data_folder()
    config = resolve(read_config(Path("fb_auto_compgcn_mdistmult"), ["training.precision=float64"]))
    losses, ranks = first_steps(config, 50)
    for size in (2, 3):
        for others, places in together(size, first_steps, config, 50):
            np.testing.assert_allclose(others, losses, rtol=0, atol=1e-9)
            assert places == ranks


def mrr_of(config: ExperimentConfig) -> float:
    torch.set_num_threads(1)
    return run(config, splits=load("FB-AUTO", data_dir=data_folder())).results["test"].metrics.mrr


def test_trained_models_are_as_good() -> None:
    data_folder()
    gaps = []
    for seed in range(3):
        changes = [f"training.seed={seed}", "training.epochs=4", "training.precision=float32"]
        config = resolve(read_config(Path("fb_auto_compgcn_mdistmult"), changes))
        gaps.append(together(2, mrr_of, config)[0] - mrr_of(config))
    assert abs(float(np.mean(gaps))) <= 0.002, gaps
