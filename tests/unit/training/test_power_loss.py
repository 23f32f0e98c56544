"""Power loss: after every prefix of the trace of a training the newest whole state comes back.

Flushes decide what is left (see `tests.support.power`); before any change the power may fail.
"""

import random
import shutil
from pathlib import Path

import pytest
import torch

from hyperfact.errors import CheckpointError
from hyperfact.runs.experiment import resume, run
from hyperfact.training.checkpoints import Checkpoints
from tests.support.crashes import crash_config, outcome
from tests.support.power import Trace, left_over, materialise, traced
from tests.unit.runs.test_experiment import splits_of

SHARES = (0.0, 1.0, 0.5, 0.2, 0.8)  # of what may be lost that is there


def check_prefixes(trace: Trace, committed: list[int], place: Path, states: int) -> int:
    """Every prefix, in several states: the newest generation that was safe, or a newer one."""
    rng, checked = random.Random(0), 0
    for end in range(len(trace.changes) + 1):
        safe = sum(at <= end for at in committed)  # saves that had returned
        for state in range(states):
            names, contents = left_over(
                trace.changes[:end], rng, SHARES[state] if state < 5 else rng.random()
            )
            folder = place / f"{end}-{state}"
            materialise(names, contents, trace.root, folder)
            found = Checkpoints(folder)
            if safe:
                last = found.latest()
                assert last.number >= safe, f"after {end} changes"
                assert last.state["number"] == last.number
                assert last.tensors["x"].tolist() == [float(last.number)] * 3
            checked += 1
            shutil.rmtree(folder)
    return checked


def saves(path: Path, monkeypatch: pytest.MonkeyPatch, count: int) -> tuple[Trace, list[int]]:
    """Some generations, and after how many changes each had been saved."""
    path.mkdir()
    committed = []
    with traced(monkeypatch, path) as trace:
        checkpoints = Checkpoints(path)
        for number in range(1, count + 1):
            checkpoints.save({"number": number}, {"x": torch.full((3,), float(number))})
            committed.append(len(trace.changes))
    return trace, committed


def test_every_prefix_of_a_save_recovers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace, committed = saves(tmp_path / "run", monkeypatch, 4)
    kinds = {change.kind for change in trace.changes}
    assert kinds == {"name", "bytes", "flush", "flush folder"}
    assert check_prefixes(trace, committed, tmp_path / "left", 5) > 200


def test_the_model_sees_a_flush_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one of the flushes something is lost that must not be."""
    for kind in ("flush", "flush folder"):
        trace, committed = saves(tmp_path / kind, monkeypatch, 2)
        rest = [change for change in trace.changes if change.kind != kind]
        moved = [sum(c.kind != kind for c in trace.changes[:at]) for at in committed]
        trace.changes[:] = rest
        with pytest.raises((AssertionError, CheckpointError)):
            check_prefixes(trace, moved, tmp_path / f"{kind} left", 5)


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_prefix_in_a_hundred_states_recovers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace, committed = saves(tmp_path / "run", monkeypatch, 8)
    assert check_prefixes(trace, committed, tmp_path / "left", 100) > 10_000


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_training_goes_on_to_the_same_bits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole directory of a run, at prefixes drawn at random, resumed to the end."""
    torch.set_num_threads(1)
    path, splits, rng = tmp_path / "run", splits_of(), random.Random(1)
    with traced(monkeypatch, path) as trace:
        run(crash_config(), splits=splits, out=path)
    expected = outcome(path)
    begun = next(at for at, c in enumerate(trace.changes) if _names(c, "000001.json"))
    ended = next(at for at, c in enumerate(trace.changes) if _names(c, "manifest.json"))
    for number in range(40):
        end = rng.randrange(begun + 3, ended)  # a first generation is safe
        names, contents = left_over(trace.changes[:end], rng, rng.choice(SHARES))
        left = tmp_path / f"left {number}"
        materialise(names, contents, path, left)
        resume(left, splits=splits)
        assert outcome(left) == expected, f"after {end} changes"
        shutil.rmtree(left)


def _names(change: object, name: str) -> bool:
    return any(path.name == name for path, _ in getattr(change, "names", ()))
