"""Tables of an engine to a dataset in parts."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hyperfact.data.manifest import MANIFEST, Part, describe, manifest_text
from hyperfact.data.parted import FACTS_A_PART, SCHEMAS, part_name, sql_type
from hyperfact.system.engine import Engine
from hyperfact.system.writing import write_lines


@dataclass(frozen=True)
class SplitTables:
    """Where the facts of a split stand: tables in the order of n, and how many facts."""

    fact: str  # n, s, r, o, q
    pair: str  # n, a, v
    facts: int


def write_tables(
    engine: Engine, stage: Path, splits: Mapping[str, SplitTables], entities: int, relations: int
) -> None:
    """Write parts and manifest of `entity` and `relation` (id, kind, name) and of these splits."""
    parts: list[Part] = []
    for table, source, size in (
        ("entities", "entity", entities),
        ("relations", "relation", relations),
    ):
        for number, start in enumerate(range(0, max(1, size), FACTS_A_PART)):
            rows = f"{source} WHERE id >= {start} AND id < {start + FACTS_A_PART} ORDER BY id"
            parts += _write(
                engine, stage, (table, "", number), f"SELECT id, kind, name FROM {rows}"
            )
    for name, split in splits.items():
        for number, start in enumerate(range(0, max(1, split.facts), FACTS_A_PART)):
            some = f"WHERE n >= {start} AND n < {start + FACTS_A_PART}"
            facts = (
                "SELECT n AS fact, s AS subject, r AS relation, o AS object, q AS qualifiers "
                f"FROM {split.fact} {some} ORDER BY n"
            )
            pairs = (
                "SELECT n AS fact, a AS attribute, v AS value "
                f"FROM {split.pair} {some} ORDER BY n, a, v"
            )
            parts += _write(engine, stage, ("facts", name, number), facts)
            parts += _write(engine, stage, ("qualifiers", name, number), pairs)
    sizes = {name: split.facts for name, split in splits.items()}
    text = manifest_text(sizes, (entities, relations), parts)
    write_lines(stage / MANIFEST, iter(text.splitlines()))


def _write(engine: Engine, stage: Path, key: tuple[str, str, int], query: str) -> list[Part]:
    """One part; qualifiers without a row get none."""
    table, split, _ = key
    path = stage / part_name(*key)
    kinds = SCHEMAS[table].items()
    fields = ", ".join(f"CAST({n} AS {sql_type(kind)}) AS {n}" for n, kind in kinds)
    rows = engine.copy(f"SELECT {fields} FROM ({query})", path)
    if table == "qualifiers" and not rows:
        path.unlink()
        return []
    return [describe(path, table, split, rows)]
