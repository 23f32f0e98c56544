"""The commands on data, as a person uses them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hyperfact.cli import main
from hyperfact.data import load
from hyperfact.data.formats import FORMATS

FACTS = "Q1,P1,Q2\nQ1,P1,Q3,P2,Q4\nQ1,P1,Q3,P2,Q4\nQ2,P1,Q1,P3,+5\n"


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    path = tmp_path / "facts.txt"
    path.write_text(FACTS)
    return path


def run(*words: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(words))
    return int(stop.value.code or 0)


def test_stats_counts(facts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("stats", str(facts), "--json") == 0
    out = capsys.readouterr()
    found = json.loads(out.out)
    assert (found["entities"], found["literals"], found["relations"]) == (5, 1, 3)
    assert found["splits"][0]["arities"] == {"2": 1, "3": 2}
    assert found["degree"]["top"] == "Q1"
    assert "1 facts repeat an earlier one" in out.err
    assert run("stats", str(facts)) == 0
    assert (
        "5 entities (1 literals), 3 relations (1 primary, 2 attributes)" in capsys.readouterr().out
    )


def test_show_prints_facts_of_an_entity_and_of_a_relation(
    facts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("show", str(facts), "Q4") == 0
    assert capsys.readouterr().out == "Q1 | P1 | Q3 | P2 = Q4\n"
    assert run("show", str(facts), "P3", "--json") == 0
    assert json.loads(capsys.readouterr().out)["facts"][0]["qualifiers"] == [["P3", "+5"]]
    assert run("show", str(facts), "P1", "-n", "1") == 0
    assert "2 more" in capsys.readouterr().err
    assert run("show", str(facts), "q44") == 2
    assert "did you mean 'Q4'" in capsys.readouterr().err
    assert run("show", str(facts), "Q4", "--split", "tset") == 2


def test_convert_there_and_back(facts: Path, tmp_path: Path) -> None:
    assert run("convert", str(facts), str(tmp_path / "a.parquet")) == 0
    assert (
        run("convert", str(tmp_path / "a.parquet"), str(tmp_path / "b.txt"), "--to", "stare") == 0
    )
    assert (tmp_path / "b.txt").read_text() == "Q1,P1,Q2\nQ1,P1,Q3,P2,Q4\nQ2,P1,Q1,P3,+5\n"


def test_several_splits_need_a_folder_and_one_split_is_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "world.jsonl"
    assert run("convert", "world", str(target)) == 2
    error = capsys.readouterr().err
    assert "train, valid, test" in error
    assert "--split" in error
    assert not target.exists()
    assert run("convert", "world", str(target), "--split", "test") == 0
    assert len(load(target).all) == len(load("world").test)
    assert run("convert", "world", str(target), "--split", "tset", "--force") == 2


def test_stats_shows_labels_of_a_file(
    facts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "names.tsv").write_text("Q1\tAda\n")
    assert run("stats", str(facts), "--labels", str(tmp_path / "names.tsv")) == 0
    assert "Ada" in capsys.readouterr().out


def test_convert_writes_nothing_when_it_must_refuse(
    facts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new" / "a.txt"
    assert run("convert", str(facts), str(target), "--to", "nary") == 2
    assert "does not come from an n-ary relation" in capsys.readouterr().err
    assert not target.exists()
    assert run("convert", str(facts), str(tmp_path / "a.txt"), "--to", "stair") == 2
    assert "did you mean 'stare'" in capsys.readouterr().err
    assert run("convert", str(facts), str(tmp_path / "a.txt")) == 2
    assert "name one with --to" in capsys.readouterr().err


def test_literals_are_kept_dropped_or_refused(
    facts: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("stats", str(facts), "--literals", "drop", "--json") == 0
    out = capsys.readouterr()
    assert json.loads(out.out)["literals"] == 0
    assert "dropped 0 facts and 1 qualifiers" in out.err
    assert run("stats", str(facts), "--literals", "error") == 2
    assert f"{facts}:4: the literal '+5'" in capsys.readouterr().err
    assert run("stats", str(facts), "--literals", "maybe") == 2


def test_datasets_and_formats_are_listed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("datasets", "--json", "--data-dir", str(tmp_path)) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["baseball"]["where"] == "bundled"
    assert rows["JF17K"]["sizes"] == {"train": 61104, "valid": 15275, "test": 24568}
    assert run("formats", "--json") == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out)] == [*FORMATS, "parts"]
    assert run("datasets") == 0
    assert run("formats") == 0


def test_wrong_words_are_answered_with_the_nearest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("stats", "basebal") == 2
    assert "did you mean 'baseball'" in capsys.readouterr().err
    assert run("stats", str(tmp_path / "none.txt")) == 2
    assert "no such file" in capsys.readouterr().err
    assert run("stats", str(tmp_path)) == 2
    assert "no file is named after train" in capsys.readouterr().err
    assert run("nonsense") == 2
    assert run("stats", "--nonsense") == 2


def test_an_unwritable_target_is_exit_3(facts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("convert", str(facts), "/proc/none/a.jsonl") == 3
    assert "error: /proc/none: cannot be written" in capsys.readouterr().err


def _hyperfact(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    code = "from hyperfact.cli import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )


def test_without_network_one_line_says_what_is_missing_and_where_to_put_it(tmp_path: Path) -> None:
    proxy = "http://127.0.0.1:9"  # nothing listens there
    done = _hyperfact(
        "stats",
        "WD50K_33",
        HYPERFACT_DATA="",
        HYPERFACT_CACHE=str(tmp_path),
        https_proxy=proxy,
        HTTPS_PROXY=proxy,
    )
    assert done.returncode == 3
    assert done.stderr.strip().count("\n") == 0
    for word in ("train.txt, valid.txt, test.txt", str(tmp_path / "WD50K_33"), "--data-dir"):
        assert word in done.stderr
    assert not list(tmp_path.rglob("*.txt"))


@pytest.mark.parametrize("name", ["jsonl", "parquet"])
def test_a_full_disk_is_exit_3_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    """A limit on file size stands for the full disk."""
    target = tmp_path / "out"
    command = f"{sys.executable} -m hyperfact convert baseball {target} --to {name}"
    done = subprocess.run(
        ["bash", "-c", f"ulimit -f 20; {command}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 3, done.stderr
    assert "cannot be written" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(target.iterdir())


def test_an_interrupt_is_exit_130_and_leaves_nothing(tmp_path: Path) -> None:
    target = tmp_path / "out"
    code = (
        "import signal, os; from hyperfact.system import writing\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # shells ignore it for jobs
        "def stop(*_): os.kill(os.getpid(), signal.SIGINT)\n"
        "writing._sync = stop\n"
        "from hyperfact.cli import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "convert", "baseball", str(target), "--to", "jsonl"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 130
    assert done.stderr.strip() == "interrupted"
    assert not list(target.iterdir())


def test_a_closed_pipe_is_quiet(facts: Path) -> None:
    command = f"{sys.executable} -c 'from hyperfact.cli import main; main()' show {facts} P1 | true"
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 141)
    assert "Broken" not in done.stderr
    assert "error" not in done.stderr


def test_the_real_command_has_help_with_examples() -> None:
    for command in ("stats", "show", "convert", "datasets"):
        done = _hyperfact(command, "--help", COLUMNS="100")
        assert done.returncode == 0
        assert "Example" in done.stdout


def test_a_refused_literal_of_a_format_without_lines_is_an_error_of_the_file(
    facts: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("convert", str(facts), str(tmp_path / "a.parquet")) == 0
    capsys.readouterr()
    assert run("stats", str(tmp_path / "a.parquet"), "--literals", "error") == 2
    assert "a.parquet: the literal '+5'" in capsys.readouterr().err


TABLE = 'person;company;start\n"Ada; the first";Atlas;2019\nBen;Atlas;\n'
COLUMNS = "subject=person, relation=:worked at, object=company, since=start"


def test_a_table_is_converted_by_its_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, target = tmp_path / "people.csv", tmp_path / "facts.jsonl"
    path.write_text(TABLE)
    assert run("convert", str(path), str(target)) == 2
    assert "looks like a table with the header person, company, start" in capsys.readouterr().err
    assert run("convert", str(path), str(target), "--columns", COLUMNS) == 0
    assert f"read {path} as table: subject = person, relation = :wo" in capsys.readouterr().err
    assert run("show", str(target), "Atlas") == 0
    assert "Ada; the first | worked at | Atlas | since = 2019" in capsys.readouterr().out
    assert run("stats", str(path), "--columns", COLUMNS, "--json") == 0
    assert json.loads(capsys.readouterr().out)["format"] == "table"


def test_split_writes_three_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("split", "baseball", str(tmp_path / "out"), "--json", "--ratios", "70,10,20") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["facts"] == {"train": 16977, "valid": 2425, "test": 4850}
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        *("test.jsonl", "train.jsonl", "valid.jsonl")
    ]
    assert run("split", "baseball", str(tmp_path / "b"), "--by-time", "year", "--by-entity") == 2
    assert run("split", "baseball", str(tmp_path / "b"), "--ratios", "80;20") == 2
    assert not (tmp_path / "b").exists()
