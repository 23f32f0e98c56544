"""The ledger of looks at test facts: every stored result is in it, and only projects keep one."""

import csv
import json
from pathlib import Path

import pytest

from hyperfact.runs.configurations import read_config
from hyperfact.runs.looks import COLUMNS, LEDGER, note_looks, recipe_of
from hyperfact.runs.studies import STUDIES, Plan
from tests.unit.cli.test_learn import SMALL, call, dataset
from tests.unit.runs.test_studies import TINY, Office

__all__ = ["dataset"]  # a fixture

ROOT = Path(__file__).resolve().parents[3]


def lines_of(project: Path) -> list[dict[str, str]]:
    with (project / LEDGER).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder that keeps a ledger."""
    (tmp_path / LEDGER).parent.mkdir()
    (tmp_path / LEDGER).write_text("\t".join(COLUMNS) + "\n", encoding="utf-8")
    return tmp_path


def test_every_stored_result_is_in_the_ledger() -> None:
    lines = lines_of(ROOT)
    noted = {(line["configuration"], line["dataset"], int(line["seed"])): line for line in lines}
    cells = [json.loads(path.read_text()) for path in (ROOT / "results").glob("*/cells/*.json")]
    assert cells
    for cell in cells:
        line = noted[cell["fingerprint"], cell["dataset"], cell["seed"]]
        points = sum("test" in point for point in cell["curve"])
        assert int(line["queries"]) == int(line["looks"]) * cell["test"]["ranks"]
        assert any(
            int(other["looks"]) >= 1 + points
            for other in lines
            if other["configuration"] == cell["fingerprint"]
        )


def test_the_ledger_is_a_table() -> None:
    lines = lines_of(ROOT)
    assert tuple(lines[0]) == COLUMNS
    for line in lines:
        assert None not in line.values()
        assert int(line["queries"]) >= int(line["looks"]) >= 1
        assert len(line["configuration"]) in (1, 64)  # unknown, or a hash
    dates = [line["date"] for line in lines]
    assert dates == sorted(dates)


def test_a_study_notes_each_training_and_each_look_on_its_way(project: Path) -> None:
    plan = Plan(overrides=TINY, rows=("TransEQ", "m-DistMult"))
    STUDIES["main"].run(Office(project / "results" / "main").workspace, plan)
    STUDIES["curves"].run(Office(project / "results" / "curves").workspace, plan)
    lines = lines_of(project)
    cells = sorted((project / "results").glob("*/cells/*.json"))
    found = [json.loads(path.read_text()) for path in cells]
    assert {line["configuration"] for line in lines} == {cell["fingerprint"] for cell in found}
    assert [line["looks"] for line in lines] == ["1", "1", "3", "3"]
    assert int(lines[2]["queries"]) == 3 * int(lines[0]["queries"]) == 3 * found[0]["test"]["ranks"]
    assert lines[0]["run"] == "results/main/runs/FB-AUTO-TransEQ-0"


def test_training_and_evaluating_are_noted_for_benchmarks_only(
    dataset: str,
    project: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = str(project / "runs" / "one")
    train = ("train", "--dataset", dataset, *SMALL, "--out", out)
    assert call(capsys, *train)[0] == 0
    assert call(capsys, "evaluate", out)[0] == 0
    assert lines_of(project) == []  # facts of one's own
    monkeypatch.setattr("hyperfact.runs.looks.BENCHMARKS", {dataset: None})
    for split in ("valid", "test"):
        assert call(capsys, "evaluate", out, "--split", split)[0] == 0
    assert [(line["command"], line["run"]) for line in lines_of(project)] == [
        ("evaluate", "runs/one")
    ]
    queries = str(project / "queries.jsonl")
    for split in ("valid", "test"):
        drawn = ("sample-queries", dataset, queries, "--shapes", "1p", "--split", split, "--force")
        assert call(capsys, *drawn)[0] == 0
        assert call(capsys, "evaluate", out, "--queries", queries)[0] == 0
    assert [line["command"] for line in lines_of(project)] == ["evaluate", "evaluate --queries"]
    again = ("train", "--dataset", dataset, *SMALL, "--out", str(project / "runs" / "two"))
    assert call(capsys, *again)[0] == 0
    assert lines_of(project)[2]["command"] == "train"


def test_without_a_ledger_nothing_is_written(tmp_path: Path) -> None:
    config = read_config(Path("fb_auto_compgcn_mdistmult"))
    note_looks(tmp_path / "runs" / "one", config, "evaluate", queries=5)
    assert list(tmp_path.iterdir()) == []


def test_a_run_of_a_recipe_is_known_by_its_settings() -> None:
    name = "wd50k_compgcn_mdistmult"
    assert recipe_of(read_config(Path(name), ["training.seed=7"])) == name
    assert recipe_of(read_config(Path(name), ["training.dim=8"])) == "-"
