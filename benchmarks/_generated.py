"""Generated facts of any number, written as a dataset in parts without ever being in memory.

Ten facts a subject, a third of them with two qualifiers; in one subject of fifty a bare fact is the
twin of a qualified one. Objects are skewed: one in eight is among a hundred hubs.
"""

from pathlib import Path

from hyperfact.scale.disk_parts import SplitTables, write_tables
from hyperfact.system.engine import duckdb_engine, work_folder
from hyperfact.system.writing import staged

RELATIONS = 220
_ATTRIBUTES = 20


def generate(folder: Path, facts: int, *, memory_limit: str = "1GB") -> None:
    """Write this many facts over a tenth as many entities."""
    entities = max(1000, facts // 10)
    with (
        work_folder(folder.parent) as work,
        duckdb_engine(work, memory_limit=memory_limit, tell=lambda _: None) as e,
    ):
        twin = "range % 10 = 1 AND (range - 1) % 3 = 0 AND hash(range - 1) % 50 = 0"
        e.view(
            "numbered",
            f"SELECT range AS n, CASE WHEN {twin} "
            f"THEN range - 1 ELSE range END AS i FROM range({facts})",
        )
        e.view(
            "fact",
            f"SELECT n, (n // 10) % {entities} AS s, (i % 10) * 20 + hash(i) % 20 AS r, "
            "CASE WHEN hash(i + 1) % 8 = 0 THEN hash(i + 2) % 100 "
            f"ELSE hash(i + 3) % {entities} END AS o, "
            "CASE WHEN n % 3 = 0 THEN 2 ELSE 0 END AS q FROM numbered",
        )
        e.view(
            "pair",
            f"SELECT n, {RELATIONS - _ATTRIBUTES} + k * 10 + hash(n, k) % 10 AS a, "
            f"hash(n, k, 1) % {entities} AS v FROM fact, (SELECT unnest([0, 1]) AS k) WHERE q > 0",
        )
        e.view(
            "entity",
            f"SELECT range AS id, 'entity' AS kind, 'Q' || range AS name FROM range({entities})",
        )
        e.view(
            "relation",
            f"SELECT range AS id, 'relation' AS kind, 'P' || range AS name FROM range({RELATIONS})",
        )
        with staged(folder) as stage:
            write_tables(
                e, stage, {"train": SplitTables("fact", "pair", facts)}, entities, RELATIONS
            )
