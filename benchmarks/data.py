"""Reading and writing: the real benchmarks, a million generated facts, and how time grows."""

import os
import random
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from benchmarks.measure import best, best_of_both, peak_memory, row
from hyperfact.data import load, write
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import KnownAnswers
from hyperfact.system.memory import keep_freed_memory

_IMPORT = """
from hyperfact.data import load
from hyperfact.system.memory import keep_freed_memory
import hyperfact.graph.queries
keep_freed_memory()
"""


def rows() -> Iterator[dict[str, Any]]:
    keep_freed_memory()  # as the command line does
    yield from _real()
    with tempfile.TemporaryDirectory() as folder:
        yield from _generated(Path(folder))


def _real() -> Iterator[dict[str, Any]]:
    if not os.environ.get("HYPERFACT_DATA"):
        yield row("JF17K, WD50K (HYPERFACT_DATA is not set)", 0, "s")
        return
    for name, bound in (("JF17K", 1.5), ("WD50K", 3.0)):
        seconds = best(lambda name=name: load(name))  # type: ignore[misc]
        yield row(f"read {name} to ids", seconds, "s", bound=f"<= {bound} s", ok=seconds <= bound)
    graph = load("WD50K").all
    seconds = best(lambda: KnownAnswers.build(graph))
    yield row(
        "index of known answers, WD50K, all slots", seconds, "s", bound="<= 2 s", ok=seconds <= 2
    )


def _generated(folder: Path) -> Iterator[dict[str, Any]]:
    half, fewer, whole = (folder / f"{name}.txt" for name in ("half", "fewer", "whole"))
    _generate(whole, 1_000_000)
    _generate(fewer, 500_000)
    with whole.open() as lines, half.open("w") as out:
        out.writelines(islice(lines, 500_000))
    seconds, memory = peak_memory(f"load({str(whole)!r}, format='stare')", setup=_IMPORT)
    yield row("read 1,000,000 facts (stare)", seconds, "s", bound="<= 15 s", ok=seconds <= 15)
    yield row("  peak memory", memory, "GB", bound="<= 2 GB", ok=memory <= 2)
    small, large = best_of_both(
        lambda: load(half, format="stare"), lambda: load(whole, format="stare")
    )
    ratio = large / small
    yield row("  2x facts", large, "s", ratio=ratio, bound="<= 2.3x", ok=ratio <= 2.3)
    small, large = best_of_both(
        lambda: load(fewer, format="stare"), lambda: load(whole, format="stare")
    )  # twice as many names leave the cache of a small processor
    yield row("  2x facts with 2x names", large, "s", ratio=large / small)
    graph: HKG = load(whole, format="stare").train
    parquet = folder / "whole.parquet"
    seconds = best(lambda: write(graph, parquet), repeat=1)
    yield row("write 1,000,000 facts (parquet)", seconds, "s")
    reads = [peak_memory(f"load({str(parquet)!r})", setup=_IMPORT) for _ in range(3)]
    seconds, memory = (min(found) for found in zip(*reads, strict=True))
    yield row("read 1,000,000 facts (parquet)", seconds, "s", bound="<= 2 s", ok=seconds <= 2)
    yield row("  peak memory", memory, "GB", bound="<= 2 GB", ok=memory <= 2)


def _generate(path: Path, count: int) -> None:
    """Facts of Wikidata's shape: 1 to 4 qualifiers, skewed entities, a tenth as many entities."""
    rng = random.Random(0)
    entities = count // 5
    with path.open("w") as out:
        for _ in range(count):
            fields = [f"Q{int(entities * rng.random() ** 2)}", f"P{rng.randrange(500)}"]
            fields.append(f"Q{int(entities * rng.random() ** 2)}")
            for _ in range(rng.randrange(4)):
                fields += [f"P{rng.randrange(200)}", f"Q{int(entities * rng.random() ** 2)}"]
            out.write(",".join(fields) + "\n")
