"""HIF, the Hypergraph Interchange Format: an edge is a fact, its incidences have roles.

An edge has its relation in `attrs`; an incidence has `attrs` with the role `subject`, `object` or
`value` (then with its `attribute`). Any other role is an attribute by itself, and without roles the
one tail of an edge is its subject and the one head its object. Other hypergraphs are no facts.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats.format import Format, labelled_rows, line_writer
from hyperfact.data.formats.json_document import walk
from hyperfact.errors import FormatError
from hyperfact.graph import reserved
from hyperfact.graph.facts import Derived, Literal
from hyperfact.graph.hkg import HKG
from hyperfact.system.source import Fault, Source

_LISTS = frozenset({"incidences", "edges", "nodes"})
_NETWORKS = ("directed", "undirected", "asc")
_START = re.compile(r'\s*\{.*"(?:incidences|network-type)"\s*:', re.DOTALL)
_NO_ROLE = (
    "an incidence without a role: give it attrs with the role subject, object or value, "
    "or the direction tail or head"
)
_Id = tuple[bool, str]  # whether it is a number, and its text


@dataclass
class _Edge:
    """A fact as far as it has been read."""

    line: int
    relation: str | None = None
    ends: dict[str, str] = field(default_factory=dict)  # subject and object
    attributes: list[str] = field(default_factory=list)
    values: list[str] = field(default_factory=list)


class _Reader:
    def __init__(self, builder: FactBuilder):
        self._builder = builder
        self.edges: dict[_Id, _Edge] = {}
        self._numbers: dict[str, bool] = {}
        self._listed: dict[str, set[_Id]] = {"nodes": set(), "edges": set()}
        self.weights = 0

    def member(self, key: str, name: str, value: Any, line: int) -> None:
        """One incidence, edge or node, or a setting of the document."""
        if key in _LISTS:
            if name or not isinstance(value, dict):
                raise Fault(f"{key!r} must be a list of objects")
            self._record(key, value, line)
        elif key == "network-type":
            if value not in _NETWORKS:
                raise Fault(f"the network-type must be one of {', '.join(_NETWORKS)}")
        elif key != "metadata":
            raise Fault(f"the key {key!r} is unknown")

    def _record(self, key: str, row: dict[str, Any], line: int) -> None:
        weight = row.get("weight", 1)
        if isinstance(weight, bool) or not isinstance(weight, int | float):
            raise Fault("a weight must be a number")
        self.weights += weight != 1
        attrs = row.get("attrs", row.get("attr", {}))
        if not isinstance(attrs, dict):
            raise Fault("attrs must be an object")
        if key == "nodes":
            self._once(key, _id(row, "node"))
        elif key == "edges":
            name = _id(row, "edge")
            self._once(key, name)
            edge = self.edges.setdefault(name, _Edge(line))
            edge.relation = reserved.relation_of(_text(attrs, "relation"))
        else:
            self._incidence(row, attrs, self.edges.setdefault(_id(row, "edge"), _Edge(line)))

    def _once(self, key: str, name: _Id) -> None:
        if name in self._listed[key]:
            raise Fault(f"{name[1]!r} stands twice in {key!r}")
        self._listed[key].add(name)

    def _incidence(self, row: dict[str, Any], attrs: dict[str, Any], edge: _Edge) -> None:
        direction = row.get("direction")
        if direction not in (None, "head", "tail"):
            raise Fault(f"the direction must be head or tail, got {direction!r}"[:200])
        entity = self._entity(_id(row, "node"))
        role = _text(attrs, "role") if "role" in attrs else None
        if role is None:
            if direction is None:
                raise Fault(_NO_ROLE)
            role = "subject" if direction == "tail" else "object"
        if role in ("subject", "object"):
            if role in edge.ends:
                raise Fault(f"an edge with two incidences in the role of {role}")
            edge.ends[role] = entity
            return
        attribute = _text(attrs, "attribute") if role == "value" else role
        edge.attributes.append(reserved.relation_of(attribute))
        edge.values.append(entity)

    def _entity(self, name: _Id) -> str:
        number, text = name
        if self._numbers.setdefault(text, number) != number:
            raise Fault(f"the node {text} is a number in one place and a string in another")
        entity = text if number else reserved.entity_of(text)
        if isinstance(entity, Literal):
            self._builder.entities[entity]  # a literal meets the policy for literals here
        return entity


def _id(row: dict[str, Any], key: str) -> _Id:
    found = row.get(key)
    if isinstance(found, bool) or not isinstance(found, int | str):
        raise Fault(f"{key!r} must be a string or an integer, got {json.dumps(found)[:80]}")
    return isinstance(found, int), str(found)


def _text(attrs: dict[str, Any], key: str) -> str:
    found = attrs.get(key)
    if not isinstance(found, str):
        raise Fault(f"expected the {key} in attrs, a string, got {json.dumps(found)[:80]}")
    return found


def _read(source: Source, builder: FactBuilder) -> None:
    reader = _Reader(builder)
    if "incidences" not in walk(source, reader.member, inside=_LISTS):
        raise FormatError(source.path, 1, "the document has no 'incidences'")
    for edge in reader.edges.values():
        missing = [end for end in ("subject", "object") if end not in edge.ends]
        if edge.relation is None or missing:
            reason = f"an edge without {missing[0]}" if missing else "an edge without a relation"
            raise FormatError(source.path, edge.line, f"{reason} is no fact; see attrs and roles")
        subject, obj = edge.ends["subject"], edge.ends["object"]
        builder.add(subject, edge.relation, obj, edge.attributes, edge.values)
    if reader.weights:
        builder.warn(f"{source.path}: {reader.weights:,} weights are not kept")


def _lines(graph: HKG) -> Iterator[str]:
    entities = [_entity_id(name) for name in graph.entities]
    relations = [_relation_text(name) for name in graph.relations]
    rows = list(labelled_rows(graph, entities, relations))
    yield '{"network-type": "directed",'
    yield '"metadata": {"written by": "hyperfact"},'
    yield '"edges": ['
    yield from _joined(f'{{"edge": {i}, "attrs": {{"relation": {r}}}}}' for i, (_, r, *_) in
                       enumerate(rows))  # fmt: skip
    yield '],\n"incidences": ['
    yield from _joined(
        incidence for i, (s, _, o, pairs) in enumerate(rows) for incidence in _ends(i, s, o, pairs)
    )
    yield "]}"


def _ends(edge: int, s: str, o: str, pairs: list[tuple[str, str]]) -> Iterator[str]:
    head = f'{{"edge": {edge}, "node": '
    yield f'{head}{s}, "direction": "tail", "attrs": {{"role": "subject"}}}}'
    yield f'{head}{o}, "direction": "head", "attrs": {{"role": "object"}}}}'
    for a, v in pairs:
        attrs = f'{{"role": "value", "attribute": {a}}}'
        yield f'{head}{v}, "direction": "head", "attrs": {attrs}}}'


def _joined(items: Iterator[str]) -> Iterator[str]:
    """Items of a list, a comma behind each but the last."""
    last = next(items, None)
    for item in items:
        yield f"{last},"
        last = item
    if last is not None:
        yield last


def _entity_id(name: str) -> str:
    reserved.check_text(name)
    if isinstance(name, Literal):
        return json.dumps(reserved.reserve(reserved.LITERAL, name))
    text = reserved.reserve(reserved.NAME, name) if name.startswith(reserved.PREFIX) else str(name)
    return json.dumps(text, ensure_ascii=False)


def _relation_text(name: str) -> str:
    reserved.check_text(name)
    if isinstance(name, Derived):
        return json.dumps(reserved.reserve(reserved.DERIVED, name))
    text = reserved.reserve(reserved.NAME, name) if name.startswith(reserved.PREFIX) else str(name)
    return json.dumps(text, ensure_ascii=False)


HIF = Format(
    "hif",
    "HIF hypergraph JSON: an edge a fact, incidences with roles",
    ".hif",
    lambda source: bool(_START.match("\n".join(source.sample[:50])[:20_000])),
    _read,
    line_writer(_lines),
    typed=True,
)
