"""Wikidata's entity documents: every kind of value, ranks and layouts, read and written."""

import bz2
import json
import random
from pathlib import Path
from typing import Any

import pytest

from hyperfact.data import load, read, write
from hyperfact.data.formats import recognise
from hyperfact.errors import NotWritableError
from hyperfact.graph.facts import Derived, Fact, Literal
from hyperfact.graph.hkg import HKG
from hyperfact.system.source import Source
from tests.support.memory import MemorySource, read_bytes
from tests.support.names import HOSTILE, LITERALS

GREGORIAN = "http://www.wikidata.org/entity/Q1985727"
JULIAN = "http://www.wikidata.org/entity/Q1985786"
METRE = "http://www.wikidata.org/entity/Q11573"
EARTH = "http://www.wikidata.org/entity/Q2"
XSD = "http://www.w3.org/2001/XMLSchema#"
WIKIBASE = "http://wikiba.se/ontology#"
GLOBE = WIKIBASE + "GlobeCoordinate"


def snak(key: str, kind: str, value: object, datatype: str = "") -> dict[str, Any]:
    return {
        "snaktype": "value",
        "property": key,
        "hash": "0" * 40,
        "datavalue": {"value": value, "type": kind},
        "datatype": datatype or kind,
    }


def item(name: str) -> dict[str, Any]:
    value = {"entity-type": "item", "numeric-id": int(name[1:]), "id": name}
    return {"kind": "wikibase-entityid", "value": value, "datatype": "wikibase-item"}


def time(text: str, precision: int = 11, calendar: str = GREGORIAN) -> dict[str, Any]:
    zeros = {"timezone": 0, "before": 0, "after": 0}
    value = {"time": text, **zeros, "precision": precision, "calendarmodel": calendar}
    return {"kind": "time", "value": value}


def quantity(amount: str, unit: str = "1", **bounds: str) -> dict[str, Any]:
    return {"kind": "quantity", "value": {"amount": amount, "unit": unit, **bounds}}


def statement(main: dict[str, Any], *qualifiers: dict[str, Any], rank: str = "normal") -> Any:
    groups: dict[str, list[Any]] = {}
    for one in qualifiers:
        groups.setdefault(one["property"], []).append(one)
    row = {"mainsnak": main, "type": "statement", "id": "Q7$x", "rank": rank, "references": []}
    return {**row, "qualifiers": groups, "qualifiers-order": list(groups)} if groups else row


def entity(name: str, *statements: dict[str, Any], kind: str = "item") -> dict[str, Any]:
    claims: dict[str, list[Any]] = {}
    for one in statements:
        claims.setdefault(one["mainsnak"]["property"], []).append(one)
    label = {"en": {"language": "en", "value": "made up"}}
    return {"type": kind, "id": name, "labels": label, "claims": claims or [], "sitelinks": {}}


UNKNOWN = {"snaktype": "somevalue", "property": "P20", "datatype": "wikibase-item"}
WRITER = entity(
    "Q4200",
    statement(snak("P31", **item("Q5"))),
    statement(snak("P69", **item("Q69")), snak("P580", **time("+1971-00-00T00:00:00Z", 9)),
              snak("P512", **item("Q1765120")), snak("P512", **item("Q1765121"))),
    statement(snak("P69", **item("Q70")), {**UNKNOWN, "property": "P582"}, rank="preferred"),
    statement(snak("P69", **item("Q71")), rank="deprecated"),
    statement(UNKNOWN),
    statement({**UNKNOWN, "property": "P40", "snaktype": "novalue"}),
    statement(snak("P2048", **quantity("+1.96", METRE))),
    statement(snak("P999", "future-type", {"x": 1})),
)  # fmt: skip


def facts(*entities: dict[str, Any]) -> set[Fact]:
    lines = "\n".join(json.dumps(one) for one in entities)
    return set(read_bytes("wikidata", lines.encode()))


def test_statements_are_facts_and_what_is_left_out_is_counted(tmp_path: Path) -> None:
    path = tmp_path / "writer.json"
    path.write_text(json.dumps(WRITER))
    splits, report = read(path)
    year = Literal(f'"1971"^^<{XSD}gYear>')
    pairs = (("P580", year), ("P512", "Q1765120"), ("P512", "Q1765121"))
    assert set(splits.train) == {
        Fact("Q4200", "P31", "Q5"),
        Fact("Q4200", "P69", "Q69", pairs),
        Fact("Q4200", "P69", "Q70"),
        Fact("Q4200", "P2048", Literal(f'"+1.96"^^<{METRE}>')),
    }
    notes = "\n".join(report.warnings)
    for text in ("1 deprecated", "2 statements without", "1 qualifiers without", "1 values of a"):
        assert text in notes


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ({"kind": "string", "value": 'a "b"\n\\'}, Literal('"a \\"b\\"\\n\\\\"')),
        ({"kind": "string", "value": "http://x/", "datatype": "url"}, Literal('"http://x/"')),
        ({"kind": "string", "value": "A.jpg", "datatype": "commonsMedia"}, Literal('"A.jpg"')),
        ({"kind": "string", "value": "n50", "datatype": "external-id"}, Literal('"n50"')),
        (
            {"kind": "monolingualtext", "value": {"text": "chat", "language": "zh-min-nan"}},
            Literal('"chat"@zh-min-nan'),
        ),
        (quantity("+5"), Literal("+5")),
        (quantity("-5.20"), Literal("-5.20")),
        (
            quantity("+5", lowerBound="+4", upperBound="+6"),
            Literal(f'"+5[+4,+6]"^^<{WIKIBASE}Quantity>'),
        ),
        (
            quantity("+5", METRE, lowerBound="+4", upperBound="+6"),
            Literal(f'"+5[+4,+6]"^^<{METRE}>'),
        ),
        (time("+1952-03-11T00:00:00Z"), Literal(f'"1952-03-11"^^<{XSD}date>')),
        (time("+1952-03-00T00:00:00Z", 10), Literal(f'"1952-03"^^<{XSD}gYearMonth>')),
        (time("+1952-00-00T00:00:00Z", 9), Literal(f'"1952"^^<{XSD}gYear>')),
        (
            time("+1952-01-01T00:00:00Z", 9),
            Literal(f'"+1952-01-01T00:00:00Z#0#0#0#9#{GREGORIAN}"^^<{WIKIBASE}Time>'),
        ),
        (
            time("-0044-03-15T00:00:00Z", 11, JULIAN),
            Literal(f'"-0044-03-15T00:00:00Z#0#0#0#11#{JULIAN}"^^<{WIKIBASE}Time>'),
        ),
        (
            {
                "kind": "globecoordinate",
                "value": {"latitude": 52.516666666667, "longitude": 13, "altitude": None,
                          "precision": 1e-05, "globe": EARTH},
            },
            Literal(f'"52.516666666667,13#1e-05#{EARTH}"^^<{GLOBE}>'),
        ),
        (item("Q42"), "Q42"),
        (
            {"kind": "wikibase-entityid", "value": {"entity-type": "property", "numeric-id": 31}},
            "P31",
        ),
        ({"kind": "wikibase-entityid", "value": {"id": "L7-F1"}}, "L7-F1"),
    ],
)  # fmt: skip
def test_values_keep_all_they_say(value: dict[str, Any], name: str, tmp_path: Path) -> None:
    document = entity("Q1", statement(snak("P1", **value), snak("P2", **value)))
    expected = {Fact("Q1", "P1", name, (("P2", name),))}
    assert facts(document) == expected
    write(HKG.from_facts(expected), tmp_path / "again.json", format="wikidata")
    assert set(load(tmp_path / "again.json").train) == expected


def test_lexemes_have_forms_and_senses() -> None:
    form = {"id": "L7-F1", "claims": {"P443": [statement(snak("P443", "string", "a.ogg"))]}}
    sense = {"id": "L7-S1", "claims": {"P5137": [statement(snak("P5137", **item("Q146")))]}}
    lexeme = {**entity("L7", kind="lexeme"), "forms": [form], "senses": [sense]}
    assert facts(lexeme) == {
        Fact("L7-F1", "P443", Literal('"a.ogg"')),
        Fact("L7-S1", "P5137", "Q146"),
    }


def test_all_layouts_hold_the_same(tmp_path: Path) -> None:
    other = entity("Q2", statement(snak("P31", **item("Q5"))))
    both = [json.dumps(one) for one in (WRITER, other)]
    layouts = {
        "lines.json": "\n".join(both),
        "dump.json": "[\n" + ",\n".join(both) + "\n]\n",
        "one.json": f"[{both[0]}, {both[1]}]",
        "document.json": json.dumps({"entities": {"Q4200": WRITER, "Q2": other}, "success": 1}),
        "pretty.json": json.dumps({"entities": {"Q4200": WRITER, "Q2": other}}, indent=2),
    }
    graphs = []
    for name, text in layouts.items():
        (tmp_path / f"{name}.bz2").write_bytes(bz2.compress(text.encode()))
        path = tmp_path / f"{name}.bz2"
        assert recognise(Source(path)).name == "wikidata", name
        graphs.append(load(path).train)
    assert all(graph == graphs[0] for graph in graphs)
    assert len(graphs[0]) == 5


NAMES = [*HOSTILE, "Q0", "Q01", "q42", "Q42 ", "Q٤", "L1-X1", "P31-F1", "Q42\n"]
FORMS = [*map(str, LITERALS), "5", "+5e3", "+5 m", "1.", '"x"@en_US', '"x"^^<y>', '"+5"^^<1>',
         f'"5"^^<{METRE}>', f'"5 "^^<{METRE}>', f'"1952-13"^^<{XSD}gYear>', f'"0000"^^<{XSD}gYear>',
         f'"1952-03-11Z"^^<{XSD}date>', f'"x"^^<{XSD}string>', f'"1#2"^^<{WIKIBASE}Time>',
         f'"+5"^^<{WIKIBASE}Quantity>', f'"1.0,2#0#{EARTH}"^^<{GLOBE}>',
         f'"1.00,2#0#{EARTH}"^^<{GLOBE}>', f'"1,2##{EARTH}"^^<{GLOBE}>',
         f'"1,2,3##{EARTH}"^^<{GLOBE}>', f'"1e999,2##{EARTH}"^^<{GLOBE}>',
         f'"+1952-03-11T00:00:00Z#0#0#0#11#{GREGORIAN}"^^<{WIKIBASE}Time>', '"\ud800"',
         f'"+1952-03-11T00:00:00Z#00#0#0#7#{GREGORIAN}"^^<{WIKIBASE}Time>', '"\u2028\ufeff\t"',
         f'"+19520-03-11T00:00:00Z#-60#1#2#7#{JULIAN}"^^<{WIKIBASE}Time>']  # fmt: skip


def test_names_come_back_or_are_refused(tmp_path: Path) -> None:
    path, taken = tmp_path / "facts.json", 0
    rows = [(name, "P1") for name in (*NAMES, *map(Literal, FORMS))]
    rows += [("Q1", name) for name in (*NAMES, Derived("P31"), Derived("P31_so"))]
    for name, relation in rows:
        for fact in (Fact("Q1", relation, name), Fact("Q1", "P1", "Q2", ((relation, name),)),
                     Fact(name, relation, "Q2")):  # fmt: skip
            graph = HKG.from_facts([fact])
            try:
                write(graph, path, format="wikidata")
            except NotWritableError:
                continue
            assert load(path, format="wikidata").train == graph
            taken += 1
    assert taken >= 30


def test_random_graphs_come_back(tmp_path: Path) -> None:
    rng = random.Random(8)
    values = ["Q1", "Q2", "P3", "L4", "L4-F1", "M5", Literal("+5"), Literal('"x"@en'),
              Literal(f'"1952"^^<{XSD}gYear>'), Literal('"\t\u2028 \\" "')]  # fmt: skip
    for _ in range(60):
        rows = [
            Fact(rng.choice(values[:6]), f"P{rng.randrange(1, 4)}", rng.choice(values),
                 tuple((f"P{rng.randrange(1, 4)}", rng.choice(values)) for _ in range(i % 4)))
            for i in range(rng.randrange(9))
        ]  # fmt: skip
        graph = HKG.from_facts([*rows, *(Fact(*row.primary) for row in rows[::2])])
        write(graph, tmp_path / "facts.json.gz", format="wikidata")
        assert load(tmp_path / "facts.json.gz", format="wikidata").train == graph


def test_other_json_is_not_taken_for_wikidata() -> None:
    for text, name in (
        ('{"subject": "type", "relation": "item", "object": "Q1"}', "jsonl"),
        ('{"N": 2, "relation": "P1", "subject": "Q1", "object": "Q2"}', "gran"),
        ('{"P1_h": "Q1", "P1_t": "Q2", "N": 2}', "nalp"),
    ):
        assert recognise(MemorySource(Path("x.json"), text.encode())).name == name
