"""CSV files for `neo4j-admin database import`: `nodes.csv`, `relationships.csv`, `relations.csv`.

Keeps everything: `relations.csv` holds the relation map, also of unused relations, as nodes of the
label Relation. Names that hold a line break need the option `--multiline-fields=true`.
"""

import csv
import io
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from hyperfact.errors import FormatError, NotWritableError
from hyperfact.graph.reserved import check_text
from hyperfact.system.source import Source
from hyperfact.transforms.interchange.edge_table import Label, Node, Tables, names_of
from hyperfact.transforms.interchange.folders import check_number, read_about, write_about
from hyperfact.transforms.interchange.identifiers import label_identifier

_NODES = ("id:ID", "type", "name", ":LABEL")
_EDGES = (":START_ID", ":END_ID", ":TYPE", "label:int")
_RELATIONS = ("id:ID(relation)", "role", "type", "name", ":LABEL")
_LONGEST = 131_072  # characters; what Python's and other readers of CSV take in one field


def write_neo4j(tables: Tables, folder: Path) -> None:
    """Write the four files."""
    write_about(folder, tables)
    for name in names_of(tables):
        check_text(name)
        if len(name) > _LONGEST or "\0" in name:
            raise NotWritableError(f"the name {name[:40]!r}… is too long or holds NUL for CSV")
    nodes = ((i, n.type, n.name, n.type.capitalize()) for i, n in enumerate(tables.nodes))
    _write(folder / "nodes.csv", _NODES, nodes)
    types = [label_identifier(label) for label in tables.labels]
    edges = ((s, o, types[r], r) for s, r, o in tables.triples.tolist())
    _write(folder / "relationships.csv", _EDGES, edges)
    labels = ((i, x.role, x.type, x.name, "Relation") for i, x in enumerate(tables.labels))
    _write(folder / "relations.csv", _RELATIONS, labels)


def read_neo4j(folder: Path) -> Tables:
    """Read them back."""
    transformation, mode = read_about(folder)
    nodes: list[Node] = []
    for line, (number, type_, name, _) in _read(folder / "nodes.csv", _NODES):
        check_number(folder / "nodes.csv", line, number, len(nodes))
        nodes.append(Node(type_, name))
    labels: list[Label] = []
    for line, (number, role, type_, name, _) in _read(folder / "relations.csv", _RELATIONS):
        check_number(folder / "relations.csv", line, number, len(labels))
        labels.append(Label(role, type_, name))
    path = folder / "relationships.csv"
    triples: list[tuple[int, int, int]] = []
    for line, (source, target, _, label) in _read(path, _EDGES):
        if not all(field.isascii() and field.isdigit() for field in (source, target, label)):
            raise FormatError(path, line, "start, end and label must be numbers")
        triples.append((int(source), int(label), int(target)))
    edges = np.array(triples, dtype=np.int64).reshape(-1, 3)
    return Tables(tuple(nodes), tuple(labels), edges, transformation, mode)


def _write(path: Path, header: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerow(header)
        # Every text is quoted: a bare carriage return, for one, would end a row.
        writer = csv.writer(stream, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
        writer.writerows(rows)


def _read(path: Path, header: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    with Source(path).open() as raw:
        text = raw.read()
    try:
        reader = csv.reader(io.StringIO(text.decode(), newline=""), strict=True)
        for row in reader:
            if reader.line_num == 1 and tuple(row) != header:
                raise FormatError(path, 1, f"expected the columns {', '.join(header)}")
            if len(row) != len(header):
                reason = f"expected {len(header)} fields, got {len(row)}"
                raise FormatError(path, reader.line_num, reason)
            if reader.line_num > 1:
                yield reader.line_num, row
    except (csv.Error, UnicodeDecodeError) as error:
        raise FormatError(path, None, f"not CSV in UTF-8 ({error})") from None
