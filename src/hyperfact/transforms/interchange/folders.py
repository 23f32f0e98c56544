"""Helpers of the formats that are folders: rows of text, and a note on how the graph was made."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hyperfact.errors import FormatError
from hyperfact.graph.ragged import Array
from hyperfact.system.source import Source
from hyperfact.system.writing import write_lines
from hyperfact.transforms.interchange.edge_table import Tables

ABOUT = "hyperfact.json"
_FORMAT = "hyperfact kg 1"


def write_about(folder: Path, tables: Tables) -> None:
    """The transformation and mode, which no other file of the folder says."""
    about = {"format": _FORMAT, "transformation": tables.transformation, "mode": tables.mode}
    write_lines(folder / ABOUT, iter([json.dumps(about, indent=2)]))


def read_about(folder: Path) -> tuple[str, str | None]:
    """Transformation and mode."""
    path = folder / ABOUT
    try:
        about: Any = json.loads(Source(path).text())
    except ValueError as error:
        raise FormatError(path, None, f"not JSON ({error})") from None
    if not isinstance(about, dict) or about.get("format") != _FORMAT:
        raise FormatError(path, None, f'expected "format": "{_FORMAT}"')
    transformation, mode = about.get("transformation"), about.get("mode")
    if not isinstance(transformation, str) or not isinstance(mode, str | None):
        raise FormatError(path, None, "transformation and mode must be text")
    return transformation, mode


def write_rows(path: Path, rows: Iterable[Iterable[object]]) -> None:
    """Tab-separated fields, a row a line."""
    write_lines(path, ("\t".join(map(str, row)) for row in rows))


def read_rows(path: Path, *, fields: int) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of each line."""
    for number, line in Source(path).lines():
        row = line.split("\t")
        if len(row) != fields:
            raise FormatError(path, number, f"expected {fields} fields, got {len(row)}")
        yield number, row


def read_triples(path: Path) -> Array:
    """Three whole numbers a line."""  # (edges, 3)
    rows: list[list[int]] = []
    for number, row in read_rows(path, fields=3):
        if not all(field.isascii() and field.isdigit() for field in row):
            raise FormatError(path, number, f"expected three numbers, got {row!r}")
        rows.append([int(field) for field in row])
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def check_number(path: Path, line: int, field: str, expected: int) -> None:
    """Ids must count up from 0."""
    if field != str(expected):
        raise FormatError(path, line, f"expected the id {expected}, got {field!r}")


def quote_cell(name: str) -> str:
    """Any name in one field: JSON text, escaped where it could be misread or not be seen."""
    return json.dumps(name, ensure_ascii=not name.isprintable())


def unquote_cell(path: Path, line: int, cell: str) -> str:
    """The name in a field."""
    try:
        name = json.loads(cell)
    except ValueError:
        name = None
    if not isinstance(name, str):
        raise FormatError(path, line, f"expected a name in JSON quotes, got {cell[:80]!r}")
    return name
