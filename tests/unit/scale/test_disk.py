"""SQL on a dataset in parts gives what the same work gives in memory, to the last hash."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hyperfact.data import load, write
from hyperfact.data.stats import stats_of
from hyperfact.errors import NotWritableError, UserError
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.kg import KG, Provenance
from hyperfact.scale import verify_on_disk
from hyperfact.scale.disk_stats import stats_on_disk
from hyperfact.scale.disk_work import restore_on_disk, transform_on_disk
from hyperfact.system.engine import size_of
from hyperfact.transforms import TRANSFORMS, NotInImageError, restore, transform, verify
from hyperfact.transforms.interchange import read_kg, write_kg
from hyperfact.transforms.interchange.parquet_edges import read_parquet
from tests.support.disk import duck, on_disk
from tests.support.graphs import random_graph

MODES = ("compact", "literal", "paper-text")
ALL_WAYS = [("equivalent", mode) for mode in MODES] + [(t, None) for t in list(TRANSFORMS)[1:]]
BY_DAY = (("equivalent", "compact"), ("clique_semantic", None))
WAYS = [pytest.param(*way, marks=[] if way in BY_DAY else pytest.mark.slow) for way in ALL_WAYS]
TYPED = [
    pytest.param(*way, marks=[] if way in BY_DAY else pytest.mark.slow)
    for way in ALL_WAYS
    if way[0] in ("equivalent", "no_distinction")
]


def graphs(count: int, start: int = 0) -> list[HKG]:
    """Awkward graphs that Parquet text can hold."""
    found = (random_graph(random.Random(seed)) for seed in range(start, start + 4 * count))
    return [g for g in found if not any("\0" in n for n in (*g.entities, *g.relations))][:count]


def split_up(hkg: HKG, seed: int) -> Splits:
    """The facts in splits that share some of them."""
    rng = np.random.default_rng(seed)
    return Splits({name: hkg.select(rng.random(len(hkg)) < 0.6) for name in ("train", "test")})


@pytest.fixture(scope="module")
def world() -> Splits:
    return load("world")


@pytest.mark.parametrize(("transformation", "mode"), TYPED)
def test_the_certificate_is_the_same(
    transformation: str, mode: str | None, world: Splits, tmp_path: Path
) -> None:
    with on_disk(world, tmp_path) as facts:
        found = verify_on_disk(facts, "train", transformation, mode=mode)
    assert found.to_dict() == verify(world.train, transformation, mode=mode).to_dict()


@pytest.mark.parametrize("count", [1, pytest.param(40, marks=pytest.mark.slow)])
def test_the_certificate_is_the_same_for_awkward_graphs(count: int, tmp_path: Path) -> None:
    for i, hkg in enumerate(graphs(count)):
        splits = split_up(hkg, i)
        with on_disk(splits, tmp_path / str(i)) as facts:
            for split in ("all", "test"):
                graph = splits.all if split == "all" else splits.test
                found = verify_on_disk(facts, split, mode=MODES[i % 3]).to_dict()
                assert found == verify(graph, mode=MODES[i % 3]).to_dict()


def test_stats_are_the_same(world: Splits, tmp_path: Path) -> None:
    for name, splits in {"w": world}.items():
        with on_disk(splits, tmp_path / name) as facts:
            assert stats_on_disk(facts) == stats_of(load(tmp_path / name / "parts"))


@pytest.mark.parametrize(("transformation", "mode"), WAYS)
def test_the_files_of_a_graph_are_the_same(
    transformation: str, mode: str | None, world: Splits, tmp_path: Path
) -> None:
    kg = transform(world.test, transformation, mode=mode)
    write_kg(kg, tmp_path / "memory", format="parquet")
    with on_disk(world, tmp_path) as facts:
        found = transform_on_disk(facts, tmp_path / "disk", "test", transformation, mode=mode)
    assert found["fingerprint"] == kg.fingerprint
    assert found["facts"] == len(world.test)
    assert read_kg(tmp_path / "disk") == kg
    one, other = (read_parquet(tmp_path / name) for name in ("memory", "disk"))
    assert (one.nodes, one.labels, one.mode) == (other.nodes, other.labels, other.mode)
    assert np.array_equal(one.triples, other.triples)


@pytest.mark.parametrize(("transformation", "mode"), TYPED)
def test_restore_gives_the_same_facts_in_the_same_rows(
    transformation: str, mode: str | None, world: Splits, tmp_path: Path
) -> None:
    kg = transform(world.valid, transformation, mode=mode)
    write_kg(kg, tmp_path / "kg", format="parquet")
    with duck(tmp_path) as engine:
        count, fingerprint = restore_on_disk(tmp_path / "kg", tmp_path / "back", engine)
    expected = restore(read_kg(tmp_path / "kg"))
    back = load(tmp_path / "back").train
    assert (count, fingerprint) == (len(expected), expected.fingerprint)
    for one, other in zip(
        vars(back.columns).values(), vars(expected.columns).values(), strict=False
    ):
        assert np.array_equal(one, other)


def changed(kg: KG, rng: random.Random) -> KG:
    """A graph with one edge dropped, doubled, or turned to another end, relation or kind."""
    edges = {n: getattr(kg, n).copy() for n in ("source", "relation", "target", "kind", "place")}
    at, change = (
        rng.randrange(len(kg)),
        rng.choice(["drop", "double", "relation", "target", "kind"]),
    )
    if change == "drop":
        edges = {name: np.delete(c, at) for name, c in edges.items()}
    elif change == "double":
        edges = {name: np.append(c, c[at]) for name, c in edges.items()}
    elif change == "relation":
        edges["relation"][at] = rng.randrange(len(kg.relations))
    elif change == "target":
        edges["target"][at] = rng.randrange(kg.num_nodes)
    else:
        edges["kind"][at] = rng.randrange(4)
    return replace(kg, **edges, provenance=Provenance())


def outcome_in_memory(kg: KG) -> str:
    try:
        return restore(kg).fingerprint
    except NotInImageError as error:
        return error.reason


@pytest.mark.parametrize("count", [4, pytest.param(60, marks=pytest.mark.slow)])
def test_a_graph_is_refused_for_the_same_reason(count: int, tmp_path: Path) -> None:
    rng, seen = random.Random(5), set()
    hkg = HKG.from_facts(
        [
            Fact("a", "r", "b", (("q", "c"), ("p", "a"))),
            Fact("a", "r", "b"),
            Fact("b", "p", "c", (("q", "a"),)),
            Fact("c", "p", "c"),
        ]
    )
    for i in range(count):
        kg = changed(transform(hkg, mode=MODES[i % 3]), rng)
        try:
            write_kg(kg, tmp_path / str(i), format="parquet")
        except (NotWritableError, UserError):
            continue
        expected = outcome_in_memory(read_kg(tmp_path / str(i)))
        seen.add(expected)
        try:
            with duck(tmp_path) as engine:
                _, found = restore_on_disk(tmp_path / str(i), tmp_path / f"back{i}", engine)
        except NotInImageError as error:
            found = error.reason
            assert not (tmp_path / f"back{i}" / "dataset.json").exists()
        assert found == expected, i
    assert len(seen) > (1 if count < 10 else 5)


def test_sizes_are_read_as_people_write_them() -> None:
    assert [size_of(t) for t in ("1GB", "1.5 gib", "500m")] == [10**9, 1610612736, 5 * 10**8]
    for text in ("", "much", "-1GB", "1KB"):
        with pytest.raises(UserError):
            size_of(text)


def test_nothing_is_left_in_the_spill_folder(world: Splits, tmp_path: Path) -> None:
    write(world, tmp_path / "parts", format="parts")
    (tmp_path / "spill").mkdir()
    with pytest.raises(RuntimeError), duck(tmp_path / "spill"):
        raise RuntimeError
    assert list((tmp_path / "spill").iterdir()) == []
