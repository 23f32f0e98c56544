"""The commands resume, runs, report and plan, as a person calls them."""

import json
import re
import sys
import types
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
import torch

from hyperfact.config import ExperimentConfig
from hyperfact.data import write
from hyperfact.runs import artifacts
from hyperfact.runs.experiment import run
from hyperfact.runs.plan import forecast
from hyperfact.runs.sizes import GraphSize, estimate_memory
from hyperfact.training.checkpoints import Checkpoints
from tests.support.crashes import Crash, crash_config, frozen, outcome
from tests.unit.cli.test_learn import call
from tests.unit.runs.test_experiment import splits_of
from tests.unit.training.test_resume import cut_after

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    write(splits_of(), tmp_path / "data", format="jsonl")
    return tmp_path / "data"


def configured(data: Path, **sections: dict[str, Any]) -> ExperimentConfig:
    return crash_config(data={"dataset": str(data)}, **sections)


@pytest.fixture
def cut(data: Path, tmp_path: Path) -> Path:
    path = tmp_path / "runs" / "cut"
    with pytest.raises(Crash):
        run(configured(data), out=path, watch=cut_after(5))
    return path


def test_resume_goes_on_and_a_second_time_says_so(
    cut: Path, data: Path, tmp_path: Path, capsys: Capture
) -> None:
    run(configured(data), out=tmp_path / "whole")
    code, text, words = call(capsys, "resume", str(cut), "--json")
    assert code == 0, words
    assert json.loads(text)["epochs"] == 4
    assert outcome(cut) == outcome(tmp_path / "whole")
    assert re.search(r"epoch 4: loss .* queries/s.* GB, 0 s left", words)
    code, text, words = call(capsys, "resume", str(cut), "--json")
    assert (code, json.loads(text)["epochs"]) == (0, 4)
    assert "there is nothing to resume" in words


def test_resume_with_a_change_exits_with_2(cut: Path, capsys: Capture) -> None:
    config = cut / artifacts.CONFIG
    config.write_text(config.read_text().replace("seed = 0", "seed = 7"))
    code, _, words = call(capsys, "resume", str(cut))
    assert (code, "training.seed is 7 now, the checkpoint has 0" in words) == (2, True)
    assert "Traceback" not in words


def test_resume_of_other_data_exits_with_2(cut: Path, data: Path, capsys: Capture) -> None:
    lines = (data / "train.jsonl").read_text().splitlines(keepends=True)
    (data / "train.jsonl").write_text("".join(lines[:-1]))
    code, _, words = call(capsys, "resume", str(cut))
    assert (code, "data.train is" in words) == (2, True), words


def test_resume_without_a_good_checkpoint_exits_with_4(cut: Path, capsys: Capture) -> None:
    for number in Checkpoints(cut).numbers():
        (cut / "checkpoints" / f"{number:06}.safetensors").write_bytes(b"rotten")
    before = (cut / artifacts.LOG).read_bytes()
    code, _, words = call(capsys, "resume", str(cut))
    assert (code, "no usable checkpoint" in words) == (4, True)
    assert (cut / artifacts.LOG).read_bytes() == before


@pytest.mark.parametrize("command", ["resume", "report"])
def test_no_run_exits_with_2(command: str, tmp_path: Path, capsys: Capture) -> None:
    code, _, words = call(capsys, command, str(tmp_path / "absent"))
    assert (code, "no such run" in words) == (2, True)


def test_runs_lists_states(cut: Path, data: Path, capsys: Capture) -> None:
    folder = cut.parent
    run(configured(data, training={"epochs": 1}), out=folder / "done")
    failed = frozen(cut, folder / "failed")
    (failed / artifacts.FAILURE).write_text('{"message": "the loss is nan"}')
    code, text, _ = call(capsys, "runs", str(folder))
    assert code == 0
    assert re.search(r"cut .* interrupted", text)
    assert re.search(r"done .*1/1 .* finished", text)
    assert "failed (the loss is nan)" in text
    code, text, _ = call(capsys, "runs", str(folder), "--json")
    found = {Path(row["run"]).name: row for row in json.loads(text)}
    assert found["done"]["test_mrr"] > 0
    assert found["cut"]["test_mrr"] is None
    assert call(capsys, "runs", str(folder / "done" / "checkpoints"))[2].endswith("no runs\n")


class Tags(HTMLParser):
    """Counts tags and what they point to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not {"src", "href", "onload", "onclick"} & {name for name, _ in attrs}
        if tag not in {"meta", "circle", "path", "polyline", "rect"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in {"meta", "circle", "path", "polyline", "rect"}:
            assert self.open.pop() == tag


def test_a_report_is_one_whole_page(cut: Path, data: Path, capsys: Capture) -> None:
    done = cut.parent / "<script>x"
    run(configured(data), out=done)
    code, text, _ = call(capsys, "report", str(done))
    assert (code, text.strip()) == (0, str(done / "report.html"))
    html = (done / "report.html").read_text()
    page = Tags(html)
    assert page.open == []
    assert page.tags.count("svg") == 4
    assert "script" not in page.tags
    for words in (
        "Metrics: test",
        "arity 2",
        "slot subject",
        "optimizer.lr",
        "sha256",
        "realistic",
    ):
        assert words in html, words
    code, text, _ = call(capsys, "report", str(cut), str(cut.parent / "x.html"))
    assert code == 0
    assert "interrupted" in (cut.parent / "x.html").read_text()
    call(capsys, "evaluate", str(done), "--json")  # a report does not disturb the run


# -- the forecast ----------------------------------------------------------------------------------


def test_plan_tells_what_a_run_will_need(data: Path, capsys: Capture) -> None:
    words = ("plan", "--dataset", str(data), "--set", "training.dim=8", "--seconds", "0.2")
    code, text, notes = call(capsys, *words, "--json")
    assert code == 0, notes
    found = json.loads(text)
    assert found["steps"] > 0
    assert 0 < found["epoch_seconds"] < found["total_seconds"]
    assert found["memory"] > 1e8
    code, text, _ = call(capsys, *words)
    assert code == 0
    assert "peak memory" in text


def test_the_forecast_of_a_checkpoint_is_its_size(data: Path, tmp_path: Path) -> None:
    config = configured(data, training={"epochs": 2, "validate_every": 1})
    run(config, out=tmp_path / "run")
    files = (tmp_path / "run" / "checkpoints").glob("*.safetensors")
    found = forecast(config, splits_of(), seconds=0.1)
    assert found.checkpoint == pytest.approx(max(f.stat().st_size for f in files), rel=0.02)
    assert found.parameters == sum(
        p.numel() for p in run(config, splits=splits_of()).model.parameters()
    )


def test_too_much_memory_is_refused_before_it_is_taken(data: Path, capsys: Capture) -> None:
    words = ("plan", "--dataset", str(data), "--max-memory", "2", "--seconds", "0.1")
    code, _, notes = call(capsys, *words, "--set", "training.dim=20000000")
    assert code == 2
    assert re.search(r"before the start: about [\d.]+ GB of memory are needed, 2.00 GB", notes)
    code, _, notes = call(capsys, *words, "--max-memory", "0.05", "--set", "training.dim=8")
    assert (code, "0.05 GB are allowed" in notes) == (2, True)


def test_the_estimate_grows_with_the_model(data: Path) -> None:
    from hyperfact.runs.build import encoder_graph, resolve

    graph = GraphSize.of(encoder_graph(resolve(configured(data)), splits_of().train))
    sizes = [
        estimate_memory(resolve(configured(data, training={"dim": dim})), graph)
        for dim in (10_000, 20_000, 40_000)
    ]
    assert 1.9 < sizes[1] / sizes[0] < 2.1
    assert 1.9 < sizes[2] / sizes[1] < 2.1


# -- TensorBoard -----------------------------------------------------------------------------------


def test_event_files_need_the_package(
    data: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    words = ("train", "--dataset", str(data), "--set", "training.dim=8", "--no-store")
    code, _, notes = call(capsys, *words, "--tensorboard", str(tmp_path / "events"))
    assert (code, "needs tensorboard" in notes) == (2, True), notes


def test_event_files_hold_the_curves(
    data: Path, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a stand-in for the package, which is not among our dependencies."""
    rows: list[tuple[str, int]] = []

    class Writer:
        def __init__(self, folder: str) -> None:
            assert folder.endswith("events")

        def add_scalar(self, name: str, value: float, epoch: int) -> None:
            assert isinstance(value, float)
            rows.append((name, epoch))

        def close(self) -> None:
            rows.append(("closed", 0))

    module = types.ModuleType("torch.utils.tensorboard")
    module.SummaryWriter = Writer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", module)
    words = ("train", "--dataset", str(data), "--set", "training.dim=8", "--no-store")
    more = ("--set", "training.epochs=2", "--tensorboard", str(tmp_path / "events"))
    assert call(capsys, *words, *more)[0] == 0
    assert ("train/loss", 2) in rows
    assert ("valid/mrr", 2) in rows
    assert rows[-1] == ("closed", 0)
