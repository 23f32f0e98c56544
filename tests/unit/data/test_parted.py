"""A dataset in parts: nothing is lost, ids stay, and what is missing or altered is named."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from hyperfact.cli import main
from hyperfact.data import load, parted, read, write
from hyperfact.data.manifest import MANIFEST, read_manifest
from hyperfact.errors import DataError, NotWritableError, UserError
from hyperfact.graph.facts import Derived, Fact
from hyperfact.graph.hkg import HKG, Splits
from tests.support.graphs import random_graph

FACTS = [Fact("a", "r", "b", (("q", "c"),)), Fact("a", "r", "b"), Fact("b", "r", "c")]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    names: Any = {"entities": ["a", "b", "c", "unused"], "relations": ["q", "r", Derived("r_so")]}
    parts = {"train": HKG.from_facts(FACTS, **names), "test": HKG.from_facts(FACTS[:1], **names)}
    write(Splits(parts), tmp_path / "parts", format="parts")
    return tmp_path / "parts"


def test_whatever_is_written_comes_back_with_its_ids(tmp_path: Path) -> None:
    refused = 0
    for seed in range(25):
        hkg = random_graph(random.Random(seed))
        try:
            write(hkg, tmp_path / str(seed), format="parts")
        except NotWritableError:
            refused += 1
            continue
        back = load(tmp_path / str(seed)).train
        assert back == hkg
        assert list(map(type, back.entities)) == list(map(type, hkg.entities))
        assert back.fingerprint == hkg.fingerprint
    assert refused < 13


def test_splits_labels_unused_and_derived_names_stay(folder: Path, tmp_path: Path) -> None:
    splits, report = read(folder)
    assert list(splits) == ["train", "test"]
    assert list(splits.entities) == ["a", "b", "c", "unused"]
    assert type(splits.relations[2]) is Derived
    assert report.formats == ("parts",)
    world = load("world")
    write(world, tmp_path / "world", format="parts")
    back = load(tmp_path / "world")
    assert back.parts == world.parts
    assert back.label_texts == world.label_texts


def test_many_parts_are_one_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parted, "FACTS_A_PART", 700)
    ball = load("baseball")
    write(ball, tmp_path / "ball", format="parts")
    assert len(list((tmp_path / "ball").glob("facts-train-*"))) > 3
    assert load(tmp_path / "ball").parts == ball.parts


def test_literals_are_dropped_or_refused_as_of_any_file(tmp_path: Path) -> None:
    path = tmp_path / "facts.txt"
    path.write_text("Q1,P1,Q2\nQ2,P1,Q1,P3,+5\n")
    write(load(path), tmp_path / "parts", format="parts")
    splits, report = read(tmp_path / "parts", literals="drop")
    assert (len(splits.train), report.dropped_qualifiers) == (2, 1)
    with pytest.raises(UserError, match="the literal"):
        read(tmp_path / "parts", literals="error")


def altered(folder: Path) -> Path:
    return folder / "facts-train-00000.parquet"


@pytest.mark.parametrize("way", ["missing", "longer", "one bit", "link"])
def test_a_part_that_is_missing_or_altered_is_one_clear_line(
    way: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    part = altered(folder)
    content = bytearray(part.read_bytes())
    part.unlink()
    if way == "longer":
        part.write_bytes(content + b"\0")
    elif way == "one bit":
        content[len(content) // 2] ^= 1
        part.write_bytes(content)
    elif way == "link":
        part.symlink_to("/etc/hostname")
    with pytest.raises(SystemExit) as stop:
        main(["stats", str(folder)])
    said = capsys.readouterr()
    assert stop.value.code == 2
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert part.name in said.err
    assert "convert it anew" in said.err


@pytest.mark.parametrize(
    "change",
    [
        {"format": "other"},
        {"splits": {}},
        {"splits": {"train": 4, "test": 1}},
        {"splits": {"../x": 1}},
        {"entities": -1},
        {"parts": 3},
        {"parts": [{"file": "../../etc/passwd"}]},
        {"relations": True},
    ],
)
def test_a_manifest_that_lies_is_refused(change: dict[str, Any], folder: Path) -> None:
    path = folder / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(DataError, match=r"dataset\.json"):
        read_manifest(folder)


def test_names_that_parquet_cannot_hold_leave_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(NotWritableError):
        write(HKG.from_facts([Fact("a\0", "r", "b")]), tmp_path / "parts", format="parts")
    assert list((tmp_path / "parts").iterdir()) == []


def test_every_command_takes_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["show", str(folder), "a"], ["audit", str(folder)], ["verify", str(folder)]):
        with pytest.raises(SystemExit) as stop:
            main(words)
        assert stop.value.code == 0, capsys.readouterr().err
