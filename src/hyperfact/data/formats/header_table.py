"""Tables with a header: CSV and TSV, also KGX edges and Neo4j relationships.

One row is one fact. Which column is what stands in the header (`subject,relation,object,…`), or is
said by the reader of the file (`subject=person, relation=:worked at, object=company`).
"""

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from pathlib import Path

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats.format import Format, labelled_rows, plain_names
from hyperfact.data.formats.headers import (
    ROLES,
    Layout,
    asked_columns,
    known_layout,
    names_its_columns,
)
from hyperfact.errors import FormatError
from hyperfact.graph.hkg import HKG
from hyperfact.system.source import Fault, Source
from hyperfact.system.writing import write_lines

_DELIMITERS = (",", ";", "\t", "|")
_QUOTED = re.compile(r'(?:^|[,;\t|]) ?"(?:[^"]|"")*"(?:[,;\t|]|$)')
_ENDINGS = (".csv", ".tsv")


def with_columns(columns: str | Mapping[str, str]) -> Format:
    """The format `table` for a file in which these columns are subject, relation, object, …."""
    asked = asked_columns(columns)
    return replace(TABLE, read=lambda source, builder: _read(source, builder, asked))


def header_in_doubt(source: Source) -> list[str] | None:
    """The columns of a file that may be a table, although its header has names of its own.

    It may be if its first row is quoted, or if its name or quotes further down speak for it, all
    rows have one width, and no column repeats what stands in the first row. Benchmarks have quoted
    numbers in rows of bare fields, so quotes alone do not decide.
    """
    rows = _sample_rows(source)
    if not rows or len(rows[0]) < 2:
        return None
    named = source.suffix in _ENDINGS
    quoted = any(_QUOTED.search(line) for line in source.sample[:50])
    if _QUOTED.search(source.sample[0]) or (named and quoted):
        return rows[0]
    even = len(rows) > 1 and len({len(row) for row in rows}) == 1
    return rows[0] if (named or quoted) and even and not _repeats(rows[0], rows[1:]) else None


def _repeats(first: Sequence[str], rest: Sequence[Sequence[str]]) -> bool:
    return any(cell == row[i] for row in rest for i, cell in enumerate(first))


# -- reading ---------------------------------------------------------------------------------------


def _read(source: Source, builder: FactBuilder, asked: Mapping[str, str] | None = None) -> None:
    rows = _rows(source)
    line, header = next(rows, (1, []))
    try:
        layout = Layout.of(header, asked) if asked else known_layout(header)
    except Fault as fault:
        raise FormatError(source.path, line, str(fault)) from None
    builder.tell(f"read {source.path} as table: {layout}")
    incomplete: list[int] = []
    for line, row in rows:
        try:
            _add(row, len(header), layout, builder)
        except Fault as fault:
            raise FormatError(source.path, line, str(fault)) from None
        except _Incomplete:
            incomplete.append(line)
    if incomplete:
        builder.warn(
            f"{source.path}: {len(incomplete):,} rows without subject, relation or object are left "
            f"out, the first in line {incomplete[0]}"
        )


class _Incomplete(Exception):  # noqa: N818 -- no error: such rows are counted
    """A row in which a part of the triple is empty."""


def _add(row: Sequence[str], width: int, layout: Layout, builder: FactBuilder) -> None:
    if len(row) != width:
        raise Fault(f"expected {width} cells as in the header, got {len(row)}")
    subject, relation, obj = (cell.text(row) for cell in layout.triple)
    if not (subject and relation and obj):
        raise _Incomplete
    pairs = [(name, text) for name, cell in layout.qualifiers for text in cell.texts(row)]
    builder.add(subject, relation, obj, [a for a, _ in pairs], [v for _, v in pairs])


def _rows(source: Source) -> Iterator[tuple[int, list[str]]]:
    """The line in which each row begins, and its cells; empty lines are passed over."""
    delimiter = _delimiter(source)
    lines = (f"{line}\n" for _, line in source.lines())
    first = next(lines, "")
    padded = 0 < first.count(delimiter) == first.count(f"{delimiter} ")
    reader = csv.reader(
        chain([first], lines), delimiter=delimiter, strict=True, skipinitialspace=padded
    )
    begin = 1
    try:
        for row in reader:
            if row:
                yield begin, row
            begin = reader.line_num + 1
    except csv.Error as error:
        raise FormatError(source.path, begin, f"the row cannot be read: {error}") from None


def _delimiter(source: Source) -> str:
    """What parts the cells: a known header is best, then rows of one width, then more columns."""

    def merit(delimiter: str) -> tuple[bool, bool, int]:
        rows = _parsed(source, delimiter)
        even = len({len(row) for row in rows}) == 1 and len(rows[0]) > 1
        return names_its_columns(rows[0]), even, len(rows[0])

    return max(_DELIMITERS, key=merit) if source.sample else ","


def _sample_rows(source: Source) -> list[list[str]]:
    return _parsed(source, _delimiter(source)) if source.sample else []


def _parsed(source: Source, delimiter: str) -> list[list[str]]:
    """The first rows, as far as they can be read."""
    rows: list[list[str]] = []
    with suppress(csv.Error):  # reading will say what and where
        rows.extend(csv.reader((f"{line}\n" for line in source.sample[:200]), delimiter=delimiter))
    if len(source.sample) > 200:
        del rows[-1:]  # may be cut
    return [row for row in rows if row] or [[""]]


# -- writing ---------------------------------------------------------------------------------------


def _write(graph: HKG, path: Path) -> None:
    delimiter = "\t" if Source(path).suffix == ".tsv" else ","
    write_lines(path, _lines(graph, delimiter))


def _lines(graph: HKG, delimiter: str) -> Iterator[str]:
    """A header, and a row for each fact; an attribute that a fact repeats has several columns."""
    entities = plain_names(graph.entities, forbidden="\r", title="table")
    relations = plain_names(graph.relations, forbidden="\r", title="table")
    widths: dict[str, int] = {}
    for *_, pairs in labelled_rows(graph, entities, relations):
        names = [a for a, _ in pairs]
        widths.update((a, max(names.count(a), widths.get(a, 0))) for a in names)
    columns = [name for name, width in widths.items() for _ in range(width)]
    yield _line([*ROLES, *columns], delimiter)
    for s, r, o, pairs in labelled_rows(graph, entities, relations):
        cells: dict[str, list[str]] = {}
        for a, v in reversed(pairs):
            cells.setdefault(a, []).append(v)
        rest = [cells[a].pop() if cells.get(a) else "" for a in columns]
        yield _line([s, r, o, *rest], delimiter)


def _line(cells: Sequence[str], delimiter: str) -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerow(cells)
    return text.getvalue().removesuffix("\n")


def _recognises(source: Source) -> bool:
    rows = _sample_rows(source)
    return bool(rows) and names_its_columns(rows[0])


TABLE = Format(
    "table",
    "CSV or TSV with a header; also KGX edges and Neo4j relationships",
    ".csv",
    _recognises,
    _read,
    _write,
)
