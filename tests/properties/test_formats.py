"""What is written is read back exactly, or refused when it is written: every format, any name."""

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from hyperfact.data import load, write
from hyperfact.data.formats import FORMATS
from hyperfact.errors import NotWritableError
from hyperfact.graph.facts import Derived, Fact
from hyperfact.graph.hkg import HKG, Splits
from tests.support.graphs import hkgs, item_graph, nary_graph, random_graph

CASES = 80  # a format; the night suite runs 10,000


def round_trip(graph: HKG, name: str, folder: Path) -> bool:
    """Whether the format took the graph; if it did, the graph must come back."""
    path = folder / f"facts{FORMATS[name].suffix}"
    before = sorted(p.name for p in folder.iterdir())
    try:
        write(graph, path, format=name)
    except NotWritableError:
        assert sorted(p.name for p in folder.iterdir()) == before  # nothing half written
        return False
    back = load(path, format=name).train
    assert back == graph
    kinds = [(type(n), n) for n in (*graph.entities, *graph.relations)]
    if FORMATS[name].typed:
        assert [(type(n), n) for n in (*back.entities, *back.relations)] == kinds
    return True


def check_cases(name: str, folder: Path, cases: int) -> None:
    rng = random.Random(name)
    makers = (
        lambda: random_graph(rng),
        lambda: random_graph(rng, hostile=False),
        lambda: nary_graph(rng),
        lambda: item_graph(rng),
    )
    taken = sum(round_trip(makers[i % 4]().compact(), name, folder) for i in range(cases))
    assert taken >= cases / 10  # a format that refuses everything proves nothing


@pytest.mark.parametrize("name", FORMATS)
def test_any_graph_comes_back_or_is_refused(name: str, tmp_path: Path) -> None:
    check_cases(name, tmp_path, CASES if name not in {"parquet"} else 24)


@pytest.mark.slow
@pytest.mark.parametrize("name", FORMATS)
def test_ten_thousand_graphs_come_back_or_are_refused(name: str, tmp_path: Path) -> None:
    check_cases(name, tmp_path, 10_000)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(graph=hkgs())
def test_our_own_lines_hold_everything(graph: HKG, tmp_path: Path) -> None:
    if len(graph):
        assert round_trip(graph.compact(), "jsonl", tmp_path)


@pytest.mark.parametrize("name", ["nalp", "gran", "hinge"])
@pytest.mark.parametrize("relation", ["N", "subject", "r"])
def test_a_relation_may_be_called_like_a_key(name: str, relation: str, tmp_path: Path) -> None:
    bare, qualified = Fact("a", relation, "b"), Fact("a", "q", "b", ((relation, "c"),))
    taken = [
        round_trip(HKG.from_facts([fact]).compact(), name, tmp_path) for fact in (bare, qualified)
    ]
    keys = {"nalp": {"N"}, "gran": {"N", "subject"}, "hinge": {"N"}}[name]
    assert taken == [name != "hinge" or relation != "N", relation not in keys]


@pytest.mark.parametrize("name", FORMATS)
def test_a_dataset_of_splits_comes_back(name: str, tmp_path: Path) -> None:
    graph = nary_graph(random.Random(7))
    splits = Splits({"train": graph[: len(graph) - 2], "valid": graph[-2:-1], "test": graph[-1:]})
    try:
        write(splits, tmp_path / "out", format=name)
    except NotWritableError:
        pytest.skip(f"{name} cannot hold names like these")
    back = load(tmp_path / "out", format=name)
    assert {k: sorted(map(str, v)) for k, v in back.items()} == {
        k: sorted(map(str, v)) for k, v in splits.items()
    }


def test_derived_relations_stay_derived_where_the_format_has_kinds(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("model\tx\ty\tz\n")
    graph = load(tmp_path / "a.txt", format="nary").train
    for name in ("jsonl", "parquet"):
        path = tmp_path / f"b.{name}"
        write(graph, path, format=name)
        back = load(path, format=name).train
        assert all(isinstance(relation, Derived) for relation in back.relations)
        write(back, tmp_path / "c.txt", format="nary")
        assert (tmp_path / "c.txt").read_text() == "model\tx\ty\tz\n"
