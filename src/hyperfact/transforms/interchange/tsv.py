"""Triples as tab-separated numbers, with id maps: `triples.tsv`, `nodes.tsv`, `relations.tsv`.

Keeps everything: vocabularies with their order and unused names, kinds, mediators and mode.
"""

from pathlib import Path

from hyperfact.transforms.interchange.edge_table import Label, Node, Tables
from hyperfact.transforms.interchange.folders import (
    check_number,
    quote_cell,
    read_about,
    read_rows,
    read_triples,
    unquote_cell,
    write_about,
    write_rows,
)


def write_tsv(tables: Tables, folder: Path) -> None:
    """Write the four files."""
    write_about(folder, tables)
    write_rows(folder / "triples.tsv", tables.triples.tolist())
    nodes = ((i, n.type, quote_cell(n.name)) for i, n in enumerate(tables.nodes))
    write_rows(folder / "nodes.tsv", nodes)
    labels = ((i, x.role, x.type, quote_cell(x.name)) for i, x in enumerate(tables.labels))
    write_rows(folder / "relations.tsv", labels)


def read_tsv(folder: Path) -> Tables:
    """Read them back."""
    transformation, mode = read_about(folder)
    nodes: list[Node] = []
    path = folder / "nodes.tsv"
    for line, (number, type_, cell) in read_rows(path, fields=3):
        check_number(path, line, number, len(nodes))
        nodes.append(Node(type_, unquote_cell(path, line, cell)))
    labels: list[Label] = []
    path = folder / "relations.tsv"
    for line, (number, role, type_, cell) in read_rows(path, fields=4):
        check_number(path, line, number, len(labels))
        labels.append(Label(role, type_, unquote_cell(path, line, cell)))
    triples = read_triples(folder / "triples.tsv")
    return Tables(tuple(nodes), tuple(labels), triples, transformation, mode)
