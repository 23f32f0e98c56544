"""Wrong entity documents: the line is named, in every layout."""

import copy
import json
from typing import Any

import pytest

from hyperfact.errors import FormatError
from hyperfact.graph.hkg import HKG
from tests.support.memory import read_bytes, read_or_refuse
from tests.unit.data.test_wikidata import (
    EARTH,
    METRE,
    WRITER,
    entity,
    item,
    quantity,
    snak,
    statement,
    time,
)


def _breakages() -> list[str]:
    """The document of a made-up item with one thing wrong."""
    good = entity(
        "Q1",
        statement(snak("P1", **time("+1952-03-11T00:00:00Z")), snak("P2", **quantity("+5", METRE))),
        statement(snak("P3", "monolingualtext", {"text": "x", "language": "en"})),
        statement(snak("P4", "globecoordinate", {"latitude": 1.5, "longitude": 2, "globe": EARTH})),
        statement(snak("P5", **item("Q2"))),
    )
    texts, wrong = [], [None, 5, "x y", [], [1], {"a": 1}, True]
    paths: list[tuple[Any, ...]] = [("id",), ("claims",), ("claims", "P1"), ("claims", "P1", 0)]
    paths += [("claims", "P1", 0, key) for key in ("mainsnak", "rank", "qualifiers")]
    paths += [("claims", "P1", 0, "mainsnak", key) for key in ("snaktype", "property", "datavalue")]
    for key, fields in {
        "P1": ("time", "precision", "calendarmodel", "before"),
        "P3": ("text", "language"),
        "P4": ("latitude", "longitude", "globe", "precision"),
        "P5": ("id",),
    }.items():
        paths += [("claims", key, 0, "mainsnak", "datavalue", "value", one) for one in fields]
        paths.append(("claims", key, 0, "mainsnak", "datavalue", "value"))
    paths += [("claims", "P1", 0, "qualifiers", "P2", 0, "datavalue", "value", key)
              for key in ("amount", "unit", "lowerBound")]  # fmt: skip
    for path in paths:
        for value in wrong:
            document = copy.deepcopy(good)
            place: Any = document
            for step in path[:-1]:
                place = place[step]
            place[path[-1]] = value
            texts.append(json.dumps(document))
    text = json.dumps(good)
    texts += [text[: len(text) * k // 12] for k in range(1, 12)]
    texts += [text[:-1] + ', "id": "Q1"}', text.replace("1.5", "NaN"), text.replace("1.5", "1e999"),
              text.replace("made up", "\\ud800"), text + text, "[]]", "nonsense", "5", "null",
              text.replace('"P5"', '"X5"'), "{}", '{"id": "Q1", "forms": 5}', "[5]"]  # fmt: skip
    return texts


def test_wrong_documents_are_named_by_their_line() -> None:
    good, count = json.dumps(entity("Q9", statement(snak("P1", **item("Q2"))))), 0
    for wrong in _breakages():
        if isinstance(read_or_refuse("wikidata", wrong.encode()), HKG):
            continue  # this change leaves a good document
        count += 1
        for before in (0, 2):
            lines = [*[good] * before, wrong, good]
            with pytest.raises(FormatError) as error:
                read_bytes("wikidata", "\n".join(lines).encode())
            assert error.value.line == before + 1, wrong
            dump = "[\n" + ",\n".join(lines) + "\n]"
            with pytest.raises(FormatError) as error:
                read_bytes("wikidata", dump.encode())
            assert error.value.line == before + 2, wrong
    assert count >= 60


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('{"entities": 5}', 1),
        ('{"success": 1}', 1),
        ("{\n", 1),
        ('{\n"entities": {\n"Q1": {"id": "Q1"},\n"Q1": {"id": "Q1"}}}', 4),
        ('{\n"entities": {\n"Q1": {"id": "Q1"},\n"Q2": {"id": "Q2", "id": "Q2"}}}', 4),
        ('{\n"entities": {\n"Q1": {"id": "Q1"},\n\n"Q2": {"id": 2}}}', 5),
        ('{\n"entities": {"Q1": {"id": "Q1"}}}\nx', 3),
        ('{\n"entities": {"Q1": {"id": "Q1"}}\n', 2),
        ('{\n"entities": {"Q1":\n' + "[" * 5000 + "}}", 3),
        ('{\n"entities": {"Q1":\n{"id": ' + "9" * 5000 + "}}}", 3),
        ('[\n{"id": "Q1"},\n{"id": "Q2"}', 3),
        ('[\n{"id": "Q1"}\n]\n{"id": "Q2"}', 4),
        ('{"id": "Q1"},\n{"id": "Q2"},,', 2),
        ('{"id": "Q1"}\n]', 2),
        ('{"id": "Q1"}\n\n{"id": "Q2"}', 2),
    ],
)
def test_wrong_layouts_are_named_by_their_line(text: str, line: int) -> None:
    with pytest.raises(FormatError) as error:
        read_bytes("wikidata", text.encode())
    assert error.value.line == line


def test_every_prefix_is_read_or_refused() -> None:
    lines = [json.dumps(WRITER, ensure_ascii=False)] * 2
    document = json.dumps({"entities": {"Q4200": WRITER}}, indent=1)
    for text in ("\n".join(lines), "[\n" + ",\n".join(lines) + "\n]", document):
        data = text.encode()[:5000]
        for end in range(len(data)):
            found = read_or_refuse("wikidata", data[:end])
            if not isinstance(found, HKG):
                assert isinstance(found, FormatError)
                assert found.line is not None
                assert found.line <= data[:end].count(b"\n") + 1
