"""A run that is cut short and resumed ends with the same bits as one that is not.

The cuts here happen inside one process: an exception that nothing catches, raised between steps,
or a copy of the directory as a kill would leave it. Real kills are in test_kills.py.
"""

import json
import random
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from hyperfact.cli.signals import Signals
from hyperfact.errors import (
    CheckpointError,
    ConfigError,
    DataError,
    NumericalError,
    StorageError,
    UserError,
)
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.models.transeq import TransEQ
from hyperfact.runs import artifacts
from hyperfact.runs.catalog import find_runs, look
from hyperfact.runs.experiment import resume, run
from hyperfact.runs.provenance import passport
from hyperfact.runs.run import evaluate_split, open_run
from hyperfact.system.lock import RunLock
from hyperfact.training.checkpoints import Checkpoints
from hyperfact.training.events import Epoch, Event, Interruption, Report
from hyperfact.training.optimizer import clip
from hyperfact.training.trainer import Trainer
from tests.support.crashes import Crash, before_each_call, crash_config, frozen, outcome
from tests.unit.runs.test_experiment import splits_of

FORMS: dict[str, dict[str, dict[str, Any]]] = {
    "share": {},
    "batch": {"graph": {"hide_targets": "batch"}, "objective": {"negatives": 3}},
    "plain": {"graph": {"hide_targets": "none"}, "decoder": {"name": "hype"}},
    "stops": {"training": {"patience": 1, "epochs": 9}, "optimizer": {"lr": 0.1}},
    "counts": {"evidence": {"order": 2, "profiles": True}, "graph": {"hide_targets": "none"}},
    "rgcn": {"encoder": {"name": "rgcn", "dropout": 0.0}, "optimizer": {"name": "adamw"}},
}


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def cut_after(events: int) -> Any:
    """A watch that ends the process, so to say, at this event."""
    left = [events]

    def watch(_: Event) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Crash

    return watch


def count_events(form: dict[str, dict[str, Any]], path: Path) -> int:
    seen: list[Event] = []
    run(crash_config(**form), splits=splits_of(), out=path, watch=seen.append)
    return len(seen)


@pytest.mark.parametrize("form", FORMS)
def test_a_cut_at_any_event_changes_nothing(form: str, tmp_path: Path) -> None:
    """Cut after each of a sample of events, once or three times in one run."""
    total = count_events(FORMS[form], tmp_path / "whole")
    expected, rng = outcome(tmp_path / "whole"), random.Random(form)
    assert expected["log"][-1]["epoch"] == len(expected["log"])
    for case in range(3):
        path, config = tmp_path / f"cut{case}", crash_config(**FORMS[form])
        with pytest.raises(Crash):
            run(config, splits=splits_of(), out=path, watch=cut_after(rng.randrange(total)))
        for _ in range(case):
            try:
                resume(path, splits=splits_of(), watch=cut_after(rng.randrange(total // 2)))
            except Crash:
                continue
            break
        if not (path / artifacts.MANIFEST).exists():
            resume(path, splits=splits_of())
        assert outcome(path) == expected


def test_a_kill_at_any_system_call_of_a_run_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directory is copied before a sample of all changes to the disk, and each copy resumed."""
    config = crash_config(training={"epochs": 2})
    run(config, splits=splits_of(), out=tmp_path / "whole")
    expected, path = outcome(tmp_path / "whole"), tmp_path / "run"
    copies: list[Path] = []
    rng = random.Random(0)

    def note(_name: str, _arguments: tuple[Any, ...]) -> None:
        if (path / artifacts.CONFIG).exists() and rng.random() < 0.04:
            copies.append(frozen(path, tmp_path / f"copy{len(copies)}"))

    with before_each_call(monkeypatch, note):
        run(config, splits=splits_of(), out=path)
    assert len(copies) >= 8
    for copy in copies:
        if not (copy / artifacts.MANIFEST).exists():
            resume(copy, splits=splits_of())
        assert outcome(copy) == expected
        assert not list(copy.rglob(".*.tmp"))


def test_saving_changes_nothing(tmp_path: Path) -> None:
    """Checkpoints after each step, never, and no directory at all."""
    often, never = crash_config(), crash_config(checkpoint={"every_seconds": 1e9, "budget": 1e-9})
    one = run(often, splits=splits_of(), out=tmp_path / "often")
    two = run(never, splits=splits_of(), out=tmp_path / "never")
    three = run(often, splits=splits_of())
    assert not (tmp_path / "never" / "checkpoints").exists()
    for other in (two, three):
        for (name, a), b in zip(
            one.model.state_dict().items(), other.model.state_dict().values(), strict=True
        ):
            assert torch.equal(a, b), name
        assert [e.loss for e in one.epochs] == [e.loss for e in other.epochs]


def test_every_part_of_the_state_matters(tmp_path: Path) -> None:
    """Leaving one part out of a resume gives another result: the test above can fail."""
    config = crash_config(training={"epochs": 3}, encoder={"hidden_dropout": 0.2})
    run(config, splits=splits_of(), out=tmp_path / "whole")
    expected = outcome(tmp_path / "whole")
    with pytest.raises(Crash):
        run(config, splits=splits_of(), out=tmp_path / "cut", watch=cut_after(4))
    restore = Trainer.restore
    start = Trainer.__init__

    for part in ("generator", "order", "hidden", "optimizer.0.exp_avg", "optimizer.1.step"):
        path = frozen(tmp_path / "cut", tmp_path / part)

        def forgetful(self: Trainer, numbers: Any, tensors: Any, part: str = part) -> None:
            kept = dict(tensors)
            kept[part] = other_of(kept[part])
            restore(self, numbers, kept)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Trainer, "restore", forgetful)
            resume(path, splits=splits_of())
        assert outcome(path) != expected, part
    assert Trainer.__init__ is start


def other_of(tensor: torch.Tensor) -> torch.Tensor:
    """A state that might have been, but was not."""
    if tensor.dtype == torch.uint8:
        return torch.Generator().manual_seed(99).get_state()
    if tensor.dtype == torch.bool:
        return torch.ones_like(tensor)
    return tensor.flip(0) if tensor.dim() else tensor + 5


# -- refusals --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def _cut_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    path = tmp_path_factory.mktemp("cut") / "run"
    with pytest.raises(Crash):
        run(crash_config(), splits=splits_of(), out=path, watch=cut_after(6))
    return path


@pytest.fixture
def cut(_cut_run: Path, tmp_path: Path) -> Path:
    return frozen(_cut_run, tmp_path / "run")


@pytest.mark.parametrize(
    ("line", "other", "named"),
    [
        ("dim = 8", "dim = 9", "training.dim is 9 now, the checkpoint has 8"),
        ("lr = 0.005", "lr = 0.004", "optimizer.lr is 0.004 now, the checkpoint has 0.005"),
        ("seed = 0", "seed = 1", "training.seed"),
        ("epochs = 4", "epochs = 5", "training.epochs"),
        ('mode = "compact"', 'mode = "literal"', "graph.mode"),
        ("dropout = 0.2", "dropout = 0.3", "encoder.dropout"),
    ],
)
def test_another_setting_is_refused_by_name(line: str, other: str, named: str, cut: Path) -> None:
    config = cut / artifacts.CONFIG
    text = config.read_text()
    assert line in text
    config.write_text(text.replace(line, other))
    with pytest.raises(ConfigError, match=named):
        resume(cut, splits=splits_of())


def test_other_facts_names_or_orders_are_refused_by_name(cut: Path) -> None:
    splits = splits_of()
    with pytest.raises(ConfigError, match=r"data\.t"):
        resume(cut, splits=splits_of(1))
    turned = np.arange(len(splits.train))[::-1].copy()
    parts = {**splits.parts, "train": splits.train.select(turned)}
    with pytest.raises(ConfigError, match=r"order\.training facts"):
        resume(cut, splits=Splits(parts, "toy"))
    names = list(splits.entities)[::-1]
    renamed = {n: HKG.from_facts(list(g), entities=names) for n, g in splits.items()}
    with pytest.raises(ConfigError, match=r"order\.entities"):
        resume(cut, splits=Splits(renamed, "toy"))


@pytest.mark.parametrize("part", ["kernels", "torch", "hyperfact"])
def test_other_code_is_refused_unless_asked_for(
    part: str, cut: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def changed(*arguments: Any) -> dict[str, Any]:
        papers = passport(*arguments)
        papers["versions"][part] = "other"
        return papers

    monkeypatch.setattr("hyperfact.runs.record.passport", changed)
    with pytest.raises(ConfigError, match=rf"versions\.{part} is 'other' now"):
        resume(cut, splits=splits_of())
    assert resume(cut, splits=splits_of(), any_version=True).epochs


def test_other_threads_are_refused(cut: Path) -> None:
    torch.set_num_threads(2)
    with pytest.raises(ConfigError, match="threads is 2 now, the checkpoint has 1"):
        resume(cut, splits=splits_of())


def test_a_finished_or_foreign_directory_is_not_resumed(tmp_path: Path) -> None:
    run(crash_config(training={"epochs": 1}), splits=splits_of(), out=tmp_path / "done")
    with pytest.raises(UserError, match="finished"):
        resume(tmp_path / "done")
    with pytest.raises(UserError, match="no such run"):
        resume(tmp_path / "absent")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"no config\.toml"):
        resume(tmp_path / "empty")
    assert list((tmp_path / "empty").iterdir()) == []


def test_two_writers_are_one_too_many(cut: Path, tmp_path: Path) -> None:
    with RunLock(cut), pytest.raises(UserError, match=r"the process \d+ is writing"):
        resume(cut, splits=splits_of())
    path = tmp_path / "new"
    path.mkdir()
    with RunLock(path), pytest.raises(UserError, match="is writing to this run"):
        run(crash_config(), splits=splits_of(), out=path)
    (cut / "lock.json").write_text('{"pid": 999999999}\n')  # of a process that is gone
    assert resume(cut, splits=splits_of()).epochs
    assert not (cut / "lock.json").exists()


def test_damage_falls_back_and_never_starts_from_scratch(
    cut: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run(crash_config(), splits=splits_of(), out=tmp_path / "whole")
    older, newer = Checkpoints(cut).numbers()
    worse = frozen(cut, tmp_path / "worse")
    (cut / "checkpoints" / f"{newer:06}.safetensors").write_bytes(b"damaged")
    resume(cut, splits=splits_of())
    assert "damaged" in caplog.text
    assert outcome(cut) == outcome(tmp_path / "whole")
    for number in (older, newer):
        (worse / "checkpoints" / f"{number:06}.json").write_bytes(b"{}")
    with pytest.raises(CheckpointError, match="no usable checkpoint among 2"):
        resume(worse, splits=splits_of())
    assert look(worse).log == look(frozen(worse, tmp_path / "again")).log != []


def test_a_damaged_checkpoint_is_not_one_of_the_two_that_are_kept(cut: Path) -> None:
    older, newer = Checkpoints(cut).numbers()
    (cut / "checkpoints" / f"{newer:06}.safetensors").write_bytes(b"damaged")
    with pytest.raises(Crash):
        resume(cut, splits=splits_of(), watch=cut_after(0))
    assert Checkpoints(cut).numbers() == [older, newer + 1]


def test_a_checkpoint_of_another_model_is_refused(cut: Path) -> None:
    checkpoints = Checkpoints(cut)
    last = checkpoints.latest()
    tensors = dict(last.tensors)
    tensors["model.encoder.relations.weight"] = torch.zeros(1)
    checkpoints.save(last.state, tensors)
    with pytest.raises(CheckpointError, match="does not fit this model"):
        resume(cut, splits=splits_of())


# -- trouble ---------------------------------------------------------------------------------------


def test_a_number_that_is_not_finite_leaves_the_last_good_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"

    def spoil(event: Event) -> None:
        if isinstance(event, Report) and (event.epoch, event.step) == (2, 1):
            trainer = last[0]
            with torch.no_grad():
                next(trainer.model.parameters()).view(-1)[0] = float("nan")

    last: list[Trainer] = []
    run_ = Trainer.run

    def remembering(self: Trainer, **more: Any) -> Any:
        last.append(self)
        return run_(self, **more)

    monkeypatch.setattr(Trainer, "run", remembering)
    with pytest.raises(NumericalError):
        run(crash_config(), splits=splits_of(), out=path, watch=spoil)
    stored = Checkpoints(path).latest()
    assert stored.state["fit"]["trainer"] == {"epoch": 2, "step": 1}
    assert all(bool(torch.isfinite(t).all()) for t in stored.tensors.values())
    assert look(path).state == "failed"
    assert "not finite" in look(path).message or "nan" in look(path).message


def test_weights_that_are_not_finite_are_never_stored(tmp_path: Path) -> None:
    """A step too large: the loss was finite, the weights after it are not."""
    config = crash_config(optimizer={"lr": 1e38})
    with pytest.raises(NumericalError):
        run(config, splits=splits_of(), out=tmp_path / "run")
    for number in Checkpoints(tmp_path / "run").numbers():
        assert number < 3
    if Checkpoints(tmp_path / "run").numbers():
        tensors = Checkpoints(tmp_path / "run").latest().tensors
        model = [t for name, t in tensors.items() if name.startswith("model.")]
        assert all(bool(torch.isfinite(t).all()) for t in model if t.is_floating_point())


def test_a_full_disk_ends_the_run_and_it_goes_on_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(crash_config(), splits=splits_of(), out=tmp_path / "whole")
    path, writes = tmp_path / "run", [0]

    def fill(name: str, _: tuple[Any, ...]) -> None:
        writes[0] += name == "write"
        if name == "write" and writes[0] >= 12:
            raise OSError(28, "No space left on device")

    with before_each_call(monkeypatch, fill), pytest.raises(StorageError, match="No space left"):
        run(crash_config(), splits=splits_of(), out=path)
    assert not list(path.rglob(".*.tmp"))
    resume(path, splits=splits_of())
    assert outcome(path) == outcome(tmp_path / "whole")


class _Arriving(Signals):
    """Signals that a test sends in the middle of a step, or of a validation."""

    def send(self) -> None:
        signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize("where", ["step", "validation"])
def test_a_signal_waits_for_the_step_and_the_state_is_stored(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"every_seconds": 1e9, "budget": 1e-9}  # so that only the signal stores
    config = crash_config(checkpoint={**settings, "keep": True})
    run(crash_config(), splits=splits_of(), out=tmp_path / "whole")
    path, sent = tmp_path / "run", [0]
    with _Arriving() as signals, pytest.MonkeyPatch.context() as patch:
        step, validate = Trainer._step, Trainer._is_due

        def stepping(self: Trainer) -> Report:
            if where == "step" and (self.epoch, self.step) == (2, 1):
                sent[0] += 1
                signals.send()
            return step(self)

        def validating(self: Trainer) -> bool:
            if where == "validation" and self.epoch == 2:
                sent[0] += 1
                signals.send()
            return validate(self)

        patch.setattr(Trainer, "_step", stepping)
        patch.setattr(Trainer, "_is_due", validating)
        with pytest.raises(Interruption) as stop:
            run(config, splits=splits_of(), out=path, hold=signals.hold)
    assert (sent, stop.value.signal) == ([1], signal.SIGTERM)
    assert look(path).state == "interrupted"
    stored = Checkpoints(path).latest().state["fit"]
    assert stored["trainer"]["epoch"] == 2
    assert len(stored["epochs"]) == 1
    monkeypatch.setattr("hyperfact.training.checkpoints.Schedule.is_due", lambda *_, **__: True)
    resume(path, splits=splits_of())
    one, two = outcome(path), outcome(tmp_path / "whole")
    del one["files"]["config.toml"], two["files"]["config.toml"]
    assert one == two


def test_the_first_step_of_a_process_does_not_make_a_signal_wait(cut: Path, tmp_path: Path) -> None:
    """It may compile kernels; it is cut off, and what it left half done is not stored."""
    run(crash_config(), splits=splits_of(), out=tmp_path / "whole")
    before, after = Checkpoints(cut).latest().state["fit"]["trainer"], [False]
    with _Arriving() as signals, pytest.MonkeyPatch.context() as patch:

        def clipping(model: TransEQ, limit: float) -> float:
            signals.send()
            after[0] = True
            return clip(model, limit)

        patch.setattr("hyperfact.training.trainer.clip", clipping)
        with pytest.raises(Interruption):
            resume(cut, splits=splits_of(), hold=signals.hold)
    assert after == [False]
    assert Checkpoints(cut).latest().state["fit"]["trainer"] == before
    resume(cut, splits=splits_of())
    assert outcome(cut) == outcome(tmp_path / "whole")


# -- the best, and the overview --------------------------------------------------------------------


def test_best_means_best(tmp_path: Path) -> None:
    config = crash_config(training={"epochs": 8, "validate_every": 1}, optimizer={"lr": 0.1})
    result = run(config, splits=splits_of(), out=tmp_path / "run")
    logged = max(e.valid_mrr for e in result.epochs if e.valid_mrr is not None)
    again = open_run(tmp_path / "run", splits=splits_of())
    assert result.best_epoch < 8
    assert result.results["valid"].metrics.mrr == logged
    assert evaluate_split(again, "valid").metrics.mrr == logged


def test_runs_are_found_with_their_state(tmp_path: Path, cut: Path) -> None:
    run(crash_config(training={"epochs": 1}), splits=splits_of(), out=tmp_path / "a" / "done")
    found = {path.name: look(path).state for path in find_runs(tmp_path)}
    assert found == {"done": "finished", "run": "interrupted"}
    assert look(tmp_path / "a" / "done").mrr("test") is not None
    with RunLock(cut):
        assert look(cut).state == "running"
    with (cut / artifacts.LOG).open("a") as file:
        file.write('{"epoch": 9')
    rows = look(cut).log
    assert [row["epoch"] for row in rows] == list(range(1, len(rows) + 1))
    with pytest.raises(UserError, match="no such run"):
        look(tmp_path)
    with pytest.raises(UserError, match="no such folder"):
        list(find_runs(tmp_path / "absent"))


def test_checkpoints_go_when_the_run_is_finished(tmp_path: Path) -> None:
    config = crash_config(training={"epochs": 1}, checkpoint={"keep": False})
    result = run(config, splits=splits_of(), out=tmp_path / "run")
    assert isinstance(result.epochs[0], Epoch)
    assert not (tmp_path / "run" / "checkpoints").exists()
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert set(manifest["versions"]) == {"python", "numba", "numpy", "safetensors", "torch"}
