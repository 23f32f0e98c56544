"""A dump of Wikidata becomes a dataset in parts: filtered, counted, taken up where it ended."""

import bz2
import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from hyperfact.cli import main
from hyperfact.data import load
from hyperfact.scale import dump
from hyperfact.system.source import Source
from tests.unit.data.test_wikidata import item, quantity, snak, statement, time

Capture = pytest.CaptureFixture[str]


def entity(number: int) -> dict[str, Any]:
    """An item with statements of several ranks, some with qualifiers."""
    since = snak("P580", **time(f"+20{number % 60 + 10}-01-01T00:00:00Z"))
    held = [
        statement(snak("P39", **item(f"Q{number + 1}")), since, since, rank="normal"),
        statement(snak("P39", **item("Q9")), rank="preferred" if number % 3 else "normal"),
        statement(snak("P39", **item("Q8")), rank="deprecated"),
    ]
    claims = {
        "P31": [statement(snak("P31", **item("Q5" if number % 2 else "Q6")))],
        "P39": held,
        "P1082": [statement(snak("P1082", **quantity("+5")))],
    }
    labels = {code: {"language": code, "value": f"{code} {number}"} for code in ("de", "en")}
    return {"type": "item", "id": f"Q{number}", "labels": labels, "claims": claims}


def text_of(count: int) -> str:
    lines = ",\n".join(json.dumps(entity(number)) for number in range(1, count + 1))
    return f"[\n{lines}\n]\n"


def call(capsys: Capture, *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    said = capsys.readouterr()
    return int(stop.value.code or 0), said.out, said.err


def convert(capsys: Capture, path: Path, out: Path, *options: str) -> Any:
    code, said, err = call(capsys, "convert", path, out, "--to", "parts", "--json", *options)
    assert code == 0, err
    return json.loads(said)


@pytest.mark.parametrize("compress", [bz2.compress, gzip.compress])
def test_a_dump_is_read_as_in_memory(
    compress: Any, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump, "BLOCK", 3000)  # many blocks
    path = tmp_path / f"dump.json.{'bz2' if compress is bz2.compress else 'gz'}"
    path.write_bytes(compress(text_of(40).encode()))
    found = convert(capsys, path, tmp_path / "parts")
    expected, back = load(path), load(tmp_path / "parts")
    assert back.train == expected.train
    assert back.label_texts == expected.label_texts
    assert (back.train.columns.subject == expected.train.columns.subject).all()
    assert found["left_out"] == {"deprecated": 40}
    assert found["repeated_qualifiers"] == 40
    assert not (tmp_path / "parts.partial").exists()
    code, _, _ = call(capsys, "stats", tmp_path / "parts")
    assert code == 0


def test_filters_take_what_they_say_and_count_the_rest(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "dump.json"
    path.write_text(text_of(12))
    options = ["--class", "Q5", "--property", "P39", "--language", "de"]
    for rank, facts, qualified in (("all", 12, 6), ("best", 8, 2), ("truthy", 8, 0)):
        found = convert(capsys, path, tmp_path / rank, *options, "--rank", rank)
        graph = load(tmp_path / rank)
        assert (found["facts"], int((graph.train.arity > 2).sum())) == (facts, qualified), rank
        assert found["left_out"]["class"] == 6
        assert found["left_out"]["property"] == 12
        assert graph.labels.show("Q1") == "de 1"
    assert found["left_out"]["rank"] == 8


def test_literals_are_dropped_and_counted(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "dump.json"
    path.write_text(text_of(6))
    found = convert(capsys, path, tmp_path / "parts", "--literals", "drop")
    assert load(tmp_path / "parts").train == load(path, literals="drop").train
    assert found["left_out"]["literal"] == 6
    code, _, err = call(
        capsys, "convert", path, tmp_path / "x", "--to", "parts", "--literals", "error"
    )
    assert code == 2
    assert f"{path}:2: a literal" in err


def test_it_goes_on_where_it_was_ended(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dump, "BLOCK", 3000)
    path, spool = tmp_path / "dump.json", tmp_path / "parts.partial"
    path.write_text(text_of(30))
    real = dump.parse_block
    done: list[int] = []

    def die(work: Any) -> Any:
        if len(done) == 4:
            raise KeyboardInterrupt
        done.append(work.number)
        return real(work)

    monkeypatch.setattr(dump, "parse_block", die)
    assert call(capsys, "convert", path, tmp_path / "parts", "--to", "parts")[0] == 130
    assert not (tmp_path / "parts" / "dataset.json").exists()
    (spool / "block-00000001.json").unlink()  # lost between its facts and its counts

    def live(work: Any) -> Any:
        done.append(work.number)
        return real(work)

    monkeypatch.setattr(dump, "parse_block", live)
    other = call(capsys, "convert", path, tmp_path / "parts", "--to", "parts", "--rank", "best")
    assert other[0] == 2
    assert "another reading" in other[2]
    found = convert(capsys, path, tmp_path / "parts")
    assert 0 < found["taken_up_at"] < found["json_bytes"]
    assert done[:5] == [0, 1, 2, 3, 1]
    assert load(tmp_path / "parts").train == load(path).train


def test_a_broken_dump_is_named_by_its_line(tmp_path: Path, capsys: Capture) -> None:
    whole = text_of(5)
    for text, part in (
        (whole[:-2], "cut off"),
        (whole.replace('"item", "id": "Q3"', '"item", "id": "X3"'), ":4: expected an entity"),
        (whole.replace('"rank": "normal"', '"rank": "normal", "rank": "no"', 1), ":2: the key"),
    ):
        path = tmp_path / "dump.json"
        path.write_text(text)
        code, out, err = call(capsys, "convert", path, tmp_path / "parts", "--to", "parts")
        assert (code, out) == (2, "")
        assert part in err
        assert len(err.splitlines()) == 1
        assert not (tmp_path / "parts" / "dataset.json").exists()
        for file in (tmp_path / "parts.partial").iterdir():
            file.unlink()


def test_filters_are_for_dumps(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "dump.json"
    path.write_text(text_of(2))
    for words, part in (
        (["baseball", tmp_path / "x", "--to", "parts", "--rank", "best"], "Wikidata dump"),
        ([path, tmp_path / "x.jsonl", "--workers", "2"], "--to parts"),
        ([path, tmp_path / "x", "--to", "parts", "--rank", "bst"], "did you mean 'best'"),
        ([path, tmp_path / "x", "--to", "parts", "--property", "39"], "one like P39"),
    ):
        code, _, err = call(capsys, "convert", *words)
        assert code == 2
        assert part in err
        assert not (tmp_path / "x").exists()


def test_zst_is_read_where_its_package_is(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "dump.json.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(text_of(3).encode()))
    assert Source(path).suffix == ".json"
    assert len(load(path).train) == 12
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(Exception, match=r"cut off|damaged"):
        load(path)


@pytest.mark.slow
def test_several_processes_read_the_same(tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / "dump.json"
    path.write_text(text_of(30_000))
    convert(capsys, path, tmp_path / "parts", "--workers", "2")
    assert load(tmp_path / "parts").train == load(path).train
