"""KGTK edge tables: `node1 label node2 id` by tab; edges whose node1 is an edge are its qualifiers.

Edges may stand in any order, so they are kept as columns of ids until the end of the file.
"""

import re
from array import array
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats.format import Format, labelled_rows, line_writer
from hyperfact.data.formats.kgtk_values import (
    entity_field,
    entity_of,
    has_list,
    relation_field,
    relation_of,
)
from hyperfact.errors import FormatError
from hyperfact.graph.facts import Literal
from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Ids, offsets_of
from hyperfact.system.source import Fault, Source

_HEADER = ("node1", "label", "node2", "id")
_ALIASES = {
    "from": "node1",
    "subject": "node1",
    "to": "node2",
    "object": "node2",
    "predicate": "label",
    "relation": "label",
    "relationship": "label",
    "ID": "id",
}


#: Columns that say what the node or the label beside them is called, and what names that one.
_LABELS = {"node1;label": ("node1", entity_of), "node2;label": ("node2", entity_of),
           "label;label": ("label", relation_of)}  # fmt: skip


class _Fields(dict[str, int]):
    """The ids of names by the fields that mean them."""

    def __init__(self, name_of: Callable[[str], str], meet: Callable[[str], object]):
        super().__init__()
        self.names: dict[str, int] = {}
        self._name_of, self._meet = name_of, meet

    def __missing__(self, field: str) -> int:
        if has_list(field):
            raise Fault(f"the list {field[:80]!r}; an edge has one value in each column")
        name = self._name_of(field)
        self._meet(name)
        found = self[field] = self.names.setdefault(name, len(self.names))
        return found


class _Edges:
    """The edges of one file."""

    def __init__(self, builder: FactBuilder):
        self._builder = builder
        self.entities = _Fields(entity_of, self._meet)
        self.relations = _Fields(relation_of, self._meet)
        self._s, self._r, self._o = array("i"), array("i"), array("i")
        self._line = array("q")
        self._ids: dict[str, int] = {}
        self.incomplete = self.repeated = 0

    def _meet(self, name: str) -> None:
        """A literal meets the policy for literals where it is first read."""
        if isinstance(name, Literal):
            self._builder.entities[name]

    def add(self, node1: str, label: str, node2: str, name: str, *, line: int) -> None:
        """One edge by its fields; the id may be empty."""
        if not node1 or not node2:
            self.incomplete += 1
            return
        if not label:
            raise Fault("the label is empty")
        edge = self.entities[node1], self.relations[label], self.entities[node2]
        if name:
            row = self._ids.setdefault(entity_of(name), len(self._s))
            if row != len(self._s):
                if edge != (self._s[row], self._r[row], self._o[row]):
                    raise Fault(f"the id {name[:80]!r} belongs to the edge of line "
                                f"{self._line[row]} already")  # fmt: skip
                self.repeated += 1
                return
        for column, value in zip((self._s, self._r, self._o), edge, strict=True):
            column.append(value)
        self._line.append(line)

    def finish(self, source: Source) -> None:
        """Give the facts to the builder; edges of edges are their qualifiers."""
        s, r, o = _ids(self._s), _ids(self._r), _ids(self._o)
        edge = np.full(len(self.entities.names) + 1, -1, dtype=np.int64)  # the row of an edge's id
        for name, row in self._ids.items():
            edge[self.entities.names.get(name, -1)] = row
        edge[-1] = -1
        owner = edge[s]
        pairs = np.flatnonzero(owner >= 0)
        nested = pairs[owner[owner[pairs]] >= 0]
        if len(nested):
            line = self._line[int(nested[0])]
            raise FormatError(source.path, line, "a qualifier of a qualifier is no fact")
        facts = np.flatnonzero(owner < 0)
        pairs = pairs[np.argsort(owner[pairs], kind="stable")]
        counts = np.bincount(owner[pairs], minlength=len(s))[facts]
        self._warn(source, int((edge[o] >= 0).sum()))
        self._builder.add_ids(
            list(self.entities.names),
            list(self.relations.names),
            s[facts],
            r[facts],
            o[facts],
            offsets_of(counts),
            r[pairs],
            o[pairs],
        )

    def _warn(self, source: Source, pointers: int) -> None:
        for count, text in (
            (self.incomplete, "lines without node1 or node2 are left out"),
            (self.repeated, "edges repeat an earlier one with the same id"),
            (pointers, "edges point at an edge, whose id is kept as an entity"),
        ):
            if count:
                self._builder.warn(f"{source.path}: {count:,} {text}")


def _ids(values: "array[int]") -> Ids:
    return np.frombuffer(values, dtype=np.int32) if len(values) else np.zeros(0, dtype=np.int32)


def _read(source: Source, builder: FactBuilder) -> None:
    edges, number = _Edges(builder), 0
    places: list[int] = []
    labels: list[tuple[int, int, Callable[[str], str]]] = []
    width = 0
    try:
        for number, line in source.lines():
            if not places:
                width, places = line.count("\t") + 1, _places(line)
                labels = _label_places(line, places)
                _warn_columns(source, builder, line)
            elif line[:1] != "#" and line.strip():
                fields = line.split("\t")
                if len(fields) != width:
                    raise Fault(f"expected {width} columns, got {len(fields)}")
                fields.append("")  # the id of a table without ids
                n1, label, n2, name = (fields[place] for place in places)
                edges.add(n1, label, n2, name, line=number)
                for place, owner, name_of in labels:
                    _add_label(builder, fields[owner] and name_of(fields[owner]), fields[place])
    except Fault as fault:
        raise FormatError(source.path, number, str(fault)) from None
    if not places:
        raise FormatError(source.path, 1, "expected a header with node1, label and node2")
    edges.finish(source)


def _places(header: str) -> list[int]:
    """Where node1, label, node2 and id stand; a table without ids has it behind the last."""
    columns = [_ALIASES.get(column, column) for column in header.split("\t")]
    for column in (*_HEADER, *columns):
        if columns.count(column) > 1:
            raise Fault(f"the column {column!r} stands twice")
    if "" in columns:
        raise Fault("a column without a name")
    missing = [column for column in _HEADER[:3] if column not in columns]
    if missing:
        raise Fault(f"expected a header with node1, label and node2; {missing[0]} is missing")
    return [columns.index(column) if column in columns else len(columns) for column in _HEADER]


def _label_places(
    header: str, places: Sequence[int]
) -> list[tuple[int, int, Callable[[str], str]]]:
    """Where labels stand, whose they are, and how the field of that one is a name."""
    owners = dict(zip(_HEADER, places, strict=True))
    return [
        (place, owners[_LABELS[column][0]], _LABELS[column][1])
        for place, column in enumerate(header.split("\t"))
        if column in _LABELS
    ]


def _add_label(builder: FactBuilder, name: str, field: str) -> None:
    """The first of the texts that a field lists for a name; a symbol is a label as it stands."""
    first = re.split(r"(?<!\\)\|", field, maxsplit=1)[0]
    if name and first:
        text = entity_of(first)
        if isinstance(text, Literal):
            builder.labels.add_literal(name, text)
        else:
            builder.labels.add(name, text)


def _warn_columns(source: Source, builder: FactBuilder, header: str) -> None:
    further = [c for c in header.split("\t") if _ALIASES.get(c, c) not in (*_HEADER, *_LABELS)]
    if further:
        count = f"{len(further)} further column{'s' if len(further) > 1 else ''}"
        builder.warn(f"{source.path}: {count} ({', '.join(further)[:200]}) not read")


def _lines(graph: HKG) -> Iterator[str]:
    entities = [entity_field(name) for name in graph.entities]
    relations = [relation_field(name) for name in graph.relations]
    prefix = "fact"
    while any(f[: len(prefix)] == prefix and f[len(prefix) :].isdecimal() for f in entities):
        prefix += "_"
    yield "\t".join(_HEADER)
    for number, (s, r, o, pairs) in enumerate(labelled_rows(graph, entities, relations)):
        name = f"{prefix}{number}" if pairs else ""
        yield f"{s}\t{r}\t{o}\t{name}"
        for a, v in pairs:
            yield f"{name}\t{a}\t{v}\t"


def _recognises(source: Source) -> bool:
    columns = source.sample[0].split("\t") if source.sample else []
    return all(column in columns for column in _HEADER[:3])


KGTK = Format(
    "kgtk",
    "KGTK edge table: node1, label, node2, id; edges of edges are qualifiers",
    ".kgtk",
    _recognises,
    _read,
    line_writer(_lines),
    typed=True,
)
