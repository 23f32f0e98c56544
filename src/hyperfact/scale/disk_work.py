"""What the commands ask for: transform a dataset in parts to files, and bring one back."""

from pathlib import Path
from typing import Any

from hyperfact.scale.disk_edges import (
    check_way,
    edge_counts,
    edges_fingerprint,
    make_edges,
    make_words,
)
from hyperfact.scale.disk_facts import DiskFacts
from hyperfact.scale.disk_parts import SplitTables, write_tables
from hyperfact.scale.disk_restore import restore_tables
from hyperfact.scale.disk_verify import TWINS
from hyperfact.scale.kg_files import read_edges, write_edges
from hyperfact.scale.row_numbers import id_bucket, number_rows
from hyperfact.system.engine import Engine
from hyperfact.system.writing import staged


def transform_on_disk(
    facts: DiskFacts, out: Path, split: str, transformation: str, *, mode: str | None = None
) -> dict[str, Any]:
    """Transform to a KG in Parquet; what `transform` says of it, and the facts that are lost."""
    mode = check_way(transformation, mode)
    facts.choose(split)
    make_edges(facts, transformation, mode)
    make_words(facts)
    with staged(out) as stage:
        write_edges(facts, stage, transformation, mode)
        counts = edge_counts(facts)
        fingerprint = edges_fingerprint(facts, transformation, mode)
    e = facts.engine
    return {
        "facts": int(e.value("SELECT count(*) FROM fact")),
        "transformation": transformation,
        "mode": mode,
        **{name: counts[name] for name in ("nodes", "mediators", "edges")},
        "fingerprint": fingerprint,
        "lost": int(e.value(f"SELECT count(*) FROM ({TWINS})")) if mode == "paper-text" else 0,
    }


def restore_on_disk(kg: Path, out: Path, engine: Engine) -> tuple[int, str]:
    """Bring the facts of a KG in Parquet back, as a dataset in parts; their number and hash."""
    facts, transformation, mode = read_edges(kg, engine)
    facts.load_words()
    restore_tables(engine, transformation, mode)
    names = facts.manifest
    stars = int(engine.value("SELECT count(*) FROM star_fact"))
    number_rows(
        engine,
        "bare_number",
        "SELECT s, r, o FROM bare_fact",
        bucket=id_bucket("s", names.entities),
        order="t.s, t.r, t.o",
    )
    engine.table(
        "back_fact",
        f"SELECT n - {names.entities} AS n, s, r, o, q FROM star_fact UNION ALL "
        f"SELECT number + {stars} AS n, s, r, o, 0 AS q FROM bare_number ORDER BY n",
    )
    engine.table(
        "back_pair", f"SELECT n - {names.entities} AS n, a, v FROM star_pair ORDER BY n, a, v"
    )
    count = int(engine.value("SELECT count(*) FROM back_fact"))
    with staged(out) as stage:
        tables = {"train": SplitTables("back_fact", "back_pair", count)}
        write_tables(engine, stage, tables, names.entities, names.relations)
        fingerprint = facts.fingerprint("back_fact", "back_pair")
    return count, fingerprint
