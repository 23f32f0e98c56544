"""People's own tables, by every command that takes a dataset."""

import json
import os
import random
from pathlib import Path

import pytest

from hyperfact import load
from hyperfact.runs import artifacts
from tests.unit.cli.test_learn import SMALL, call

Capture = pytest.CaptureFixture[str]
COLUMNS = ("--columns", "subject=person, relation=:worked at, object=company")


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A table whose header says nothing by itself, in the working folder."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(0)
    rows = {f"P{draw.randrange(9)},F{draw.randrange(5)},r{draw.randrange(3)}" for _ in range(90)}
    Path("people.csv").write_text("\n".join(["person,company,role", *sorted(rows)]) + "\n")
    return "people.csv"


READERS = (
    ("stats", "people.csv"),
    ("audit", "people.csv"),
    ("show", "people.csv", "P1"),
    ("transform", "people.csv", "kg"),
    ("transform", "--table", "people.csv"),
    ("verify", "people.csv"),
    ("draw", "people.csv", "P1", "p.svg"),
    ("convert", "people.csv", "facts.jsonl"),
    ("split", "people.csv", "parts"),
    ("plan", "--dataset", "people.csv", *SMALL, "--seconds", "0"),
    ("train", "--dataset", "people.csv", *SMALL, "--no-store"),
)


@pytest.mark.usefixtures("table")
@pytest.mark.parametrize("words", READERS, ids=lambda words: words[0])
def test_columns_are_named_the_same_way_everywhere(words: tuple[str, ...], capsys: Capture) -> None:
    code, _, notes = call(capsys, *words)
    assert (code, 'name its columns: --columns "subject=person' in notes) == (2, True), notes
    code, _, notes = call(capsys, *words, *COLUMNS)
    assert (code, "relation = :worked at" in notes) == (0, True), notes


def test_a_run_remembers_columns_and_format(table: str, capsys: Capture) -> None:
    train = ("train", "--dataset", table, *COLUMNS, *SMALL)
    code, _, notes = call(capsys, *train, "--format", "table", "--out", "run")
    assert code == 0, notes
    config = artifacts.read_config(Path("run"))
    assert (config.data.columns, config.data.format) == (COLUMNS[1], "table")
    code, text, notes = call(capsys, "evaluate", "run", "--json")
    assert code == 0, notes
    assert json.loads(text)["ranks"] > 0
    code, _, notes = call(capsys, *train, "--format", "jsonl", "--out", "other")
    assert (code, "columns are of a table" in notes) == (2, True)
    assert not Path("other").exists()


def test_load_takes_columns_as_text_or_mapping(table: str) -> None:
    named = {"subject": "person", "relation": ":worked at", "object": "company"}
    assert load(table, columns=named).train == load(table, columns=COLUMNS[1]).train


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
def test_a_pipe_or_a_device_is_no_dataset(table: str, capsys: Capture) -> None:
    call(capsys, "train", "--dataset", table, *COLUMNS, *SMALL, "--out", "run")
    Path(table).unlink()
    os.mkfifo(table)
    for words in (("evaluate", "run"), ("stats", table), ("stats", "/dev/zero")):
        code, _, notes = call(capsys, *words)
        assert (code, "a pipe or a device" in notes) == (2, True), notes


def test_a_run_without_test_facts_says_so(table: str, capsys: Capture) -> None:
    lines = Path(table).read_text().splitlines()
    Path("few.csv").write_text("\n".join(lines[:10]) + "\n")
    Path("two").mkdir()
    Path("two/train.csv").write_text("\n".join(lines) + "\n")
    Path("two/valid.csv").write_text("\n".join(lines[:9]) + "\n")
    for dataset, out in (("few.csv", "bare"), ("two", "run")):
        assert call(capsys, "train", "--dataset", dataset, *COLUMNS, *SMALL, "--out", out)[0] == 0
    code, _, notes = call(capsys, "evaluate", "bare")
    assert (code, "not evaluated: few has no test facts; part the facts" in notes) == (2, True)
    code, _, notes = call(capsys, "evaluate", "run")
    assert (code, "two has no test facts; ask about the valid facts (--split" in notes) == (2, True)
    assert call(capsys, "evaluate", "run", "--split", "valid")[0] == 0
    code, _, notes = call(capsys, "compare", "run", "bare")
    assert (code, "run: not evaluated on test facts; the run has ranks of valid" in notes) == (
        2,
        True,
    )
    for words in (
        ("report", "bare"),
        ("report", "run"),
        ("compare", "run", "run", "--split", "valid"),
    ):
        assert call(capsys, *words)[0] == 0, words
    code, text, _ = call(capsys, "runs", ".")
    assert (code, text.count("finished")) == (0, 2)
