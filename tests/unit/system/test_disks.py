"""Real full disks: one line, exit 3, and training goes on when there is room again."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hyperfact.training.checkpoints import Checkpoints
from tests.support.kills import dataset, finish, go_on, train

resource = pytest.importorskip("resource", reason="limits of a process are POSIX")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("disks"))


def outcome_is_there(path: Path) -> bool:
    return (path / "manifest.json").exists() and not (path / "failure.json").exists()


@pytest.mark.slow
def test_a_limit_on_file_sizes_is_a_full_disk(data: Path, tmp_path: Path) -> None:
    """RLIMIT_FSIZE in a real process: exit 3, one line, and it goes on when there is room."""
    path = tmp_path / "run"
    command = [sys.executable, "-m", "hyperfact", "train", "--dataset", str(data), "--threads", "1"]
    settings = ("training.dim=64", "training.epochs=2", "checkpoint.budget=1")
    command += [word for setting in settings for word in ("--set", setting)]
    done = subprocess.run(
        [*command, "--out", str(path)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, 30_000)),
    )
    assert done.returncode == 3, done.stderr
    assert "cannot be written: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(path.rglob(".*.tmp"))
    finish(go_on(data, path))
    assert outcome_is_there(path)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 8 MB.

    It is mounted for a process of its own and reached through that; it goes when the process does,
    and the process when its input ends, however the tests end.
    """
    if shutil.which("unshare") is None:
        pytest.skip("a small file system needs unshare (Linux)")
    place = tmp_path / "small"
    place.mkdir()
    words = ["unshare", "--mount", "--propagation", "private"]
    words += [] if os.geteuid() == 0 else ["--map-root-user"]
    script = 'mount -t tmpfs -o size=8m none "$1" && echo ready && exec cat'
    with subprocess.Popen(
        [*words, "sh", "-c", script, "sh", str(place)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        assert holder.stderr is not None
        try:
            if holder.stdout.readline() != "ready\n":
                pytest.skip(f"nothing may be mounted here: {holder.stderr.read().strip()}")
            inside = Path(f"/proc/{holder.pid}/root") / place.relative_to("/")
            if not os.access(inside, os.W_OK):
                pytest.skip("a file system of another process may not be used here")
            yield inside
        finally:
            holder.stdin.close()
            holder.wait(timeout=30)


def test_a_full_file_system_stops_training_and_spoils_nothing(data: Path, small_disk: Path) -> None:
    """A checkpoint has about 2 MB; two fit beside the filling, a third does not."""
    path, filling = small_disk / "run", small_disk / "filling"
    assert shutil.disk_usage(small_disk).total == 8 * 2**20
    filling.write_bytes(bytes(3 * 2**20))
    process = train(data, path, training__dim=192, training__epochs=3)
    _, words = process.communicate(timeout=300)
    assert process.returncode == 3, words
    assert "cannot be written: No space left on device" in words
    assert "Traceback" not in words
    checkpoints = Checkpoints(path)
    last = checkpoints.latest()
    assert last.number == checkpoints.numbers()[-1] >= 1
    assert sum(tensor.nbytes for tensor in last.tensors.values()) > 2**20

    leftover = checkpoints.folder / f".{last.number + 1:06}.json.1.tmp"
    leftover.write_bytes(b"{")  # as a writer leaves it that was killed
    filling.unlink()
    finish(go_on(data, path))
    assert outcome_is_there(path)
    assert not list(path.rglob(".*.tmp"))
    assert checkpoints.latest().number > last.number
