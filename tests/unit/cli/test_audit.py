"""The command `audit`: exit codes, JSON, the page, and the cleaned files it writes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hyperfact.cli import main
from hyperfact.data import load, write
from hyperfact.data.audit import audit_of
from tests.support.audits import dataset

TRAIN = """
Ann | knows | Bob | since = 1999
Ann | knows | Bob
Bob | knows | Cid | since = 2001
Cid | knows | Dan
Dan | knows | Ann | since = 2001
"""
CLEAN_VALID, CLEAN_TEST = "Ann | knows | Cid", "Ann | knows | Dan | since = 1999"
LEAKY = """
Bob | knows | Cid | since = 2001
Bob | knows | Cid
Eve | knows | Ann
Bob | knows | Dan
"""
PROGRAM = "from hyperfact.cli import main; main()"
EVIL = "<script>alert(1)</script>"


def make(folder: Path, **splits: str) -> Path:
    write(dataset(**splits), folder, format="jsonl")
    return folder


@pytest.fixture
def leaky(tmp_path: Path) -> Path:
    return make(tmp_path / "leaky", train=TRAIN, valid=CLEAN_VALID, test=LEAKY)


@pytest.fixture
def sound(tmp_path: Path) -> Path:
    return make(tmp_path / "sound", train=TRAIN, valid=CLEAN_VALID, test=CLEAN_TEST)


@pytest.fixture
def doubled(tmp_path: Path) -> Path:
    return make(tmp_path / "doubled", train=TRAIN, valid=CLEAN_TEST, test=CLEAN_TEST)


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def snapshot(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def parsed(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


# -- exit codes -----------------------------------------------------------------------------------


def test_leaks_are_told_and_only_strict_fails(leaky: Path, sound: Path) -> None:
    assert run("audit", leaky) == 0
    assert run("audit", leaky, "--strict") == 1
    assert run("audit", sound, "--strict") == 0


def test_valid_equal_to_test_is_refused_unless_forced(
    doubled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("audit", doubled) == 2
    told = capsys.readouterr()
    assert "valid and test are the same" in told.out
    assert told.err.startswith("error: valid and test are the same facts")
    assert run("audit", doubled, "--strict") == 2
    assert run("audit", doubled, "--force") == 0
    assert run("audit", doubled, "--force", "--strict") == 1


def test_valid_equal_to_test_still_gives_json(
    doubled: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("audit", doubled, "--json") == 2
    assert parsed(capsys)["findings"][0]["id"] == "valid-is-test"


def test_an_unknown_dataset_is_the_users_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("audit", "basebal") == 2
    assert "did you mean 'baseball'?" in capsys.readouterr().err


def test_literals_can_be_refused(tmp_path: Path) -> None:
    path = make(tmp_path / "lit", train="Ann | born | '+1915-01-01'")
    assert run("audit", path, "--literals", "error") == 2
    assert run("audit", path) == 0


# -- output ---------------------------------------------------------------------------------------


def test_json_is_one_document_with_every_finding(
    leaky: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("audit", leaky, "--json") == 0
    found = parsed(capsys)
    assert found["sizes"] == {"train": 5, "valid": 1, "test": 4}
    row = next(
        r for r in found["findings"] if (r["id"], r["where"]) == ("primary-in-train", "test")
    )
    assert (row["severity"], row["count"], row["of"], row["share"]) == ("leak", 2, 4, 0.5)
    assert row["examples"] == ["Bob | knows | Cid | since = 2001", "Bob | knows | Cid"]


def test_the_table_fits_in_eighty_columns(leaky: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", PROGRAM, "audit", leaky, "--examples", "0"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONUTF8": "1"},
    )
    lines = told.stdout.splitlines()
    assert any(line.startswith("leak      facts in two splits") for line in lines)
    assert max(map(len, lines)) <= 80


def test_terminal_commands_in_names_are_not_obeyed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path / "evil", train=TRAIN, test='"\\u001b[31mred" | knows | Ann')
    assert run("audit", path) == 0
    told = capsys.readouterr().out
    assert "\x1b" not in told
    assert "\\u001b[31mred" in told


def test_the_page_is_written_with_names_escaped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = make(tmp_path / "evil", train=TRAIN, test=f'"{EVIL}" | "{EVIL}" | Ann')
    html = tmp_path / "new" / "report.html"
    assert run("audit", path, "--html", html) == 0
    text = html.read_text(encoding="utf-8")
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "report.html" in capsys.readouterr().err
    assert [p.name for p in html.parent.iterdir()] == ["report.html"]


# -- cleaning -------------------------------------------------------------------------------------


def test_fix_writes_a_sound_dataset_and_leaves_the_original(
    leaky: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, target = snapshot(leaky), tmp_path / "fixed"
    assert run("audit", leaky, "--fix", target) == 0
    told = capsys.readouterr().out
    assert "1 from test: the fact stands in train or valid" in told
    assert "1 from test: the primary triple stands in train or valid" in told
    assert "1 from test: an entity is unseen in training" in told
    assert "test: 4 -> 1 facts" in told
    assert snapshot(leaky) == before
    assert sorted(p.name for p in target.iterdir()) == [
        "test.jsonl",
        "train.jsonl",
        "valid.jsonl",
    ]
    assert not audit_of(load(target)).leaks
    assert run("audit", target, "--strict") == 0
    assert list(load(target).train) == list(load(leaky).train)


def test_fix_reports_in_json_and_writes_other_formats(
    leaky: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "fixed"
    words = ("audit", leaky, "--fix", target, "--to", "parquet", "--drop-twins", "--json")
    assert run(*words) == 0
    fix = parsed(capsys)["fix"]
    assert fix["sizes"] == {"train": 4, "valid": 1, "test": 1}
    assert {"split": "train", "reason": "the bare twin of a qualified fact", "count": 1} in fix[
        "removed"
    ]
    assert [Path(path).name for path in fix["files"]] == [
        "test.parquet",
        "train.parquet",
        "valid.parquet",
    ]
    assert len(load(target).train) == 4


def test_fix_never_writes_among_the_original_files(leaky: Path, tmp_path: Path) -> None:
    before = snapshot(leaky)
    link = tmp_path / "link"
    link.symlink_to(leaky)
    for target in (leaky, link, leaky / "train.jsonl"):
        assert run("audit", leaky, "--fix", target) == 2
        assert run("audit", leaky, "--fix", target, "--force") == 2
    assert run("audit", leaky / "train.jsonl", "--fix", leaky, "--force") == 2
    assert run("audit", leaky, "--html", link / "test.jsonl", "--force") == 2
    assert snapshot(leaky) == before


def test_fix_overwrites_only_when_forced(leaky: Path, sound: Path, tmp_path: Path) -> None:
    target = tmp_path / "fixed"
    assert run("audit", leaky, "--fix", target) == 0
    first = snapshot(target)
    assert run("audit", sound, "--fix", target) == 2
    assert snapshot(target) == first
    assert run("audit", sound, "--fix", target, "--force") == 0
    assert snapshot(target) != first


def test_nothing_is_written_when_nothing_would_be_left(doubled: Path, tmp_path: Path) -> None:
    target = tmp_path / "fixed"
    assert run("audit", doubled, "--fix", target) == 2
    assert run("audit", doubled, "--fix", target, "--force") == 2
    assert run("audit", doubled, "--fix", target, "--to", "no-such-format", "--force") == 2
    assert not target.exists()


def test_an_option_that_would_do_nothing_is_refused(leaky: Path) -> None:
    assert run("audit", leaky, "--drop-twins") == 2
    assert run("audit", leaky, "--to", "parquet") == 2


@pytest.mark.slow
def test_demo_shows_facts_trains_and_says_where_the_report_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "demo").mkdir()
    assert run("demo", "--epochs", "1", "--out", tmp_path / "demo") == 0
    told = capsys.readouterr().out
    assert "protocol of test: " in told
    report = tmp_path / "demo-2" / "report.html"
    assert told.rstrip().endswith(f"The report of the run is {report}; open it in a browser.")
    assert "<svg" in report.read_text()
    assert "Hank Aaron | " in told
    assert told.count("rank  answer") == 3  # three questions are answered
    assert "Near training facts:" in told  # and one answer is explained
    assert "no leaks, no warnings" in told
    assert "hyperfact show baseball" in told
