"""Facts that memory does not hold: transform, verify and restore of generated datasets in parts."""

import shutil
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks._generated import generate
from benchmarks.measure import peak_memory, row

SMALL, LARGE = 10**6, 10**7
LIMIT = "1GB"
_SETUP = """
from pathlib import Path
from hyperfact.scale import DiskFacts, verify_on_disk
from hyperfact.scale.disk_work import restore_on_disk, transform_on_disk
from hyperfact.system.engine import duckdb_engine, work_folder
from hyperfact.system.spark import spark_engine
"""
_DUCKDB = """
folder = Path({folder!r})
def engine(work):
    return duckdb_engine(work, memory_limit={limit!r}, tell=lambda _: None)
with work_folder(folder.parent) as work, engine(work) as e:
    transform_on_disk(DiskFacts.open(folder, e), folder.parent / "kg", "train", "equivalent")
with work_folder(folder.parent) as work, engine(work) as e:
    assert verify_on_disk(DiskFacts.open(folder, e)).lossless
with work_folder(folder.parent) as work, engine(work) as e:
    restore_on_disk(folder.parent / "kg", folder.parent / "back", e)
"""
_VERIFY = """
folder = Path({folder!r})
with work_folder(folder.parent) as work, \\
        duckdb_engine(work, memory_limit={limit!r}, tell=lambda _: None) as duck:
    facts = DiskFacts.open(folder, duck)
    print(verify_on_disk(facts).hkg_fingerprint)
"""
_SPARK = """
folder = Path({folder!r})
with work_folder(folder.parent) as work, \\
        duckdb_engine(work, memory_limit={limit!r}, tell=lambda _: None) as duck, \\
        spark_engine(work, master="local[2]", local=duck, tell=lambda _: None) as e:
    print(verify_on_disk(DiskFacts.open(folder, e)).hkg_fingerprint)
"""


def rows() -> Iterator[dict[str, Any]]:
    root = Path(tempfile.mkdtemp(prefix="hyperfact-bench-"))
    try:
        yield from _growth(root)
        yield from _engines(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _measured(root: Path, facts: int, program: str) -> tuple[float, float]:
    folder = root / str(facts) / "parts"
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        generate(folder, facts)
    for name in ("kg", "back"):
        shutil.rmtree(folder.parent / name, ignore_errors=True)
    return peak_memory(program.format(folder=str(folder), limit=LIMIT), setup=_SETUP)


def _growth(root: Path) -> Iterator[dict[str, Any]]:
    """Seconds and memory of the whole way there and back, at two sizes."""
    small, _ = _measured(root, SMALL, _DUCKDB)
    yield row(f"transform + verify + restore, {SMALL:,} facts", small, "s")
    large, memory = _measured(root, LARGE, _DUCKDB)
    ratio = large / small
    yield row(f"the same, {LARGE:,} facts", large, "s", ratio=ratio, bound="<= 12x", ok=ratio <= 12)
    yield row(f"its peak memory, limit {LIMIT}", memory, "GB", bound="<= 1 GB", ok=memory <= 1)


def _engines(root: Path) -> Iterator[dict[str, Any]]:
    """Both engines on the same facts."""
    duck, _ = _measured(root, SMALL, _VERIFY)
    yield row(f"verify by duckdb, {SMALL:,} facts", duck, "s")
    if find_spec("pyspark") is None or shutil.which("java") is None:
        return
    spark, _ = _measured(root, SMALL, _SPARK)
    yield row(f"verify by spark local[2], {SMALL:,} facts", spark, "s", ratio=spark / duck)
