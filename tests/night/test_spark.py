"""The same SQL on Spark: equal fingerprints, certificates and files; skipped without Java."""

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks._generated import generate
from hyperfact.cli import main
from hyperfact.data import load, write
from hyperfact.transforms.interchange import read_kg
from tests.support.benchmarks import data_folder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(3600),
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.skipif(find_spec("pyspark") is None, reason="pyspark is not installed"),
    pytest.mark.skipif(shutil.which("java") is None, reason="no Java runtime"),
]
SPARK = ("--engine", "spark", "--master", "local[2]")


def test_spark_says_the_same_of_wd50k(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HYPERFACT_DATA", str(data_folder()))
    write(load("WD50K"), tmp_path / "wd50k", format="parts")
    for words in (["stats"], ["verify"], ["verify", "--split", "all", "--mode", "literal"]):
        line = (words[0], tmp_path / "wd50k", *words[1:])
        assert answer(capsys, *line, *SPARK) == answer(capsys, *line), words
    for name, engine in (("duckdb", ()), ("spark", SPARK)):
        answer(capsys, "transform", tmp_path / "wd50k", tmp_path / f"kg-{name}", *engine)
        answer(
            capsys, "restore", tmp_path / f"kg-{name}", tmp_path / name, "--to", "parts", *engine
        )
    assert load(tmp_path / "spark").train == load(tmp_path / "duckdb").train
    assert read_kg(tmp_path / "kg-spark") == read_kg(tmp_path / "kg-duckdb")


def test_spark_says_the_same_of_a_million_facts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    generate(tmp_path / "million", 10**6)
    line = ("verify", tmp_path / "million", "--memory-limit", "2GB")
    assert answer(capsys, *line, *SPARK) == answer(capsys, *line)


def answer(capsys: pytest.CaptureFixture[str], *words: object) -> object:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in (*words, "--json")])
    said = capsys.readouterr()
    assert stop.value.code == 0, said.err
    return json.loads(said.out)
