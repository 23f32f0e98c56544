"""Wikidata's JSON entity documents: statements with qualifiers, streamed entity by entity.

A dump (an array with an entity on each line), an entity a line, or one document `{"entities": …}`.
Deprecated statements, values that are unknown or said not to exist, and values of unknown types are
left out and counted; references and sitelinks are not facts, labels tell how names are shown.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats.format import Format, line_writer
from hyperfact.data.formats.json_document import walk
from hyperfact.data.formats.json_rows import strict_json
from hyperfact.data.formats.wikidata_statements import NOTES, Statements
from hyperfact.data.formats.wikidata_values import KINDS, PROPERTY, value_of
from hyperfact.errors import FormatError, NotWritableError
from hyperfact.graph.facts import Derived, Literal
from hyperfact.graph.hkg import HKG
from hyperfact.graph.reserved import check_text
from hyperfact.system.source import Fault, Source, each_line

_DOCUMENT = re.compile(r'\s*\{\s*(?:"(?:entities|success)"\s*:.*)?', re.DOTALL)
_ENTITIES = re.compile(r'\s*\{\s*(?:"success"\s*:\s*1\s*,\s*)?"entities"\s*:\s*\{')
_TYPE = re.compile(r'[{,]\s*"type"\s*:\s*"(?:item|property|lexeme|form|sense|mediainfo)"')
_ID = re.compile(r'[{,]\s*"id"\s*:\s*"[QPLM][1-9]')


def _read(source: Source, builder: FactBuilder) -> None:
    reader = Statements(builder.add, builder.labels)
    if source.sample and _DOCUMENT.fullmatch(source.sample[0]):
        _read_document(source, reader)
    else:
        _read_lines(source, reader)
    for key, count in reader.left_out.items():
        builder.warn(f"{source.path}: {count:,} {NOTES[key]}")


def _read_document(source: Source, reader: Statements) -> None:
    def handle(key: str, _name: str, value: Any, _line: int) -> None:
        if key == "entities":
            reader.entity(value)

    if "entities" not in walk(source, handle, inside=frozenset({"entities"})):
        raise FormatError(source.path, 1, "the document has no 'entities'")


def _read_lines(source: Source, reader: Statements) -> None:
    state = {"open": False, "closed": False, "first": True}

    def handle(line: str) -> None:
        text = line.strip(" \t\r")
        first, state["first"] = state["first"], False
        if state["closed"]:
            raise Fault("text behind the closing bracket")
        if text == "[" and first:
            state["open"] = True
        elif text == "]" and state["open"]:
            state["closed"] = True
        else:
            value = strict_json(text.removesuffix(","))
            for entity in value if isinstance(value, list) else [value]:
                reader.entity(entity)

    each_line(source, handle)
    if state["open"] and not state["closed"]:
        last = sum(1 for _ in source.lines())
        raise FormatError(source.path, last, "the file is cut off: its bracket is not closed")


def _lines(graph: HKG) -> Iterator[str]:
    """A document for each subject, its statements by property."""
    values = [_checked_value(name) for name in graph.entities]
    _check_relations(graph.relations)
    c = graph.columns
    order = np.argsort(c.subject, kind="stable")
    ends, attributes, pair_values = c.offsets.tolist(), c.attributes.tolist(), c.values.tolist()
    document: dict[str, Any] = {}
    for row in order.tolist():
        subject, relation = graph.entities[c.subject[row]], graph.relations[c.relation[row]]
        if document.get("id") != subject:
            if document:
                yield json.dumps(document, ensure_ascii=False)
            document = _document(subject)
        statement: dict[str, Any] = {
            "mainsnak": _snak(relation, values[c.object[row]]),
            "type": "statement",
            "rank": "normal",
        }
        for k in range(ends[row], ends[row + 1]):
            attribute = graph.relations[attributes[k]]
            group = statement.setdefault("qualifiers", {}).setdefault(attribute, [])
            group.append(_snak(attribute, values[pair_values[k]]))
        document["claims"].setdefault(relation, []).append(statement)
    if document:
        yield json.dumps(document, ensure_ascii=False)


def _document(subject: str) -> dict[str, Any]:
    if isinstance(subject, Literal):
        raise NotWritableError(f"wikidata cannot hold facts about the literal {str(subject)!r}")
    kind = {"F": "form", "S": "sense"}.get(subject.partition("-")[2][:1]) or KINDS[subject[0]]
    return {"type": kind, "id": subject, "claims": {}}


def _snak(relation: str, value: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    datatype, datavalue = value
    return {
        "snaktype": "value",
        "property": relation,
        "datavalue": datavalue,
        "datatype": datatype,
    }


def _checked_value(name: str) -> tuple[str, dict[str, Any]]:
    check_text(name)
    value = value_of(name)
    if value is None:
        what = "literal" if isinstance(name, Literal) else "id of an entity like Q42"
        raise NotWritableError(f"wikidata has no {what} {str(name)!r}; jsonl holds every name")
    return value


def _check_relations(names: Iterable[str]) -> None:
    for name in names:
        if isinstance(name, Derived) or not PROPERTY.fullmatch(name):
            raise NotWritableError(
                f"wikidata has no property {str(name)!r}; an id is like P31; jsonl holds every name"
            )


def _recognises(source: Source) -> bool:
    lines = source.sample
    if lines and lines[0].strip() == "[":
        lines = lines[1:]
    start = "".join(lines[:20])[:2000]
    return bool(_ENTITIES.match(start) or (_TYPE.search(start) and _ID.search(start)))


WIKIDATA = Format(
    "wikidata",
    "Wikidata's JSON entity documents: statements with qualifiers",
    ".json",
    _recognises,
    _read,
    line_writer(_lines),
    typed=True,
)
