"""Facts by name that wait on disk until all names are known, and then become a dataset in parts.

A block is two Parquet files, facts (k, s, r, o, with a mark for literals) and pairs (k, a, v): k
counts the facts of a block. Blocks may be written in any order and by several processes; their
numbers say how the facts follow each other.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from hyperfact.data.formats.parquet import check_texts
from hyperfact.errors import StorageError
from hyperfact.graph.facts import Derived, Literal
from hyperfact.graph.ragged import Array
from hyperfact.scale.disk_parts import SplitTables, write_tables
from hyperfact.scale.row_words import fact_words, mixed
from hyperfact.system.engine import Duck
from hyperfact.system.tables import database, sql_text
from hyperfact.system.writing import staged

_FACTS_A_BLOCK = 2**32  # more than any block has


@dataclass
class Block:
    """Facts by name in memory, to be written as one."""

    facts: list[tuple[str, str, str]] = field(default_factory=list)
    pairs: list[tuple[int, str, str]] = field(default_factory=list)

    def add(
        self,
        subject: str,
        relation: str,
        obj: str,
        attributes: Iterable[str] = (),
        values: Sequence[str] = (),
    ) -> None:
        """One fact."""
        number = len(self.facts)
        self.facts.append((subject, relation, obj))
        self.pairs.extend((number, a, v) for a, v in zip(attributes, values, strict=True))

    def write(self, folder: Path, number: int) -> None:
        """Write the two files of a block, whole or not at all."""
        s, r, o = _columns(self.facts, 3)
        k, a, v = _columns(self.pairs, 3)
        check_texts(name for column in (s, r, o, a, v) for name in column)
        facts = {"k": np.arange(len(s)), "s": _texts(s), "r": _texts(r), "o": _texts(o)}
        facts |= {"sl": _literal(s), "ol": _literal(o), "rd": _derived(r)}
        pairs = {"k": np.array(k, dtype=np.int64), "a": _texts(a), "v": _texts(v)}
        pairs |= {"vl": _literal(v), "ad": _derived(a)}
        with (
            staged(folder) as stage,
            database(lambda why: StorageError(f"{folder}: {why}"), threads=1) as db,
        ):
            for name, columns in (("facts", facts), ("pairs", pairs)):
                fields = ", ".join(f"{n}::{_TYPES[n]} AS {n}" for n in columns)
                path = sql_text(str(stage / f"{name}-{number:08}.parquet"))
                db.register("block", columns)
                db.execute(f"COPY (SELECT {fields} FROM block) TO {path} (FORMAT parquet)")


_TYPES = {
    **{"k": "BIGINT", "s": "VARCHAR", "r": "VARCHAR", "o": "VARCHAR", "a": "VARCHAR"},
    **{"v": "VARCHAR", "sl": "BOOLEAN", "ol": "BOOLEAN", "vl": "BOOLEAN", "rd": "BOOLEAN"},
    "ad": "BOOLEAN",
}


def _columns(rows: Sequence[tuple[object, ...]], width: int) -> list[list[str]]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[]] * width


def _texts(names: Sequence[str]) -> Array:
    return np.array([str.__str__(name) for name in names], dtype=object)


def _literal(names: Sequence[str]) -> Array:
    return np.array([isinstance(name, Literal) for name in names], dtype=bool)


def _derived(names: Sequence[str]) -> Array:
    return np.array([isinstance(name, Derived) for name in names], dtype=bool)


@dataclass(frozen=True)
class Spooled:
    """What became of the blocks."""

    facts: int
    entities: int
    relations: int
    repeated_facts: int
    repeated_qualifiers: int


def parts_of_spool(engine: Duck, spool: Path, stage: Path) -> Spooled:
    """Number the names of all blocks of a folder, drop what repeats, and write the dataset.

    The result is that of reading the same facts in memory: names in name order, facts in theirs.
    """
    e = engine
    for table in ("facts", "pairs"):
        number = "CAST(regexp_extract(filename, '([0-9]{8})[.]parquet$', 1) AS BIGINT)"
        files = sql_text(str(spool / f"{table}-*.parquet"))
        e.view(
            f"spool_{table}",
            f"SELECT {number} * {_FACTS_A_BLOCK} + k AS n, * EXCLUDE (k, filename) "
            f"FROM read_parquet({files}, filename = true)"
            if any(spool.glob(f"{table}-*.parquet"))
            else _EMPTY[table],
        )
    _number_names(e)
    e.table(
        "raw_fact",
        "SELECT f.n, s.id AS s, r.id AS r, o.id AS o FROM spool_facts f "
        "JOIN entity_id s ON s.name = f.s AND s.literal = f.sl "
        "JOIN relation_id r ON r.name = f.r AND r.derived = f.rd "
        "JOIN entity_id o ON o.name = f.o AND o.literal = f.ol",
    )
    e.table(
        "raw_pair",
        "SELECT DISTINCT p.n, a.id AS a, v.id AS v FROM spool_pairs p "
        "JOIN relation_id a ON a.name = p.a AND a.derived = p.ad "
        "JOIN entity_id v ON v.name = p.v AND v.literal = p.vl",
    )
    return _write(e, stage)


_EMPTY = {
    "facts": "SELECT 0::BIGINT AS n, '' AS s, '' AS r, '' AS o, false AS sl, false AS ol, "
    "false AS rd WHERE false",
    "pairs": "SELECT 0::BIGINT AS n, '' AS a, '' AS v, false AS vl, false AS ad WHERE false",
}


def _number_names(e: Duck) -> None:
    """Names in name order: entities before literals, then by code point."""
    for kind, mark, columns in (
        ("entity", "literal", (("facts", "s", "sl"), ("facts", "o", "ol"), ("pairs", "v", "vl"))),
        ("relation", "derived", (("facts", "r", "rd"), ("pairs", "a", "ad"))),
    ):
        names = " UNION ".join(
            f"SELECT {name} AS name, {flag} AS {mark} FROM spool_{table}"
            for table, name, flag in columns
        )
        order = f"{mark}, name" if kind == "entity" else "name"
        e.table(
            f"{kind}_id",
            f"SELECT *, (row_number() OVER () - 1)::INTEGER AS id FROM "
            f"(SELECT * FROM ({names}) ORDER BY {order})",
        )
        plain, other = ("entity", "literal") if kind == "entity" else ("relation", "derived")
        e.view(
            kind,
            f"SELECT id, CASE WHEN {mark} THEN '{other}' ELSE '{plain}' END AS kind, name "
            f"FROM {kind}_id",
        )
        # Ids tell facts apart as well as names do, and need no hash of a text.
        ids = f"SELECT id, id::UBIGINT AS i FROM {kind}_id"
        words = mixed(e.dialect, ids, {"x": ("i", 1), "y": ("i", 2)})
        e.table(f"{kind}_word", f"SELECT id, x, y FROM ({words})")


def _write(e: Duck, stage: Path) -> Spooled:
    e.table("raw_word", fact_words(e.dialect, "raw_fact", "raw_pair"))
    e.table(
        "kept",
        "SELECT n, row_number() OVER () - 1 AS number FROM "
        "(SELECT min(n) AS n FROM raw_word GROUP BY x, y ORDER BY 1)",
    )
    e.table(
        "new_pair",
        "SELECT k.number AS n, p.a, p.v FROM raw_pair p JOIN kept k ON k.n = p.n ORDER BY 1, 2, 3",
    )
    e.table(
        "new_fact",
        "SELECT k.number AS n, f.s, f.r, f.o, coalesce(c.q, 0) AS q FROM raw_fact f "
        "JOIN kept k ON k.n = f.n LEFT JOIN (SELECT n, count(*) AS q FROM new_pair GROUP BY n) c "
        "ON c.n = k.number ORDER BY 1",
    )
    counts = {
        name: int(e.value(f"SELECT count(*) FROM {name}"))
        for name in ("new_fact", "raw_fact", "raw_pair", "spool_pairs", "entity_id", "relation_id")
    }
    tables = {"train": SplitTables("new_fact", "new_pair", counts["new_fact"])}
    write_tables(e, stage, tables, counts["entity_id"], counts["relation_id"])
    return Spooled(
        counts["new_fact"],
        counts["entity_id"],
        counts["relation_id"],
        counts["raw_fact"] - counts["new_fact"],
        counts["spool_pairs"] - counts["raw_pair"],
    )
