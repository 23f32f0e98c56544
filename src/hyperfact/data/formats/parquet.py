"""Parquet: one row a fact (subject, relation, object, attributes, values), read by DuckDB.

Strings stay as they are, so that any tool can use the file. Columns `subject_literal`,
`object_literal` and `value_literals` exist only where a literal does; names of derived relations
stand in the file's metadata.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats.format import Format
from hyperfact.errors import FormatError, NotWritableError, StorageError
from hyperfact.graph.facts import Derived, Literal, Vocabulary
from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Array, Ids, Places, offsets_of
from hyperfact.system.source import Source
from hyperfact.system.tables import database, sql_text

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_MAGIC = b"PAR1"
_HALF = re.compile("[\ud800-\udfff]")
_DERIVED = "hyperfact.derived"
_COLUMNS = {"subject": "VARCHAR", "relation": "VARCHAR", "object": "VARCHAR"}
_LISTS = {"attributes": "VARCHAR[]", "values": "VARCHAR[]"}
_FLAGS = {"subject_literal", "object_literal", "value_literals"}


def _read(source: Source, builder: FactBuilder) -> None:
    with database(
        lambda why: FormatError(source.path, None, f"not a usable Parquet file ({why})")
    ) as db:
        db.execute("SET VARIABLE path = ?", [str(source.path)])
        literals = _open(source, db)
        _number(db)
        entities, relations = _names(db, "entity"), _names(db, "relation")
        derived = _derived(source, db)
        builder.add_ids(
            [_unmark(name) for name in entities] if literals else entities,
            [Derived(name) if name in derived else name for name in relations],
            *_columns(source, db),
        )


def _open(source: Source, db: "DuckDBPyConnection") -> bool:
    """Make the tables `fact` and `pair`; say whether entities are marked by their kind."""
    found = dict(
        db.execute(
            "SELECT column_name, column_type FROM "
            "(DESCRIBE SELECT * FROM read_parquet(getvariable('path')))"
        ).fetchall()
    )
    for name, kind in (_COLUMNS | _LISTS).items():
        if found.get(name) != kind:
            known = found.get(name, "no such column")
            raise FormatError(source.path, None, f"column {name!r} must be {kind}, got {known}")
    literals = not _FLAGS.isdisjoint(found)
    subject, obj, values = _marked(found) if literals else ("subject", "object", "values")
    db.execute(
        f"CREATE TEMP TABLE fact AS SELECT {subject} AS s, relation AS r, {obj} AS o, "
        f"attributes AS a, {values} AS v FROM read_parquet(getvariable('path'))"
    )
    bad = db.execute(
        "SELECT count(*) FROM fact WHERE s IS NULL OR r IS NULL OR o IS NULL OR a IS NULL"
        " OR v IS NULL OR len(a) != len(v)"
    ).fetchall()[0][0]
    if bad:
        raise _unusable(source, bad)
    db.execute(
        "CREATE TEMP TABLE pair AS SELECT rowid AS f, unnest(a) AS a, unnest(v) AS v, "
        "generate_subscripts(v, 1) AS k FROM fact WHERE len(a) > 0"
    )
    return literals


def _unusable(source: Source, rows: int) -> FormatError:
    reason = f"{rows} rows have an empty field, or attributes and values of different length"
    return FormatError(source.path, None, reason)


def _marked(found: dict[str, str]) -> tuple[str, str, str]:
    """Entities with their kind in front, so that a literal is never taken for an entity."""
    mark = "CASE WHEN {} THEN '1' ELSE '0' END"
    subject, obj = (
        f"{mark.format(f'{c}_literal') if f'{c}_literal' in found else repr('0')} || {c}"
        for c in ("subject", "object")
    )
    values = "list_transform(values, lambda v: '0' || v)"
    if "value_literals" in found:
        values = (
            "list_transform(list_zip(values, value_literals), "
            f"lambda p: {mark.format('p[2]')} || p[1])"
        )
    return subject, obj, values


def _unmark(name: str) -> str:
    return Literal(name[1:]) if name[0] == "1" else name[1:]


def _number(db: "DuckDBPyConnection") -> None:
    """Tables of the distinct names with their ids, in name order."""
    for kind, first, rest in (("entity", ("s", "o"), "v"), ("relation", ("r",), "a")):
        parts = [f"SELECT {c} AS n FROM fact" for c in first] + [f"SELECT {rest} FROM pair"]
        db.execute(
            f"CREATE TEMP TABLE {kind} AS SELECT n, (row_number() OVER (ORDER BY n) - 1)::INTEGER "
            f"AS id FROM (SELECT DISTINCT n FROM ({' UNION ALL '.join(parts)}) WHERE n IS NOT NULL)"
        )


def _names(db: "DuckDBPyConnection", kind: str) -> list[str]:
    names = db.execute(f"SELECT n FROM {kind} ORDER BY id").fetchnumpy()["n"]
    return [str(name) for name in names]


def _derived(source: Source, db: "DuckDBPyConnection") -> set[str]:
    rows = db.execute(
        "SELECT decode(value) FROM parquet_kv_metadata(getvariable('path')) WHERE decode(key) = ?",
        [_DERIVED],
    ).fetchall()
    try:
        names = json.loads(rows[0][0]) if rows else []
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FormatError(source.path, None, f"its metadata {_DERIVED!r} is no list of names")
    return set(names)


def _columns(source: Source, db: "DuckDBPyConnection") -> tuple[Ids, Ids, Ids, Places, Ids, Ids]:
    """Facts as ids. Joins lose the order, so each row carries its place and is put there."""
    main = db.execute(
        "SELECT fact.rowid AS f, se.id AS s, re.id AS r, oe.id AS o, len(a)::INTEGER AS n "
        "FROM fact JOIN entity se ON se.n = s JOIN relation re ON re.n = r "
        "JOIN entity oe ON oe.n = o"
    ).fetchnumpy()
    pairs = db.execute(
        "SELECT f, k, ae.id AS a, ve.id AS v FROM pair "
        "JOIN relation ae ON ae.n = pair.a JOIN entity ve ON ve.n = pair.v"
    ).fetchnumpy()
    s, r, o, n = (_placed(main[c], main["f"]) for c in "sron")
    offsets = offsets_of(n)
    if len(pairs["f"]) != offsets[-1]:  # an empty item of a list is joined with no name
        empty = " OR ".join(
            f"list_contains(list_transform({c}, lambda x: x IS NULL), true)" for c in "av"
        )
        bad = db.execute(f"SELECT count(*) FROM fact WHERE {empty}").fetchall()[0][0]
        raise _unusable(source, bad)
    a, v = (_placed(pairs[c], offsets[pairs["f"]] + pairs["k"] - 1) for c in "av")
    return s, r, o, offsets, a, v


def _placed(values: Array, places: Array) -> Ids:
    column = np.empty(len(values), dtype=np.int32)
    column[places] = values
    return column


def _write(graph: HKG, path: Path) -> None:
    check_texts((*graph.entities, *graph.relations))
    c, folder = graph.columns, path.parent.parent
    with database(lambda why: StorageError(f"{folder}: cannot be written ({why})")) as db:
        _register(db, "entity", graph.entities)
        _register(db, "relation", graph.relations)
        fact = {"s": c.subject, "r": c.relation, "o": c.object, "n": np.arange(len(graph))}
        pair = {
            "n": np.repeat(np.arange(len(graph)), np.diff(c.offsets)),
            "k": np.arange(len(c.values)),
            "a": c.attributes,
            "v": c.values,
        }
        db.register("fact", fact)
        db.register("pair", pair)
        flags = _literal_columns(graph)
        derived = json.dumps([str(n) for n in graph.relations if isinstance(n, Derived)])
        db.execute(
            "COPY (SELECT se.name AS subject, rr.name AS relation, oe.name AS object, "
            "coalesce(q.attributes, []) AS attributes, coalesce(q.values, []) AS values"
            f"{flags} FROM fact "
            "JOIN entity se ON se.id = s JOIN relation rr ON rr.id = r JOIN entity oe ON oe.id = o "
            "LEFT JOIN (SELECT n, list(ar.name ORDER BY k) AS attributes, "
            "list(ve.name ORDER BY k) AS values, list(ve.literal ORDER BY k) AS literals FROM pair "
            "JOIN relation ar ON ar.id = a JOIN entity ve ON ve.id = v GROUP BY n) q USING (n) "
            f"ORDER BY n) TO {sql_text(str(path))} (FORMAT parquet, COMPRESSION zstd, "
            f"KV_METADATA {{'{_DERIVED}': {sql_text(derived)}}})"
        )


def _register(db: "DuckDBPyConnection", kind: str, names: Vocabulary) -> None:
    """Names as a table."""
    table = {
        "id": np.arange(len(names), dtype=np.int32),
        "name": np.array([str.__str__(name) for name in names] or [], dtype=object),
        "literal": np.array([isinstance(name, Literal) for name in names], dtype=bool),
    }
    db.register(f"{kind}_names", table)
    db.execute(
        f"CREATE TABLE {kind} AS SELECT id, name::VARCHAR AS name, literal FROM {kind}_names"
    )


def _literal_columns(graph: HKG) -> str:
    literal = np.array([isinstance(name, Literal) for name in graph.entities], dtype=bool)
    c = graph.columns
    text = ""
    if literal[c.subject].any():
        text += ", se.literal AS subject_literal"
    if literal[c.object].any():
        text += ", oe.literal AS object_literal"
    if literal[c.values].any():
        text += ", coalesce(q.literals, []) AS value_literals"
    return text


def check_texts(names: Iterable[str]) -> None:
    """Refuse names that Parquet text cannot hold."""
    for name in names:
        if "\0" in name or (not name.isascii() and _HALF.search(name)):
            raise NotWritableError(
                f"the name {str(name)!r} holds a NUL or half of a surrogate pair, "
                "which Parquet text cannot hold here"
            )


PARQUET = Format(
    "parquet",
    "Parquet: subject, relation, object, attributes[], values[]",
    ".parquet",
    lambda source: source.head[:4] == _MAGIC,
    _read,
    _write,
    typed=True,
)
