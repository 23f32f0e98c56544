"""Datasets in parts, and an engine to work on them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hyperfact.data import write
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.scale import DiskFacts
from hyperfact.system.engine import Duck, duckdb_engine, work_folder


@contextmanager
def duck(folder: Path, *, memory_limit: str | None = "200MB") -> Iterator[Duck]:
    """DuckDB with little memory."""
    with (
        work_folder(folder) as work,
        duckdb_engine(work, memory_limit=memory_limit, threads=1, tell=lambda _: None) as engine,
    ):
        yield engine


@contextmanager
def on_disk(data: HKG | Splits, folder: Path) -> Iterator[DiskFacts]:
    """These facts as a dataset in parts, opened."""
    write(data, folder / "parts", format="parts")
    with duck(folder) as engine:
        yield DiskFacts.open(folder / "parts", engine)
