"""One writer at a time, and nobody waits for the dead."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hyperfact.errors import StorageError, UserError
from hyperfact.system.lock import LOCK, RunLock, owner_of

_HOLD = """
import sys
from pathlib import Path
from hyperfact.system.lock import RunLock
with RunLock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(folder: Path, code: str = _HOLD) -> subprocess.Popen[str]:
    """Another process that holds the lock of a folder until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_lock_names_its_process_and_leaves_nothing(tmp_path: Path) -> None:
    assert owner_of(tmp_path) is None
    with RunLock(tmp_path):
        assert owner_of(tmp_path) == os.getpid()
        assert json.loads((tmp_path / LOCK).read_text()) == {"pid": os.getpid()}
        with pytest.raises(UserError, match=rf"the process {os.getpid()} is writing to this run"):
            RunLock(tmp_path).__enter__()
        assert owner_of(tmp_path) == os.getpid()
    assert owner_of(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_the_lock_of_another_process_ends_with_it(tmp_path: Path) -> None:
    holder = hold(tmp_path)
    assert owner_of(tmp_path) == holder.pid
    with pytest.raises(UserError, match=f"the process {holder.pid} is writing"):
        RunLock(tmp_path).__enter__()
    holder.kill()
    holder.communicate()
    assert json.loads((tmp_path / LOCK).read_text()) == {"pid": holder.pid}
    assert owner_of(tmp_path) is None
    with RunLock(tmp_path):
        assert owner_of(tmp_path) == os.getpid()
    assert list(tmp_path.iterdir()) == []


def test_a_writer_that_ends_well_lets_the_next_one_in(tmp_path: Path) -> None:
    holder = hold(tmp_path)
    holder.communicate("")
    assert list(tmp_path.iterdir()) == []
    with RunLock(tmp_path):
        pass


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_child_that_lives_on_keeps_no_lock(tmp_path: Path) -> None:
    process = hold(tmp_path, "import os\n" + _HOLD.replace("print(", "os.fork() and print("))
    assert owner_of(tmp_path) == process.pid
    process.kill()
    process.wait()  # its child still waits for the end of the input
    with RunLock(tmp_path):
        assert owner_of(tmp_path) == os.getpid()
    process.communicate()


def test_an_owner_that_cannot_be_told_is_0(tmp_path: Path) -> None:
    with RunLock(tmp_path):
        for text in ("", "{", "[1]", '{"pid": "x"}', '{"pid": null}', "{}"):
            (tmp_path / LOCK).write_text(text)
            assert owner_of(tmp_path) == 0


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    target = tmp_path / "precious"
    target.write_text("words")
    try:
        (tmp_path / "run" / LOCK).symlink_to(target)
    except OSError:
        pytest.skip("no links here")
    with RunLock(tmp_path / "run"):
        assert target.read_text() == "words"
    (tmp_path / "run" / ".lock").symlink_to(target)
    with pytest.raises(StorageError), RunLock(tmp_path / "run"):
        pass
    assert owner_of(tmp_path / "run") is None
    assert target.read_text() == "words"
