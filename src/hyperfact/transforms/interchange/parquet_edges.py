"""Parquet files: `nodes.parquet`, `relations.parquet`, `triples.parquet`.

Keeps everything. Texts that hold NUL or half of a surrogate pair are refused.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from hyperfact.errors import FormatError, NotWritableError, StorageError
from hyperfact.graph.ragged import Array
from hyperfact.system.tables import database
from hyperfact.transforms.interchange.edge_table import Label, Node, Tables, as_triples, names_of
from hyperfact.transforms.interchange.folders import read_about, write_about

_TRIPLES = {"source": "BIGINT", "relation": "BIGINT", "target": "BIGINT"}
_NODES = {"type": "VARCHAR", "name": "VARCHAR"}
_LABELS = {"role": "VARCHAR", "type": "VARCHAR", "name": "VARCHAR"}


def write_parquet(tables: Tables, folder: Path) -> None:
    """Write the three files; the number of a node or relation is its row."""
    for name in names_of(tables):
        if "\0" in name or any("\ud800" <= char <= "\udfff" for char in name):
            raise NotWritableError(f"the name {name!r} holds what Parquet text cannot hold")
    write_about(folder, tables)
    _write(folder / "nodes.parquet", _NODES, _columns(tables.nodes, 2))
    _write(folder / "relations.parquet", _LABELS, _columns(tables.labels, 3))
    _write(folder / "triples.parquet", _TRIPLES, list(tables.triples.T))


def read_parquet(folder: Path) -> Tables:
    """Read them back."""
    transformation, mode = read_about(folder)
    nodes = zip(*_read(folder / "nodes.parquet", _NODES), strict=True)
    labels = zip(*_read(folder / "relations.parquet", _LABELS), strict=True)
    triples = as_triples(_read(folder / "triples.parquet", _TRIPLES))
    return Tables(
        tuple(Node(*row) for row in nodes),
        tuple(Label(*row) for row in labels),
        triples,
        transformation,
        mode,
    )


def _columns(rows: Sequence[tuple[str, ...]], width: int) -> list[Array]:
    return [np.array([row[i] for row in rows], dtype=object) for i in range(width)]


def _write(path: Path, schema: Mapping[str, str], columns: Sequence[Array]) -> None:
    fields = ", ".join(f'c{i}::{kind} AS "{n}"' for i, (n, kind) in enumerate(schema.items()))
    with database(lambda why: StorageError(f"{path}: cannot be written ({why})"), threads=1) as db:
        db.register("t", {f"c{i}": np.ascontiguousarray(c) for i, c in enumerate(columns)})
        name = str(path).replace("'", "''")
        db.execute(f"COPY (SELECT {fields} FROM t) TO '{name}' (FORMAT parquet, COMPRESSION zstd)")


def _read(path: Path, schema: Mapping[str, str]) -> list[Array]:
    with database(lambda why: FormatError(path, None, f"not a usable Parquet file ({why})")) as db:
        db.execute("SET VARIABLE path = ?", [str(path)])
        table = "read_parquet(getvariable('path'))"
        described = f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {table})"
        found = dict(db.execute(described).fetchall())
        if found != dict(schema):
            raise FormatError(path, None, f"expected the columns {dict(schema)}, got {found}")
        data = db.execute(f"SELECT * FROM {table}").fetchnumpy()
    if any(np.ma.getmaskarray(data[name]).any() for name in schema):
        raise FormatError(path, None, "a field is empty (NULL)")
    return [np.asarray(data[name]) for name in schema]
