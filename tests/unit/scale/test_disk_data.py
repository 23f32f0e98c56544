"""Audit and split by SQL equal those in memory; the commands choose the engine and say why not."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hyperfact.cli import main
from hyperfact.data import folder_labels, load, write
from hyperfact.data.audit import audit_of
from hyperfact.data.split import RATIOS, split_by_time, split_facts, unseen_names
from hyperfact.errors import StorageError, UserError
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.scale.disk_audit import audit_on_disk
from hyperfact.scale.disk_split import split_on_disk
from tests.support.disk import duck, on_disk
from tests.support.graphs import random_graph

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def world() -> Splits:
    return load("world")


def leaky() -> Splits:
    """Splits with every kind of leak: shared facts and triples, inverse and unseen names."""
    rng = random.Random(3)
    facts = [Fact(f"e{i}", "likes", f"e{(i * 7) % 40}", (("in", f"y{i % 5}"),)) for i in range(40)]
    facts += [Fact(f.object, "liked by", f.subject) for f in facts]
    facts += [Fact(f.subject, "LIKES", f.object) for f in facts[:40]]
    facts += [Fact("e1", "likes", "e7"), Fact("x", "knows", "x", (("of", "x"), ("of", "E1")))]
    names: dict[str, Any] = {"entities": HKG.from_facts(facts).entities}
    names["relations"] = HKG.from_facts(facts).relations
    parts = {
        "train": HKG.from_facts(facts[:100], **names),
        "valid": HKG.from_facts([*rng.sample(facts, 12), *facts[-20:]], **names),
        "test": HKG.from_facts([*rng.sample(facts, 20), *facts[-3:]], **names),
    }
    return Splits(parts)


@pytest.mark.slow
def test_an_audit_of_others_finds_the_same(world: Splits, tmp_path: Path) -> None:
    strange = random_graph(random.Random(11), hostile=False)
    check_audits([world, Splits({"train": strange})], tmp_path)


def test_an_audit_finds_the_same(tmp_path: Path) -> None:
    check_audits([leaky()], tmp_path)


def check_audits(datasets: list[Splits], tmp_path: Path) -> None:
    for i, splits in enumerate(datasets):
        with on_disk(splits, tmp_path / str(i)) as facts:
            texts = folder_labels(tmp_path / str(i) / "parts")
            found = audit_on_disk(facts, texts=texts)
        expected = audit_of(load(tmp_path / str(i) / "parts"))
        for one, other in zip(found.findings, expected.findings, strict=True):
            assert one == other
        assert found == expected
    assert expected.name == "parts"


@pytest.mark.parametrize(
    ("seed", "by_time"), [(7, None), pytest.param(0, "from", marks=pytest.mark.slow)]
)
def test_a_split_is_the_same(seed: int, by_time: str | None, world: Splits, tmp_path: Path) -> None:
    whole = world.all
    expected = split_by_time(whole, by_time) if by_time else split_facts(whole, seed=seed)
    with on_disk(world, tmp_path) as facts:
        found = split_on_disk(facts, tmp_path / "out", RATIOS, seed=seed, by_time=by_time)
    back = load(tmp_path / "out")
    assert back.parts == expected.parts
    for name, part in expected.items():
        assert np.array_equal(back[name].columns.subject, part.columns.subject)
    assert found.sizes == {name: len(part) for name, part in expected.items()}
    assert found.unseen == {name: unseen_names(expected, name) for name in expected}


def call(capsys: Capture, *words: object) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stop:
        main([str(word) for word in words])
    said = capsys.readouterr()
    return int(stop.value.code or 0), said.out, said.err


@pytest.mark.slow
def test_commands_say_the_same_of_both_engines(
    world: Splits, tmp_path: Path, capsys: Capture
) -> None:
    write(world, tmp_path / "parts", format="parts")
    for words in (["stats"], ["audit"], ["verify", "--mode", "paper-text"]):
        answers = [
            call(capsys, words[0], tmp_path / "parts", *words[1:], *engine, "--json")
            for engine in ([], ["--engine", "memory"])
        ]
        assert answers[0] == answers[1], words


def test_a_round_trip_by_commands(world: Splits, tmp_path: Path, capsys: Capture) -> None:
    parts, kg, back = tmp_path / "parts", tmp_path / "kg", tmp_path / "back"
    write(world, parts, format="parts")
    code, out, _ = call(capsys, "transform", parts, kg, "--memory-limit", "300MB", "--json")
    assert code == 0
    assert json.loads(out)["facts"] == len(world.train)
    code, out, _ = call(capsys, "restore", kg, back, "--to", "parts", "--json")
    assert json.loads(out)["fingerprint"] == world.train.fingerprint
    assert call(capsys, "split", parts, tmp_path / "new")[0] == 0
    assert sum(len(part) for part in load(tmp_path / "new").values()) == len(world.all)


def test_what_an_engine_cannot_do_is_said(world: Splits, tmp_path: Path, capsys: Capture) -> None:
    parts = tmp_path / "parts"
    write(world, parts, format="parts")
    for words, part in (
        (["stats", "world", "--engine", "duckdb"], "convert world FOLDER --to parts"),
        (["stats", parts, "--engine", "mysql"], "unknown engine 'mysql'"),
        (["stats", parts, "--literals", "drop"], "--engine memory"),
        (["stats", parts, "--memory-limit", "lots"], "a size such as 1GB"),
        (["verify", parts, "--transformation", "plain"], "--engine memory"),
        (["verify", parts, "--split", "tset"], "did you mean 'test'"),
        (["verify", parts, "--mode", "compct"], "did you mean 'compact'"),
        (["transform", parts, tmp_path / "kg", "--to", "tsv"], "--engine memory"),
        (["split", parts, tmp_path / "x", "--by-entity"], "--engine memory"),
        (["audit", parts, "--fix", tmp_path / "x"], "--engine memory"),
        (["restore", parts, tmp_path / "x", "--engine", "duckdb"], "--to parts"),
    ):
        code, out, err = call(capsys, *words)
        assert (code, out) == (2, ""), words
        assert part in err, err
        assert len(err.splitlines()) == 1
    assert not (tmp_path / "kg").exists()
    assert not (tmp_path / "x").exists()


def fill(folder: Path) -> None:
    """Sort more than memory and disk are allowed to hold."""
    with duck(folder) as engine:
        engine.db.execute("SET memory_limit = '20MB'")
        engine.db.execute("SET max_temp_directory_size = '1MB'")
        engine.table("big", "SELECT hash(range) AS x FROM range(3000000) ORDER BY x")


def test_a_disk_that_fills_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="--spill") as stop:
        fill(tmp_path)
    assert "\n" not in str(stop.value)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StorageError, match="cannot spill there"):
        fill(Path("/proc/nowhere"))


def test_a_kg_that_is_no_kg_is_refused(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "kg").mkdir()
    for name in ("nodes", "relations", "triples"):
        (tmp_path / "kg" / f"{name}.parquet").write_bytes(b"PAR1 no")
    about = {"format": "hyperfact kg 1", "transformation": "equivalent", "mode": "compact"}
    (tmp_path / "kg" / "hyperfact.json").write_text(json.dumps(about))
    code, _, err = call(capsys, "restore", tmp_path / "kg", tmp_path / "out", "--to", "parts")
    assert code == 2
    assert "not usable" in err
    assert not (tmp_path / "out").exists()
    with pytest.raises(UserError):
        load(tmp_path / "out")
