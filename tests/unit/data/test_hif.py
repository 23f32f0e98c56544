"""HIF: facts as hyperedges with roles, foreign hypergraphs, wrong documents by their line."""

import copy
import json
import random
from pathlib import Path
from typing import Any

import pytest

from hyperfact.data import load, read, write
from hyperfact.data.formats import recognise
from hyperfact.errors import FormatError, NotWritableError
from hyperfact.graph.facts import Derived, Fact, Literal
from hyperfact.graph.hkg import HKG
from hyperfact.system.source import Source
from tests.support.graphs import nary_graph, random_graph
from tests.support.memory import read_bytes, read_or_refuse
from tests.support.names import HOSTILE, LITERALS

AARON = Fact("Hank Aaron", "played for", "Braves", (("from", "1954"), ("position", "OF")))


def foreign(*incidences: dict[str, Any], **further: Any) -> dict[str, Any]:
    edges = [{"edge": e, "attrs": {"relation": "r"}} for e in {i["edge"]: 1 for i in incidences}]
    return {"network-type": "directed", "incidences": list(incidences), "edges": edges, **further}


def facts(document: Any) -> set[Fact]:
    return set(read_bytes("hif", json.dumps(document).encode()))


def test_a_fact_is_an_edge_whose_incidences_have_roles(tmp_path: Path) -> None:
    path = tmp_path / "facts.hif"
    write(HKG.from_facts([AARON]), path)
    document = json.loads(path.read_text())
    assert set(document) == {"network-type", "metadata", "incidences", "edges"}
    assert document["edges"] == [{"edge": 0, "attrs": {"relation": "played for"}}]
    first = {"edge": 0, "node": "Hank Aaron", "direction": "tail", "attrs": {"role": "subject"}}
    assert document["incidences"][0] == first
    assert document["incidences"][2]["attrs"] == {"role": "value", "attribute": "from"}
    assert recognise(Source(path)).name == "hif"
    assert set(load(path).train) == {AARON}


def test_foreign_roles_and_directions_are_read() -> None:
    by_role = foreign(
        {"edge": "e", "node": 1, "attrs": {"role": "subject"}},
        {"edge": "e", "node": 2, "attrs": {"role": "object"}},
        {"edge": "e", "node": 3, "attrs": {"role": "when"}},
        nodes=[{"node": 1, "attrs": {"colour": "red"}}, {"node": 9}],
    )
    assert facts(by_role) == {Fact("1", "r", "2", (("when", "3"),))}
    by_direction = foreign(
        {"edge": 5, "node": "a", "direction": "tail"},
        {"edge": 5, "node": "b", "direction": "head"},
        {"edge": 5, "node": "c", "direction": "head", "attr": {"role": "where"}},
    )
    assert facts(by_direction) == {Fact("a", "r", "b", (("where", "c"),))}


def test_weights_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    tail = {"edge": 5, "node": "a", "direction": "tail", "weight": 0.5}
    path.write_text(json.dumps(foreign(tail, {"edge": 5, "node": "b", "direction": "head"})))
    splits, report = read(path)
    assert set(splits.train) == {Fact("a", "r", "b")}
    assert report.warnings == (f"{path}: 1 weights are not kept",)


def test_every_name_comes_back_in_every_place(tmp_path: Path) -> None:
    names = [*HOSTILE, "urn:hyperfact:", "urn:hyperfact:literal:x", "value", "0", "\0", "\x7f"]
    entities = [*dict.fromkeys(names), *LITERALS, *map(Literal, ("urn:hyperfact:name:x", "\n"))]
    relations = [*dict.fromkeys(names), Derived("q_so"), Derived("urn:hyperfact:derived:_1")]
    rng = random.Random(4)
    rows = [Fact(e, rng.choice(relations), rng.choice(entities)) for e in entities]
    rows += [
        Fact(a, rng.choice(relations), b, ((r, b), (rng.choice(relations), a)))
        for r in relations
        for a, b in [rng.sample(entities, 2)]
    ]
    graph = HKG.from_facts([*rows, *(Fact(*row.primary) for row in rows[::3])])
    write(graph, tmp_path / "facts.hif.xz")
    back = load(tmp_path / "facts.hif.xz").train
    assert back == graph
    assert [type(r) for r in back.relations] == [type(r) for r in graph.relations]


def test_random_graphs_come_back(tmp_path: Path) -> None:
    rng = random.Random(3)
    for _ in range(40):
        for graph in (random_graph(rng).compact(), nary_graph(rng).compact()):
            write(graph, tmp_path / "facts.hif")
            assert load(tmp_path / "facts.hif").train == graph


def test_half_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    for fact in (Fact("a", "r", "\ud800"), Fact("a", "\udfff", "b")):
        with pytest.raises(NotWritableError, match="surrogate"):
            write(HKG.from_facts([fact]), tmp_path / "facts.hif")


def document_lines(*rows: str) -> str:
    """A document with one edge and these incidences, the first of them on line 4."""
    edges = '{"edges": [{"edge": 0, "attrs": {"relation": "r"}},\n{"edge": 1, "attrs": '
    return edges + '{"relation": "r"}}],\n"incidences": [\n' + ",\n".join(rows) + "]}"


GOOD = [
    '{"edge": 0, "node": "a", "attrs": {"role": "subject"}}',
    '{"edge": 0, "node": "b", "attrs": {"role": "object"}}',
]
OTHER = [row.replace('"edge": 0', '"edge": 1') for row in GOOD]
_BASE = {"edge": 0, "node": "c", "weight": 1, "attrs": {"role": "value", "attribute": "q"}}


def _wrong_incidences() -> list[str]:
    texts = []
    for key, values in {
        "edge": (None, 1.5, True, [], {}, [0]),
        "node": (None, 1.5, False, [], {}, ["a"]),
        "weight": (None, "1", True, [], {}),
        "direction": ("up", 1, [], {}, True),
        "attrs": (None, 1, "x", [], {}, {"role": 1}, {"role": None}, {"role": []}, {"x": "y"},
                  {"role": "value"}, {"role": "subject"}, {"role": "object"}, {"attribute": "q"},
                  {"role": "value", "attribute": 5}, {"role": "value", "attribute": None},
                  {"role": "urn:hyperfact:name:%41"}, {"role": "urn:hyperfact:derived:%zz"},
                  {"role": "value", "attribute": "urn:hyperfact:name:é"}),
    }.items():  # fmt: skip
        for value in values:
            row = copy.deepcopy(_BASE)
            row[key] = value
            texts.append(json.dumps(row))
    texts += [json.dumps({k: v for k, v in _BASE.items() if k != key}) for key in ("edge", "node")]
    names = ("name:%ff", "name:%2f", "literal:%41", "literal: ")
    texts += [json.dumps({**_BASE, "node": f"urn:hyperfact:{name}"}) for name in names]
    good = json.dumps(_BASE)
    texts += [good[:-1], good[: len(good) // 2], good[1:], good + good, good[:-1] + ', "node": 5}']
    values = ("NaN", '"\\ud800"', "9" * 5000, "[" * 5000, "[" * 70 + "]" * 70, "'c'", '"\\x"', "")
    texts += [good.replace('"c"', value) for value in values]
    texts += ["5", '"x"', "null", "[]", "x", "", "{}"]
    one, two = (f'{{"edge": 0, "node": {node}, "attrs": {{"role": "x"}}}}' for node in ("7", '"7"'))
    texts.append(f"{one}, {two}")
    return texts


@pytest.mark.parametrize("wrong", _wrong_incidences(), ids=lambda text: text[:60])
def test_a_wrong_incidence_is_named_by_its_line(wrong: str) -> None:
    unclosed = any(wrong.count(a) > wrong.count(b) for a, b in ("{}", "[]"))  # goes on below
    for rows, line in (([*GOOD, wrong, *OTHER], 6), ([*GOOD, *OTHER, wrong], 8)):
        with pytest.raises(FormatError) as error:
            read_bytes("hif", document_lines(*rows).encode())
        assert error.value.line in (line, line + unclosed)


def test_there_are_many_wrong_incidences() -> None:
    assert len(_wrong_incidences()) >= 60


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", 1),
        ("{}", 1),
        ("[]", 1),
        ("{", 1),
        ('{"incidences": []', 1),
        ('{"incidences": 5}', 1),
        ('{"incidences": {"a": {}}}', 1),
        ('{"edges": []}', 1),
        ('{"incidences": [],\n"network-type": "tree"}', 2),
        ('{"incidences": [],\n"colour": 1}', 2),
        ('{"incidences": [],\n"incidences": []}', 2),
        ('{"incidences": [],\n"nodes": [{"node": 1},\n{"node": 1}]}', 3),
        ('{"incidences": [],\n"nodes": [{"name": 1}]}', 2),
        ('{"incidences": [],\n"edges": [{"edge": 1}]}', 2),
        ('{"incidences": [],\n"edges": [\n{"edge": 1, "attrs": {"relation": "r"}}]}', 3),
        ('{"incidences": []}\nx', 2),
        ('{"incidences": [],\n}', 2),
        ('{"incidences": [\n' + GOOD[0] + ",\n" + GOOD[1] + "]}", 2),  # no relation
        (document_lines(*GOOD, OTHER[0]), 2),  # no object
    ],
)
def test_a_wrong_document_is_named_by_its_line(text: str, line: int) -> None:
    with pytest.raises(FormatError) as error:
        read_bytes("hif", text.encode())
    assert error.value.line == line


def test_a_hypergraph_without_roles_is_refused_with_the_remedy() -> None:
    rows = [{"edge": 0, "node": name} for name in "abc"]
    with pytest.raises(FormatError, match="an incidence without a role: give it attrs"):
        facts(foreign(*rows))


def test_every_prefix_is_refused(tmp_path: Path) -> None:
    rng = random.Random(2)
    path = tmp_path / "facts.hif"
    rows = [Fact(f"e{i}", "r", "b", AARON.qualifiers[: rng.randrange(3)]) for i in range(15)]
    write(HKG.from_facts(rows), path)
    data = path.read_bytes()[:5000].rstrip(b"\n}")
    for end in range(len(data)):
        found = read_or_refuse("hif", data[:end])
        assert isinstance(found, FormatError)
        assert found.line == data[:end].count(b"\n") + 1 - data[:end].endswith(b"\n")


def test_literals_can_be_dropped_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.hif"
    rows = [Fact("a", "r", "b", (("q", Literal("+5")),)), Fact("a", "r", Literal("x"))]
    write(HKG.from_facts(rows), path)
    splits, report = read(path, literals="drop")
    assert [str(fact) for fact in splits.train] == ["a | r | b"]
    assert (report.dropped_facts, report.dropped_qualifiers) == (1, 1)
    with pytest.raises(FormatError, match=r":10: the literal '\+5'"):
        read(path, literals="error")
