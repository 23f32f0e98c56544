"""Checkpoints: written in an order that no crash can spoil, read only when they are whole."""

import json
import logging
import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from hyperfact.errors import CheckpointError, StorageError
from hyperfact.training.checkpoints import FOLDER, Checkpoint, Checkpoints, Schedule
from tests.support.crashes import Crash, before_each_call, frozen

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.zeros(0, dtype=torch.int64)}


def filled(path: Path, count: int = 2) -> Checkpoints:
    path.mkdir(exist_ok=True)
    checkpoints = Checkpoints(path)
    for number in range(1, count + 1):
        checkpoints.save({"at": number}, {"a": torch.full((3,), float(number))})
    return checkpoints


def at(checkpoint: Checkpoint) -> int:
    assert checkpoint.tensors["a"].tolist() == [float(checkpoint.state["at"])] * 3
    return int(checkpoint.state["at"])


def test_what_is_saved_comes_back(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    state = {"x": 0.1 + 0.2, "n": None, "text": "é\n", "deep": {"list": [1, [2]]}}
    written = checkpoints.save(state, TENSORS)
    found = Checkpoints(tmp_path).latest()
    assert found.number == 1
    assert found.state == state
    assert all(torch.equal(found.tensors[name], tensor) for name, tensor in TENSORS.items())
    assert written == sum(path.stat().st_size for path in (tmp_path / FOLDER).iterdir())


def test_two_generations_are_kept(tmp_path: Path) -> None:
    checkpoints = filled(tmp_path, 5)
    assert checkpoints.numbers() == [4, 5]
    assert sorted(path.name for path in checkpoints.folder.iterdir()) == [
        *("000004.json", "000004.safetensors", "000005.json", "000005.safetensors")
    ]


def test_nothing_to_read_is_said(tmp_path: Path) -> None:
    assert Checkpoints(tmp_path).numbers() == []
    with pytest.raises(CheckpointError, match="no usable checkpoint"):
        Checkpoints(tmp_path).latest()


# -- crashes ---------------------------------------------------------------------------------------


def moments(path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Path]]:
    """The directory before each system call of a third save, and within each write."""
    checkpoints = filled(path)
    found: list[tuple[str, Path]] = []

    def note(name: str, arguments: tuple[Any, ...]) -> None:
        copies = path.parent / "moments"
        copies.mkdir(exist_ok=True)
        found.append((name, frozen(path, copies / f"{len(found):03}")))
        if name == "write":
            half = bytes(arguments[1])[: len(arguments[1]) // 2]
            target = next(p for p in found[-1][1].rglob(".*.tmp"))
            copy = frozen(found[-1][1], copies / f"{len(found):03}")
            (copy / target.relative_to(found[-1][1])).write_bytes(half)
            found.append(("half a write", copy))

    with before_each_call(monkeypatch, note):
        checkpoints.save({"at": 3}, {"a": torch.full((3,), 3.0)})
    found.append(("end", frozen(path, path.parent / "moments" / "end")))
    yield from found


def test_a_kill_at_any_system_call_leaves_a_usable_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state is copied as a kill would leave it; nothing is tidied up by Python."""
    seen = list(moments(tmp_path / "run", monkeypatch))
    newest = []
    for _, copy in seen:
        checkpoints = Checkpoints(copy)
        newest.append(at(checkpoints.latest()))
        assert len(checkpoints.numbers()) >= 2
        checkpoints.clean()
        assert not list(copy.rglob(".*")), "leftovers"
        assert {int(p.stem) for p in checkpoints.folder.iterdir()} == set(checkpoints.numbers())
        checkpoints.save({"at": 9}, {"a": torch.full((3,), 9.0)})
        assert at(Checkpoints(copy).latest()) == 9
    assert len(seen) > 20
    assert newest == sorted(newest)
    assert set(newest) == {2, 3}


def test_the_order_of_writing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Written, flushed, read back, renamed, folder flushed; then the oldest goes.

    The first save makes the folder, whose own name is flushed before anything is in it.
    """
    calls: list[str] = []

    def note(name: str, arguments: tuple[Any, ...]) -> None:
        if name in {"replace", "unlink", "mkdir"}:
            calls.append(f"{name} {Path(arguments[0]).suffix}")
        elif name != "close":
            calls.append(name)

    one = ["open", "write", "fsync", "replace .tmp", "open", "fsync"]
    checkpoints = Checkpoints(tmp_path)
    for at in (1, 2, 3):
        calls.clear()
        with before_each_call(monkeypatch, note):
            checkpoints.save({"at": at}, {"a": torch.full((3,), float(at))})
        if at == 1:
            assert calls == ["mkdir ", "open", "fsync", *one, *one]
    assert calls == [*one, *one, *("unlink .json", "unlink .safetensors", "open", "fsync")]


def failure_of(checkpoints: Checkpoints) -> str | None:
    try:
        checkpoints.save({"at": 3}, {"a": torch.full((3,), 3.0)})
    except StorageError as error:
        return str(error)
    return None


@pytest.mark.parametrize("call", ["open", "write", "fsync", "replace"])
@pytest.mark.parametrize("error", [28, 5])  # ENOSPC, EIO
def test_a_failing_disk_is_reported_and_spoils_nothing(
    call: str, error: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in range(1, 9):
        path = tmp_path / str(place)
        checkpoints = filled(path)
        count = [0]

        def fail(
            name: str, _: tuple[Any, ...], count: list[int] = count, place: int = place
        ) -> None:
            count[0] += name == call
            if name == call and count[0] == place:
                raise OSError(error, os.strerror(error))

        with before_each_call(monkeypatch, fail):
            message = failure_of(checkpoints)
        if message is None:
            assert place > 1
            assert count[0] < place
            return
        assert os.strerror(error) in message
        assert at(Checkpoints(path).latest()) in {2, 3}
        assert not list(path.rglob(".*.tmp"))


def test_a_disk_that_gives_back_other_bytes_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = filled(tmp_path)

    def spoil(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "fsync" and os.fstat(arguments[0]).st_size > 20:
            os.pwrite(arguments[0], b"\x00", 12)

    with (
        before_each_call(monkeypatch, spoil),
        pytest.raises(StorageError, match="gave back other bytes"),
    ):
        checkpoints.save({"at": 3}, {"a": torch.full((3,), 3.0)})
    assert at(Checkpoints(tmp_path).latest()) == 2


def test_an_end_in_the_middle_is_not_swallowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(name: str, _: tuple[Any, ...]) -> None:
        if name == "replace":
            raise Crash

    checkpoints = filled(tmp_path)
    with before_each_call(monkeypatch, crash), pytest.raises(Crash):
        checkpoints.save({"at": 3}, {})
    assert at(Checkpoints(tmp_path).latest()) == 2


# -- damage ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["json", "safetensors"])
def test_every_bit_flip_and_truncation_is_seen(
    kind: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """500 flips and 100 cuts of each of both files; the generation before is taken instead."""
    filled(tmp_path)
    path = tmp_path / FOLDER / f"000002.{kind}"
    whole, rng = path.read_bytes(), random.Random(0)
    caplog.set_level(logging.CRITICAL, "hyperfact.training.checkpoints")
    for case in range(600):
        content = bytearray(whole)
        if case < 500:
            content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        else:
            del content[rng.randrange(len(content)) :]
        path.write_bytes(content)
        assert at(Checkpoints(tmp_path).latest()) == 1, case
    path.write_bytes(whole)
    assert at(Checkpoints(tmp_path).latest()) == 2


def test_the_fall_back_is_announced_and_then_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    checkpoints = filled(tmp_path, 3)
    (checkpoints.folder / "000003.safetensors").write_bytes(b"")
    assert at(checkpoints.latest()) == 2
    assert "000003.safetensors: damaged" in caplog.text
    assert "trying the checkpoint before it" in caplog.text
    checkpoints.save({"at": 4}, {"a": torch.full((3,), 4.0)})
    assert checkpoints.numbers() == [2, 4]


def test_files_of_two_generations_cannot_be_exchanged(tmp_path: Path) -> None:
    folder = filled(tmp_path).folder
    one, two = (folder / f"00000{n}.safetensors" for n in (1, 2))
    one_bytes, two_bytes = one.read_bytes(), two.read_bytes()
    one.write_bytes(two_bytes)
    two.write_bytes(one_bytes)
    with pytest.raises(CheckpointError, match="among 2"):
        Checkpoints(tmp_path).latest()
    one.write_bytes(one_bytes)
    two.write_bytes(two_bytes)
    (folder / "000001.json").replace(folder / "000002.json")
    one.replace(two)
    with pytest.raises(CheckpointError):
        Checkpoints(tmp_path).latest()


@pytest.mark.parametrize(
    "change",
    [
        {"state": None},
        {"format": 99},
        {"tensors": None},
        {"tensors": {"sha256": "0" * 64, "bytes": -1}},
        {"tensors": {"sha256": "0" * 64, "bytes": 2**62}},
        {"tensors": {"sha256": 7, "bytes": True}},
        {"number": 7},
    ],
)
def test_an_edited_description_is_refused(change: dict[str, Any], tmp_path: Path) -> None:
    from hyperfact.training.checkpoints import _document

    folder = filled(tmp_path, 1).folder
    document = json.loads((folder / "000001.json").read_text())
    del document["sha256"]
    (folder / "000001.json").write_bytes(_document({**document, **change}))
    with pytest.raises(CheckpointError):
        Checkpoints(tmp_path).latest()


# -- when ------------------------------------------------------------------------------------------


def test_the_schedule_keeps_its_interval_and_its_budget() -> None:
    now = [0.0]
    schedule = Schedule(every_seconds=60, budget=0.02, expected=1.0, clock=lambda: now[0])
    saved = []
    for tick in range(1, 1001):
        now[0] = float(tick)
        if schedule.is_due(ends_epoch=tick % 7 == 0):
            now[0] += 0.5
            schedule.note(0.5)
            saved.append(tick)
            assert schedule.spent <= 0.02 * now[0]
    assert saved[0] == 56  # the first end of an epoch that the budget allows
    assert len(saved) > 30
    plain = Schedule(every_seconds=60, budget=1.0, clock=lambda: now[0])
    start, found = now[0], []
    for tick in range(1, 200):
        now[0] = start + tick
        if plain.is_due(ends_epoch=False):
            plain.note(0.0)
            found.append(tick)
    assert found == [60, 120, 180]


def test_removing_leaves_nothing(tmp_path: Path) -> None:
    checkpoints = filled(tmp_path)
    checkpoints.remove()
    assert not checkpoints.folder.exists()
    checkpoints.remove()
