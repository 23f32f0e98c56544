"""The commands transform, restore, verify and draw: exit codes, files, what goes where."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hyperfact.cli import main
from hyperfact.data import load, write
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.transforms import TRANSFORMS, restore
from hyperfact.transforms.interchange import KG_FORMATS, read_kg

FACTS = [
    Fact("Turing", "educated at", "Princeton", (("degree", "PhD"), ("advisor", "Church"))),
    Fact("Turing", "educated at", "Princeton"),
    Fact("Church", "works at", "Princeton"),
]
TEST = [Fact("Church", "educated at", "Princeton", (("degree", "PhD"),))]


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    whole = HKG.from_facts([*FACTS, *TEST])
    names: dict[str, Any] = {"entities": whole.entities, "relations": whole.relations}
    parts = {"train": HKG.from_facts(FACTS, **names), "test": HKG.from_facts(TEST, **names)}
    write(Splits(parts), tmp_path / "data", format="jsonl")
    return tmp_path / "data"


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def answer(capsys: pytest.CaptureFixture[str], *words: object, code: int = 0) -> Any:
    """What a command prints as JSON; nothing else may stand on stdout."""
    assert run(*words, "--json") == code
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize("name", KG_FORMATS)
@pytest.mark.parametrize("mode", ["compact", "literal"])
def test_transform_then_restore_gives_the_facts_back(
    name: str, mode: str, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = dataset.parent / ("kg" if KG_FORMATS[name].is_folder else "kg.nt")
    found = answer(capsys, "transform", dataset, out, "--mode", mode, "--to", name)
    assert (found["facts"], found["mode"], found["out"]) == (3, mode, str(out))
    assert found["mediators"] == (2 if mode == "compact" else 3)
    back = dataset.parent / "back.jsonl"
    assert answer(capsys, "restore", out, back)["facts"] == 3
    assert set(load(back).train) == set(FACTS)


@pytest.mark.parametrize("transformation", TRANSFORMS)
def test_every_transformation_can_be_named(
    transformation: str, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = dataset.parent / "kg"
    words = ("transform", dataset, out, "--transformation", transformation, "--split", "all")
    found = answer(capsys, *words)
    assert found["facts"] == 4
    kg = read_kg(out)
    assert kg.transformation == transformation
    assert (len(kg), kg.num_nodes) == (found["edges"], found["nodes"])


def test_only_the_asked_split_is_transformed(dataset: Path) -> None:
    out = dataset.parent / "kg"
    assert run("transform", dataset, out) == 0
    assert set(restore(read_kg(out))) == set(FACTS)
    assert run("transform", dataset, out, "--split", "test") == 2  # nothing is written over
    assert run("transform", dataset, out, "--split", "test", "--force") == 0
    assert set(restore(read_kg(out))) == set(TEST)


def test_paper_text_says_how_much_it_loses(
    dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("transform", dataset, dataset.parent / "kg", "--mode", "paper-text") == 0
    captured = capsys.readouterr()
    assert "1 facts cannot be recovered" in captured.err
    assert captured.out.startswith("KG(equivalent/paper-text: ")


def test_the_table_counts_every_transformation(
    dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = answer(capsys, "transform", "--table", dataset, "baseball")
    assert {row["dataset"] for row in rows} == {"data", "baseball"}
    assert {row["transformation"] for row in rows} == set(TRANSFORMS)
    assert len(rows) == 2 * 3 * (len(TRANSFORMS) + 2)
    assert all(row["counted"] <= row["bound"] for row in rows)
    assert run("transform", "--table", dataset) == 0
    out = capsys.readouterr().out
    assert "N_pri + N_qua (n_a + 3)" in out
    assert "N_twin = 1" in out


def test_verify_exits_0_or_1(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good = answer(capsys, "verify", dataset)
    assert good["lossless"] is True
    assert good["fingerprints"]["hkg"] == good["fingerprints"]["restored"]
    bad = answer(capsys, "verify", dataset, "--mode", "paper-text", code=1)
    assert bad["losses"][0]["rows"] == [1]
    file = dataset.parent / "certificate.json"
    assert run("verify", dataset, "--transformation", "plain", "--out", file) == 1
    out = capsys.readouterr().out
    assert "LOSSY, 1 facts are lost" in out
    assert "roles and attributes dropped: 1 facts" in out
    assert "e.g. Turing | educated at | Princeton | " in out
    assert json.loads(file.read_text())["counts"]["lost_facts"] == 1
    assert run("verify", dataset) == 0
    assert "equivalent/compact: lossless" in capsys.readouterr().out


def test_draw_writes_a_picture(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = dataset.parent / "out.svg"
    assert answer(capsys, "draw", dataset, "Turing", out)["drawn"] == "Turing"
    assert out.read_text().startswith("<svg ")
    found = answer(capsys, "draw", dataset, "Turing | educated at | Princeton", out, "--force")
    assert found["drawn"] == "Turing | educated at | Princeton"
    found = answer(capsys, "draw", dataset, "Church|educated at|Princeton", out, "--force")
    assert found["drawn"].endswith("degree = PhD")  # the only fact with this primary triple
    found = answer(capsys, "draw", dataset, "Turing", out, "--transformations", "--force")
    assert found["drawn"].startswith("Turing | educated at | Princeton")
    assert "clique_semantic" in out.read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("transform", "DATA"), "expected DATASET and OUT, got 1 words"),
        (("transform", "DATA", "OUT", "--mode", "compct"), "did you mean 'compact'?"),
        (("transform", "DATA", "OUT", "--to", "tvs"), "did you mean 'tsv'?"),
        (("transform", "DATA", "OUT", "--split", "valid"), "unknown split 'valid'"),
        (("transform", "DATA", "OUT", "--transformation", "plane"), "did you mean 'plain'?"),
        (
            ("transform", "DATA", "OUT", "--transformation", "plain", "--mode", "literal"),
            "no modes",
        ),
        (("transform", "DATA", "OUT.nt", "--transformation", "plain"), "no reifiers"),
        (("restore", "nowhere", "OUT"), "nowhere: no such file or folder"),
        (("restore", "DATA", "OUT"), "no exported KG"),
        (("verify", "DATA", "--transformation", "x"), "unknown transformation 'x'"),
        (("draw", "DATA", "Turring", "OUT"), "did you mean 'Turing'?"),
        (("draw", "DATA", "Turing | works at | Princeton", "OUT"), "no fact"),
        (("draw", "DATA", "Turing | works at", "OUT"), "expected 's | r | o'"),
    ],
)
def test_mistakes_are_one_line_and_write_nothing(
    words: tuple[str, ...], message: str, dataset: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = dataset.parent / "out"
    places = {"DATA": dataset, "OUT": out, "OUT.nt": out.with_suffix(".nt")}
    assert run(*(places.get(word, word) for word in words)) == 2
    captured = capsys.readouterr()
    assert captured.err.count("\n") == 1
    assert captured.err.startswith("error: ")
    assert message in captured.err
    assert captured.out == ""
    assert [p.name for p in dataset.parent.iterdir()] == ["data"]


def test_a_lossy_graph_is_not_restored(dataset: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = dataset.parent / "kg"
    assert run("transform", dataset, out, "--transformation", "plain") == 0
    capsys.readouterr()
    assert run("restore", out, dataset.parent / "back.jsonl") == 2
    assert "not restorable, lossy_transformation" in capsys.readouterr().err
    assert not (dataset.parent / "back.jsonl").exists()


def test_transforming_needs_no_torch(dataset: Path) -> None:
    words = ["transform", str(dataset), str(dataset.parent / "kg")]
    code = f"import sys\nfrom hyperfact.cli import main\ntry:\n    main({words!r})\n"
    code += (
        "except SystemExit as stop:\n    assert stop.code == 0\nassert 'torch' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
