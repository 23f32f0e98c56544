"""Part the facts of a dataset in parts: the splits of `data.split`, by SQL.

The random order is that of memory, so about 30 bytes a primary triple are held at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hyperfact.data.split import SPLITS, share_out, time_parts, time_ranks, wanted_sizes
from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.ragged import Array
from hyperfact.scale.disk_facts import DiskFacts
from hyperfact.scale.disk_parts import SplitTables, write_tables
from hyperfact.scale.row_numbers import id_bucket, number_rows
from hyperfact.system.engine import ROWS_A_PAGE
from hyperfact.system.writing import staged

_SAME = "t.s = f.s AND t.r = f.r AND t.o = f.o"


@dataclass(frozen=True)
class DiskSplit:
    """How many facts each split has, and how many of its names train does not name."""

    sizes: dict[str, int]
    unseen: dict[str, int]


def split_on_disk(
    facts: DiskFacts,
    out: Path,
    ratios: Sequence[float],
    *,
    seed: int = 0,
    by_time: str | None = None,
) -> DiskSplit:
    """Part all facts at random or by time, and write them as a dataset in parts."""
    facts.choose("all")
    e, names = facts.engine, facts.manifest
    total = int(e.value("SELECT count(*) FROM fact"))
    wanted = wanted_sizes(total, ratios)
    number_rows(
        e,
        "triple",
        "SELECT s, r, o, CAST(count(*) AS BIGINT) AS size FROM fact GROUP BY s, r, o",
        bucket=id_bucket("s", names.entities),
        order="t.s, t.r, t.o",
    )
    e.table("fact_triple", f"SELECT f.n, t.number AS k FROM fact f JOIN triple t ON {_SAME}")
    if by_time is None:
        _at_random(facts, wanted, seed)
    else:
        _by_time(facts, wanted, by_time)
    tables = {name: _tables(facts, name, i, total) for i, name in enumerate(SPLITS)}
    with staged(out) as stage:
        write_tables(e, stage, tables, names.entities, names.relations)
    unseen = {name: _unseen(facts, name) for name in SPLITS}
    return DiskSplit({name: t.facts for name, t in tables.items()}, unseen)


def _at_random(facts: DiskFacts, wanted: Sequence[int], seed: int) -> None:
    """Make `part_of` (k, part) of each triple."""
    e, shift = facts.engine, facts.manifest.entities
    count = int(e.value("SELECT count(*) FROM triple"))
    order = np.random.default_rng(seed).permutation(count)
    place = np.empty(count, dtype=np.int64)
    place[order] = np.arange(count)
    _load(facts, "place_of", place)
    e.view(
        "name_of",
        "SELECT number AS k, s AS id FROM triple UNION ALL SELECT number AS k, o AS id FROM triple "
        f"UNION ALL SELECT number AS k, r + {shift} AS id FROM triple UNION ALL "
        "SELECT f.k, p.v AS id FROM pair p JOIN fact_triple f ON f.n = p.n UNION ALL "
        f"SELECT f.k, p.a + {shift} AS id FROM pair p JOIN fact_triple f ON f.n = p.n",
    )
    firsts = (
        "SELECT min(p.value) AS place FROM name_of w JOIN place_of p ON p.k = w.k GROUP BY w.id"
    )
    first = e.columns(f"SELECT DISTINCT place FROM ({firsts})")["place"]
    sizes = e.columns("SELECT size FROM triple ORDER BY number")["size"]
    _load(facts, "part_of", share_out(order, first.astype(np.int64), sizes, wanted))


def _by_time(facts: DiskFacts, wanted: Sequence[int], attribute: str) -> None:
    e = facts.engine
    names = Vocabulary(name for page in facts.names("relation") for name in page)
    known = names.id(attribute, "attribute")
    ids = [int(v) for (v,) in e.rows(f"SELECT DISTINCT v FROM pair WHERE a = {known} ORDER BY v")]
    named = facts.named("entity", ids)
    times, ranks = time_ranks([named[i] for i in ids], attribute)
    e.drop("time_of")
    e.load("time_of", {"v": np.array(ids, dtype=np.int32), "time": ranks})
    e.table(
        "newest",
        "SELECT f.k, max(t.time) AS time FROM pair p JOIN fact_triple f ON f.n = p.n "
        f"JOIN time_of t ON t.v = p.v WHERE p.a = {known} GROUP BY f.k",
    )
    facts_of = np.zeros(times, dtype=np.int64)
    counted = (
        "SELECT t.time, sum(k.size) FROM newest t JOIN triple k ON k.number = t.k GROUP BY t.time"
    )
    for time, size in e.rows(counted):
        facts_of[int(time)] = int(size)
    part = time_parts(facts_of, wanted)
    e.drop("part_of_time")
    e.load("part_of_time", {"time": np.arange(times), "value": part[:-1]})
    e.table(
        "part_of",
        "SELECT k.number AS k, coalesce(p.value, 0) AS value FROM triple k "
        "LEFT JOIN newest t ON t.k = k.number LEFT JOIN part_of_time p ON p.time = t.time",
    )


def _load(facts: DiskFacts, name: str, values: Array) -> None:
    """A table (k, value) of a value for each triple."""
    facts.engine.drop(name)
    for start in range(0, max(1, len(values)), ROWS_A_PAGE):
        some = values[start : start + ROWS_A_PAGE]
        facts.engine.load(name, {"k": np.arange(start, start + len(some)), "value": some})


def _tables(facts: DiskFacts, name: str, part: int, total: int) -> SplitTables:
    """The facts of a split, numbered anew in their order."""
    e = facts.engine
    number_rows(
        e,
        f"row_{name}",
        "SELECT f.n, f.s, f.r, f.o, f.q FROM fact f JOIN fact_triple t ON t.n = f.n "
        f"JOIN part_of p ON p.k = t.k WHERE p.value = {part}",
        bucket=id_bucket("n", total),
        order="t.n",
    )
    e.table(f"fact_{name}", f"SELECT number AS n, s, r, o, q FROM row_{name} ORDER BY number")
    e.table(
        f"pair_{name}",
        f"SELECT w.number AS n, p.a, p.v FROM pair p JOIN row_{name} w ON w.n = p.n "
        "ORDER BY 1, 2, 3",
    )
    e.drop(f"row_{name}")
    count = int(e.value(f"SELECT count(*) FROM fact_{name}"))
    return SplitTables(f"fact_{name}", f"pair_{name}", count)


def _unseen(facts: DiskFacts, name: str) -> int:
    """How many names of a split no training fact names."""
    here, train = (_names(facts, split) for split in (name, "train"))
    return int(facts.engine.value(f"SELECT count(*) FROM ({here} EXCEPT {train})"))


def _names(facts: DiskFacts, name: str) -> str:
    shift = facts.manifest.entities
    return (
        f"SELECT id FROM (SELECT s AS id FROM fact_{name} UNION SELECT o AS id FROM fact_{name} "
        f"UNION SELECT v AS id FROM pair_{name} UNION SELECT r + {shift} AS id FROM fact_{name} "
        f"UNION SELECT a + {shift} AS id FROM pair_{name})"
    )
