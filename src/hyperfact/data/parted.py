"""A dataset in parts: a folder of Parquet files that need not fit into memory together.

    dataset.json                      sizes, and size and SHA-256 of every part
    entities-00000.parquet            id, kind (entity, literal), name
    relations-00000.parquet           id, kind (relation, derived), name
    facts-train-00000.parquet         fact, subject, relation, object, qualifiers (their number)
    qualifiers-train-00000.parquet    fact, attribute, value

Facts of a split count from 0, are a set, and have their qualifiers in canonical order.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hyperfact.data.builder import FactBuilder, ReadReport
from hyperfact.data.formats.parquet import check_texts
from hyperfact.data.manifest import MANIFEST, Manifest, Part, describe, manifest_text, read_manifest
from hyperfact.errors import DataError, StorageError
from hyperfact.graph.facts import Derived, Literal, Vocabulary
from hyperfact.graph.hkg import HKG, Columns, Splits
from hyperfact.graph.ragged import Array, offsets_of, owners_of
from hyperfact.system.source import Fault
from hyperfact.system.tables import database, sql_text

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

NAME, TITLE = "parts", "a folder of Parquet parts with ids, for more facts than memory holds"
FACTS_A_PART = 1_000_000
SCHEMAS: Mapping[str, Mapping[str, str]] = {
    "entities": {"id": "INTEGER", "kind": "VARCHAR", "name": "VARCHAR"},
    "relations": {"id": "INTEGER", "kind": "VARCHAR", "name": "VARCHAR"},
    "facts": {
        **{"fact": "BIGINT", "subject": "INTEGER", "relation": "INTEGER", "object": "INTEGER"},
        "qualifiers": "INTEGER",
    },
    "qualifiers": {"fact": "BIGINT", "attribute": "INTEGER", "value": "INTEGER"},
}
_TYPES: Mapping[str, type[str]] = {"literal": Literal, "derived": Derived}


def sql_type(kind: str) -> str:
    """A type by the name that every engine knows."""
    return "STRING" if kind == "VARCHAR" else kind


def typed_name(kind: str, name: str) -> str:
    """A name of the kind that a table of names says."""
    return _TYPES.get(kind, str)(name)


def part_name(table: str, split: str, number: int) -> str:
    """The file of a part."""
    return "-".join([table, *([split] if split else []), f"{number:05}.parquet"])


def write_parted(splits: Splits, stage: Path) -> None:
    """Write all parts and the manifest into a folder that exists."""
    check_texts((*splits.entities, *splits.relations))
    parts: list[Part] = []
    with database(lambda why: StorageError(f"{stage.parent}: {why}"), threads=1) as db:
        for table, names, plain in (
            ("entities", splits.entities, "entity"),
            ("relations", splits.relations, "relation"),
        ):
            parts.append(_write(db, stage, table, "", 0, _names(names, plain)))
        for split, graph in splits.items():
            for number, (facts, pairs) in enumerate(_blocks(graph.columns)):
                parts.append(_write(db, stage, "facts", split, number, facts))
                if len(pairs["fact"]):
                    parts.append(_write(db, stage, "qualifiers", split, number, pairs))
    sizes = {split: len(graph) for split, graph in splits.items()}
    counts = len(splits.entities), len(splits.relations)
    (stage / MANIFEST).write_text(manifest_text(sizes, counts, parts), encoding="utf-8")


def _write(
    db: "DuckDBPyConnection",
    stage: Path,
    table: str,
    split: str,
    number: int,
    columns: Mapping[str, Array],
) -> Part:
    path = stage / part_name(table, split, number)
    fields = ", ".join(f'"{name}"::{kind} AS "{name}"' for name, kind in SCHEMAS[table].items())
    db.register("part", {name: np.ascontiguousarray(c) for name, c in columns.items()})
    db.execute(
        f"COPY (SELECT {fields} FROM part) TO {sql_text(str(path))} "
        "(FORMAT parquet, COMPRESSION zstd)"
    )
    return describe(path, table, split, len(next(iter(columns.values()))))


def _names(names: Vocabulary, plain: str) -> dict[str, Array]:
    kinds = {Literal: "literal", Derived: "derived"}
    return {
        "id": np.arange(len(names)),
        "kind": np.array([kinds.get(type(name), plain) for name in names], dtype=object),
        "name": np.array([str.__str__(name) for name in names], dtype=object),
    }


def _blocks(c: Columns) -> Iterator[tuple[dict[str, Array], dict[str, Array]]]:
    """Facts and their qualifiers, so many at a time; one block at least."""
    for start in range(0, max(1, len(c)), FACTS_A_PART):
        rows = np.arange(start, min(start + FACTS_A_PART, len(c)))
        some = c.take(rows)
        facts: dict[str, Array] = {
            "fact": rows,
            "subject": some.subject,
            "relation": some.relation,
            "object": some.object,
            "qualifiers": np.diff(some.offsets),
        }
        owner = start + owners_of(some.offsets)
        yield facts, {"fact": owner, "attribute": some.attributes, "value": some.values}


def read_parted(folder: Path, *, literals: str = "keep") -> tuple[Splits, ReadReport]:
    """All facts of a dataset in parts, in memory; names keep their ids.

    Raises:
        DataError: A part is missing, altered, or not what its name says.
    """
    manifest = read_manifest(folder)
    entities, relations, columns = read_splits(manifest, manifest.splits)
    if literals != "keep":
        return _built(manifest.name, entities, relations, columns, literals)
    parts = {name: HKG.from_columns(entities, relations, c) for name, c in columns.items()}
    count = sum(isinstance(name, Literal) for name in entities)
    return Splits(parts, manifest.name), ReadReport(literals=count, formats=(NAME,))


def read_splits(
    manifest: Manifest, splits: Iterable[str]
) -> tuple[Vocabulary, Vocabulary, dict[str, Columns]]:
    """The names of entities and of relations, and the facts of some splits, in memory.

    Raises:
        DataError: A part is not what its name says.
    """
    with database(lambda why: DataError(f"{manifest.folder}: not usable ({why})")) as db:
        entities = _vocabulary(db, manifest, "entities")
        relations = _vocabulary(db, manifest, "relations")
        return entities, relations, {split: _columns(db, manifest, split) for split in splits}


def _built(
    name: str,
    entities: Sequence[str],
    relations: Sequence[str],
    columns: Mapping[str, Columns],
    literals: str,
) -> tuple[Splits, ReadReport]:
    """The same with another policy for literals; ids are new then."""
    builder = FactBuilder(literals=literals)
    builder.formats.append(NAME)
    for split, c in columns.items():
        builder.begin(split, typed=True)
        ids = (c.subject, c.relation, c.object, c.offsets, c.attributes, c.values)
        try:
            builder.add_ids(entities, relations, *ids)
        except Fault as fault:
            raise DataError(f"{name}: {fault}") from None
    return builder.finish(name)


def read_rows(db: "DuckDBPyConnection", manifest: Manifest, table: str, split: str = "") -> str:
    """SQL of a table of the dataset, its columns checked.

    Raises:
        DataError: Other columns than such a table has.
    """
    files, schema = manifest.files(table, split), SCHEMAS[table]
    if not files:
        fields = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in schema.items())
        return f"(SELECT {fields} WHERE false)"
    source = f"read_parquet([{', '.join(map(sql_text, files))}])"
    found = dict(
        db.execute(
            f"SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM {source})"
        ).fetchall()
    )
    if found != dict(schema):
        raise DataError(f"{files[0]}: expected the columns {dict(schema)}, got {found}")
    return source


def _vocabulary(db: "DuckDBPyConnection", manifest: Manifest, table: str) -> Vocabulary:
    data = _fetch(db, manifest, table)
    _check_count(manifest, table, data["id"], getattr(manifest, table))
    rows = zip(data["kind"].tolist(), data["name"].tolist(), strict=True)
    return Vocabulary(typed_name(*row) for row in rows)


def _columns(db: "DuckDBPyConnection", manifest: Manifest, split: str) -> Columns:
    facts = _fetch(db, manifest, "facts", split)
    pairs = _fetch(db, manifest, "qualifiers", split)
    _check_count(manifest, "facts", facts["fact"], manifest.splits[split])
    offsets = offsets_of(facts["qualifiers"])
    if not np.array_equal(owners_of(offsets), pairs["fact"]):
        raise DataError(f"{manifest.folder}: the qualifiers of {split} do not fit its facts")
    s, r, o = (facts[name] for name in ("subject", "relation", "object"))
    return Columns(s, r, o, offsets, pairs["attribute"], pairs["value"])


def _fetch(
    db: "DuckDBPyConnection", manifest: Manifest, table: str, split: str = ""
) -> dict[str, Array]:
    data = db.execute(f"SELECT * FROM {read_rows(db, manifest, table, split)}").fetchnumpy()
    if any(np.ma.getmaskarray(column).any() for column in data.values()):
        raise DataError(f"{manifest.folder}: an empty field (NULL) among the {table}")
    return {name: np.asarray(column) for name, column in data.items()}


def _check_count(manifest: Manifest, table: str, numbers: Array, size: int) -> None:
    if not np.array_equal(numbers, np.arange(size)):
        raise DataError(f"{manifest.folder}: the {table} are not numbered from 0 to {size:,}")
