"""Every format of a KG: what it keeps comes back, in the same bytes, and damage is told."""

import random
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from hyperfact.errors import DataError, FormatError, MissingExtraError, NotWritableError, UserError
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import TYPED
from hyperfact.transforms import MODES, TRANSFORMS, equivalent, no_distinction, restore, transform
from hyperfact.transforms.interchange import (
    KG_FORMATS,
    from_networkx,
    from_pyg,
    from_pyg_hetero,
    from_pykeen,
    read_kg,
    to_networkx,
    to_pyg,
    to_pyg_hetero,
    to_pykeen,
    write_kg,
)
from tests.support.adversarial import Case, beside, build, draw_case
from tests.support.universe import HKG_EXAMPLE


def files(path: Path) -> dict[str, bytes]:
    found = [path] if path.is_file() else sorted(path.iterdir())
    return {p.name: p.read_bytes() for p in found}


def target(folder: Path, name: str) -> Path:
    return folder / (f"{name}.nt" if not KG_FORMATS[name].is_folder else name)


@pytest.mark.parametrize("name", KG_FORMATS)
@pytest.mark.parametrize("mode", MODES)
def test_what_is_kept_is_restored(name: str, mode: str, tmp_path: Path) -> None:
    kg = equivalent(HKG_EXAMPLE, mode)
    path = write_kg(kg, target(tmp_path, name), format=name)
    back = read_kg(path)
    kept = HKG_EXAMPLE if mode != "paper-text" else restore(kg)
    if name in ("reified", "reifiers"):
        assert restore(back) == kept.compact()
        return
    assert back == kg
    assert restore(back) == kept
    assert [type(n) for n in back.entities] == [type(n) for n in kg.entities]
    derived = [type(n) for n in back.relations] == [type(n) for n in kg.relations]
    assert derived == (name != "libkge")


@pytest.mark.parametrize("name", KG_FORMATS)
@pytest.mark.parametrize("transformation", TRANSFORMS)
def test_every_transformation_is_written_or_refused(
    name: str, transformation: str, tmp_path: Path
) -> None:
    kg = transform(HKG_EXAMPLE, transformation)
    path = target(tmp_path, name)
    if not KG_FORMATS[name].is_folder and transformation not in TYPED:
        with pytest.raises(NotWritableError, match="no reifiers"):
            write_kg(kg, path, format=name)
        assert not any(tmp_path.iterdir())
        return
    back = read_kg(write_kg(kg, path, format=name))
    if KG_FORMATS[name].is_folder:
        assert back == kg
    else:
        assert restore(back) == HKG_EXAMPLE.compact()


def cases(seed: str, alone: int) -> list[Case]:
    rng = random.Random(seed)
    return [draw_case(rng) for _ in range(alone)] + [beside([draw_case(rng) for _ in range(50)])]


@pytest.mark.parametrize("name", KG_FORMATS)
def test_hostile_names_come_back(name: str, tmp_path: Path) -> None:
    for case in cases(name, 25 if name != "parquet" else 4):
        hkg = build(case)
        for kg in (equivalent(hkg), no_distinction(hkg)):
            path = target(tmp_path, name)
            path.mkdir(exist_ok=True) if KG_FORMATS[name].is_folder else None
            KG_FORMATS[name].write(kg, path)
            back = restore(read_kg(path, format=name))
            assert back == (hkg if KG_FORMATS[name].is_folder else hkg.compact())


def test_the_order_of_facts_leaves_no_trace_in_the_bytes(tmp_path: Path) -> None:
    """1,860 graphs through the table of triples, most of them side by side; fewer through each."""
    rng = random.Random("bytes")
    many = [draw_case(rng) for _ in range(60)]
    many += [beside([draw_case(rng) for _ in range(100)]) for _ in range(18)]
    for i, case in enumerate(many):
        check_bytes(case, rng, "tsv", tmp_path)
        for name in KG_FORMATS if i % 20 == 0 else ():
            check_bytes(case, rng, name, tmp_path)


def check_bytes(case: Case, rng: random.Random, name: str, folder: Path) -> None:
    facts, entities, relations = case
    shuffled = [Fact(*f.primary, tuple(rng.sample(f.qualifiers, len(f.qualifiers)))) for f in facts]
    rng.shuffle(shuffled)
    written = []
    for some in (facts, shuffled):
        path = target(folder, name)
        path.mkdir(exist_ok=True) if KG_FORMATS[name].is_folder else None
        KG_FORMATS[name].write(equivalent(build((some, entities, relations))), path)
        written.append(files(path))
    assert written[0] == written[1]


def test_a_renamed_graph_is_isomorphic() -> None:
    """Names decide how mediators are called and ordered, and nothing else."""
    rng = random.Random("rename")
    for _ in range(600):
        facts, entities, relations = draw_case(rng)
        new = dict(zip(entities, rng.sample(entities, len(entities)), strict=True))
        renamed = []
        for f in facts:
            pairs = tuple((a, new[v]) for a, v in f.qualifiers)
            renamed.append(Fact(new[f.subject], f.relation, new[f.object], pairs))
        one = equivalent(build((facts, entities, relations)))
        two = equivalent(build((renamed, [new[e] for e in entities], relations)))
        back = build((facts, entities, relations))
        again = restore(two)
        assert equivalent(HKG(one.entities, one.relations, again.columns)) == one
        assert HKG(one.entities, one.relations, again.columns) == back


# -- damage ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("file", "text", "reason"),
    [
        ("triples.tsv", "0\t1\n", "triples.tsv:1: expected 3 fields, got 2"),
        ("triples.tsv", "0\t1\tx\n", "triples.tsv:1: expected three numbers"),
        ("triples.tsv", "0\t1\t99\n", "names node 99 of 9"),
        ("triples.tsv", "0\t99\t1\n", "names relation 99 of 7"),
        ("nodes.tsv", '1\tentity\t"a"\n', "nodes.tsv:1: expected the id 0"),
        ("nodes.tsv", "0\tentity\ta\n", "nodes.tsv:1: expected a name in JSON quotes"),
        ("nodes.tsv", '0\tthing\t"a"\n', "unknown type 'thing'"),
        ("nodes.tsv", '0\tentity\t"a"\n1\tentity\t"a"\n', "entity: the name 'a' stands twice"),
        ("relations.tsv", '0\tplaceX\tentity\t"a"\n', "unknown role 'placeX'"),
        ("relations.tsv", '0\tsub\tentity\t"a"\n', "a role of a relation that is not there"),
        ("hyperfact.json", "{", "not JSON"),
        ("hyperfact.json", "[]", 'expected "format"'),
        ("hyperfact.json", '{"format": "hyperfact kg 1"}', "must be text"),
    ],
)
def test_damaged_tables_are_refused(file: str, text: str, reason: str, tmp_path: Path) -> None:
    write_kg(equivalent(HKG_EXAMPLE), tmp_path)
    (tmp_path / file).write_text(text)
    if file == "relations.tsv":
        (tmp_path / "triples.tsv").write_text("0\t0\t1\n")
    with pytest.raises(DataError) as caught:
        read_kg(tmp_path)
    assert reason in str(caught.value)
    assert str(caught.value).startswith(str(tmp_path))


@pytest.mark.parametrize("name", ["parquet", "neo4j", "libkge", "reifiers", "reified"])
def test_cut_files_are_refused(name: str, tmp_path: Path) -> None:
    path = write_kg(equivalent(HKG_EXAMPLE), target(tmp_path, name), format=name)
    for file in [path] if path.is_file() else sorted(path.glob("*.[pcd]*")):
        whole = file.read_bytes()
        if not whole or file.suffix == ".yaml":
            continue
        for cut in (1, len(whole) // 2):
            file.write_bytes(whole[:cut])
            try:
                assert restore(read_kg(path)) != HKG_EXAMPLE  # a file cut between two lines
            except (FormatError, DataError):
                continue
        file.write_bytes(whole)


def test_a_path_that_is_no_graph_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no such file"):
        read_kg(tmp_path / "nothing")
    with pytest.raises(DataError, match="no exported KG"):
        read_kg(tmp_path)
    (tmp_path / "facts.nt").write_text("<a:a> <a:b> <a:c> .\n")
    with pytest.raises(FormatError, match="no graph that hyperfact exported"):
        read_kg(tmp_path / "facts.nt")
    with pytest.raises(UserError, match="unknown KG format 'tvs'; did you mean 'tsv'"):
        write_kg(equivalent(HKG_EXAMPLE), tmp_path / "x", format="tvs")
    with pytest.raises(UserError, match="and this is a file"):
        write_kg(equivalent(HKG_EXAMPLE), tmp_path / "facts.nt", format="tsv")


# -- other libraries ------------------------------------------------------------------------------


@pytest.mark.parametrize("transformation", TRANSFORMS)
def test_networkx_keeps_all(transformation: str) -> None:
    kg = transform(HKG_EXAMPLE, transformation)
    graph = to_networkx(kg)
    assert (graph.number_of_nodes(), graph.number_of_edges()) == (kg.num_nodes, len(kg))
    assert from_networkx(graph) == kg
    with pytest.raises(DataError, match="lacks the attribute 'labels'"):
        from_networkx(type(graph)())


class FakeStore(types.SimpleNamespace):
    """Attributes and nothing else; as in PyG, None means that there is none."""

    def __setattr__(self, name: str, value: object) -> None:
        if value is not None:
            super().__setattr__(name, value)


class FakeHetero(FakeStore):
    def __init__(self) -> None:
        super().__init__()
        self.stores: dict[Any, FakeStore] = {}

    def __getitem__(self, key: Any) -> FakeStore:
        return self.stores.setdefault(key, FakeStore())

    @property
    def edge_types(self) -> list[tuple[str, str, str]]:
        return [key for key in self.stores if isinstance(key, tuple)]


def check_pyg(module: Any) -> None:
    for transformation in TRANSFORMS:
        kg = transform(HKG_EXAMPLE, transformation)
        data = to_pyg(kg)
        assert isinstance(data, module.Data)
        assert data.edge_index.shape == (2, len(kg))
        assert data.edge_index.dtype == torch.int64
        assert data.num_nodes == kg.num_nodes
        assert from_pyg(data) == kg
        hetero = to_pyg_hetero(kg)
        assert hetero["entity"].num_nodes == kg.num_entities
        assert from_pyg_hetero(hetero) == kg


def check_pykeen(module: Any) -> None:
    for transformation in TRANSFORMS:
        kg = transform(HKG_EXAMPLE, transformation)
        factory = to_pykeen(kg)
        assert isinstance(factory, module.TriplesFactory)
        assert factory.mapped_triples.shape == (len(kg), 3)
        assert len(factory.entity_to_id) == kg.num_nodes
        assert from_pykeen(factory) == kg


def test_pyg_gets_what_it_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    fake: Any = types.ModuleType("torch_geometric.data")
    fake.Data, fake.HeteroData = FakeStore, FakeHetero
    monkeypatch.setitem(sys.modules, "torch_geometric", types.ModuleType("torch_geometric"))
    monkeypatch.setitem(sys.modules, "torch_geometric.data", fake)
    check_pyg(fake)


def test_pykeen_gets_what_it_expects(monkeypatch: pytest.MonkeyPatch) -> None:
    fake: Any = types.ModuleType("pykeen.triples")
    fake.TriplesFactory = FakeStore
    monkeypatch.setitem(sys.modules, "pykeen", types.ModuleType("pykeen"))
    monkeypatch.setitem(sys.modules, "pykeen.triples", fake)
    check_pykeen(fake)


@pytest.mark.parametrize(
    ("module", "check"), [("torch_geometric.data", check_pyg), ("pykeen.triples", check_pykeen)]
)
def test_the_real_library_agrees(module: str, check: Callable[[Any], None]) -> None:
    check(pytest.importorskip(module, reason=f"{module} is not installed"))


@pytest.mark.parametrize(
    ("module", "export"),
    [
        ("networkx", to_networkx),
        ("torch_geometric.data", to_pyg),
        ("torch_geometric.data", to_pyg_hetero),
        ("pykeen.triples", to_pykeen),
    ],
)
def test_a_missing_library_is_named(
    module: str, export: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=module.partition(".")[0]):
        export(equivalent(HKG_EXAMPLE))
