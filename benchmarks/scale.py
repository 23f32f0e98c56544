"""Facts that memory does not hold: transform, verify and restore of generated datasets in parts."""

import bz2
import json
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks._generated import generate
from benchmarks.measure import peak_memory, row
from hyperfact.data.formats.quick_json import read_json
from hyperfact.data.formats.wikidata_statements import Choice, Statements
from hyperfact.graph.label_texts import LabelCollector
from hyperfact.scale.dump import Work, parse_block

SMALL, LARGE = 10**6, 10**7
LIMIT = "1GB"
_LANGUAGES = ("ar", "de", "en", "es", "fr", "ja", "nl", "pl", "ru", "zh")
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
        yield from _dump(root)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _dump(root: Path) -> Iterator[dict[str, Any]]:
    """Processor time of what reading a dump does, in megabytes of JSON a second and core."""
    text = b"".join(json.dumps(entity(i)).encode() + b",\n" for i in range(1, 3001))
    million = len(text) / 1e6
    lines = [line.removesuffix(b",") for line in text.splitlines()]

    def rate(run: Callable[[], object]) -> float:
        times = []
        for _ in range(3):
            start = time.process_time()
            run()
            times.append(time.process_time() - start)
        return million / min(times)

    work = Work(0, 0, text, Choice(), "keep", str(root))
    alone = rate(lambda: [json.loads(line) for line in lines])
    yield row("json.loads alone", alone, "MB/s")
    whole = rate(lambda: parse_block(work))
    yield row(
        "a block of a dump to the spool",
        whole,
        "MB/s",
        ratio=whole / alone,
        bound=">= 40 MB/s",
        ok=whole >= 40,
    )
    yield row("its JSON, repeated keys noticed", rate(lambda: [*map(read_json, lines)]), "MB/s")
    values = [json.loads(line) for line in lines]
    yield row("its statements", rate(lambda: _walk(values)), "MB/s")
    packed = bz2.compress(text)
    yield row("bz2, in the one process that reads", rate(lambda: bz2.decompress(packed)), "MB/s")


def _walk(values: list[Any]) -> None:
    statements = Statements(lambda *_: None, LabelCollector())
    for value in values:
        statements.entity(value)


def entity(number: int) -> dict[str, Any]:
    """An item like Wikidata's: half of its text is none of its statements."""
    draw = random.Random(number)
    claims: dict[str, list[Any]] = {}
    for _ in range(draw.randint(4, 16)):
        key = f"P{draw.randint(20, 90)}"
        pairs = {"P580": [_snak("P580", draw)]} if draw.random() < 0.3 else {}
        claims.setdefault(key, []).append(
            {
                "mainsnak": _snak(key, draw),
                "type": "statement",
                "id": f"Q{number}${draw.getrandbits(128):032x}",
                "rank": "normal",
                "qualifiers": pairs,
                "references": [{"hash": f"{draw.getrandbits(160):040x}", "snaks": {}}],
            }
        )
    texts = {code: {"language": code, "value": f"item {number}"} for code in _LANGUAGES}
    links = {f"{code}wiki": {"site": f"{code}wiki", "title": f"{number}"} for code in _LANGUAGES}
    whole = {"type": "item", "id": f"Q{number}", "labels": texts, "descriptions": texts}
    return {**whole, "claims": claims, "sitelinks": links}


def _snak(key: str, draw: random.Random) -> dict[str, Any]:
    number = draw.randint(1, 100_000)
    value = {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"}
    return {
        "snaktype": "value",
        "property": key,
        "hash": f"{draw.getrandbits(160):040x}",
        "datavalue": {"value": value, "type": "wikibase-entityid"},
        "datatype": "wikibase-item",
    }


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
