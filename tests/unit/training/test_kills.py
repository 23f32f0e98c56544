"""Real processes, really killed: SIGKILL at random moments and at each system call, signals.

The many in-process cases are in test_resume.py and test_checkpoints.py; hundreds of kills run at
night (tests/night/test_kills.py).
"""

import json
import random
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from hyperfact.training.checkpoints import Checkpoints
from tests.support.forks import Server
from tests.support.kills import (
    dataset,
    equal,
    finish,
    fresh,
    go_on,
    kill_again_and_again,
    start,
    train,
    wait_for,
    wait_for_epoch,
)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("kills"))


@pytest.fixture(scope="module")
def whole(data: Path) -> Path:
    """A run that nothing has disturbed."""
    finish(train(data, data.parent / "whole", by=fresh))
    return data.parent / "whole"


def test_kills_at_random_moments_of_one_run(data: Path, whole: Path, tmp_path: Path) -> None:
    """One by day, thirty and three hundred at night."""
    kills = kill_again_and_again(data, tmp_path / "run", 1, random.Random(1))
    assert kills == 1
    assert equal(whole, tmp_path / "run")


@pytest.mark.slow  # by day the killed runs of above end in the same bits, in other processes
def test_a_fresh_process_gives_the_same_bits(data: Path, whole: Path, tmp_path: Path) -> None:
    finish(train(data, tmp_path / "fresh", by=fresh))
    assert equal(whole, tmp_path / "fresh")


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGTERM, 143),
        pytest.param(signal.SIGINT, 130, marks=pytest.mark.slow),
    ],
)
def test_a_signal_stores_and_ends_at_the_next_step(
    number: signal.Signals, code: int, data: Path, whole: Path, tmp_path: Path
) -> None:
    """Checkpoints by the clock are off: what is there afterwards is what the signal stored."""
    path = tmp_path / "run"
    process = train(data, path, checkpoint__every_seconds=1e9, checkpoint__budget=1e-9)
    wait_for_epoch(path / "log.jsonl", process)
    process.send_signal(number)
    _, words = process.communicate(timeout=300)
    assert process.returncode == code, words
    assert not (path / "manifest.json").exists()  # it did not go on to the end
    assert f"hyperfact resume {path}" in words
    assert "Traceback" not in words
    assert len(Checkpoints(path).numbers()) == 1
    finish(go_on(data, path))
    one, other = whole / "weights.safetensors", path / "weights.safetensors"
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.slow
def test_a_second_signal_ends_at_once_and_the_state_is_valid(
    data: Path, whole: Path, tmp_path: Path
) -> None:
    process = train(data, tmp_path / "run")
    wait_for(tmp_path / "run" / "checkpoints" / "000003.json", process)
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=300)
    assert process.returncode in {130, 143}
    finish(go_on(data, tmp_path / "run"))
    assert equal(whole, tmp_path / "run")


def test_a_second_writer_is_refused_and_a_dead_one_is_not_waited_for(
    data: Path, tmp_path: Path
) -> None:
    path = tmp_path / "run"
    first = train(data, path, training__epochs=4000)
    wait_for(path / "checkpoints" / "000001.json", first)
    second = start("resume", str(path))
    _, words = second.communicate(timeout=300)
    assert (second.returncode, f"the process {first.pid} is writing" in words) == (2, True), words
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert json.loads((path / "lock.json").read_text()) == {"pid": first.pid}
    third = start("resume", str(path))
    wait_for(path / "checkpoints" / "never.json", third, seconds=1)
    third.send_signal(signal.SIGTERM)
    _, words = third.communicate(timeout=300)
    assert third.returncode in {143, -signal.SIGTERM}, words


# -- a kill at every system call -------------------------------------------------------------------

_SERVER = """
import os, sys
from pathlib import Path
import torch
torch.set_num_threads(1)
from hyperfact.training.checkpoints import Checkpoints
for line in sys.stdin:
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.read(reader, 1)
        Checkpoints(Path(line.strip())).save({"at": 3}, {"a": torch.full((3,), 3.0)})
        os._exit(0)
    print(child, flush=True)
    sys.stdin.readline()
    os.write(writer, b"1")
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    os.close(reader), os.close(writer)
"""
_SAVE_CALLS = ("openat", "write", "fsync", "rename", "unlink", "mkdir")


class Saver(Server):
    """One process that imports torch once and saves a checkpoint in a fresh child for each case."""

    def save_under(self, folder: Path, log: Path, *options: str) -> int:
        """Save there with strace attached; the exit code of the child."""
        child = self.ask(str(folder))
        words = ["strace", "-f", "-o", str(log), *options, "-p", child]
        with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as tracer:
            assert tracer.stderr is not None
            if "attached" not in (line := tracer.stderr.readline()):
                self.ask("go")
                pytest.skip(f"strace cannot attach here: {line.strip()}")
            code = int(self.ask("go"))
            tracer.wait(timeout=30)
        return code


@pytest.fixture(scope="module")
def server() -> Iterator[Saver]:
    if shutil.which("strace") is None:
        pytest.skip("strace is not installed")
    made = Saver(_SERVER)
    yield made
    made.process.kill()
    made.process.communicate()


@pytest.fixture
def two(tmp_path: Path) -> Path:
    """A run with two generations."""
    path = tmp_path / "two"
    path.mkdir()
    for number in (1, 2):
        Checkpoints(path).save({"at": number}, {"a": torch.full((3,), float(number))})
    return path


def test_a_kill_at_each_system_call_of_a_save(server: Saver, two: Path, tmp_path: Path) -> None:
    hits: dict[str, int] = {}
    for call in _SAVE_CALLS:
        for when in range(1, 40):
            path = tmp_path / f"{call}{when}"
            shutil.copytree(two, path)
            inject = f"inject={call}:signal=KILL:when={when}"
            code = server.save_under(path, tmp_path / "log", "-e", f"trace={call}", "-e", inject)
            found = Checkpoints(path).latest()
            assert found.state["at"] in {2, 3}
            assert found.tensors["a"].tolist() == [float(found.state["at"])] * 3
            if code == 0:
                assert found.state["at"] == 3
                break
            assert code == -signal.SIGKILL
            hits[call] = when
    assert hits["fsync"] == 5  # two files, their folder twice, and once more after the removal
    assert hits["rename"] == hits["unlink"] == 2
    assert hits["write"] >= 2
    assert hits["openat"] >= 7


def test_the_order_of_system_calls(server: Saver, two: Path, tmp_path: Path) -> None:
    """Write, flush, read back, rename, flush the folder, and only then remove the oldest."""
    log = tmp_path / "log"
    assert server.save_under(two, log, "-y", "-e", "trace=write,read,fsync,rename,unlink") == 0
    found = []
    for line in log.read_text().splitlines():
        match = re.search(r"(\w+)\((.*)", line)
        if match and "checkpoints" in match[2]:
            kind = next((k for k in ("safetensors", "json") if k in match[2]), "folder")
            found.append(f"{match[1]} {kind}")
    steps = [step for i, step in enumerate(found) if i == 0 or step != found[i - 1]]

    def one(kind: str) -> list[str]:
        calls = ("write", "fsync", "read", "rename")
        return [*(f"{call} {kind}" for call in calls), "fsync folder"]

    assert steps == [
        *one("safetensors"),
        *one("json"),
        *("unlink json", "unlink safetensors", "fsync folder"),
    ]
