"""Queries with several blanks against 47,155 entities: an untrained model, facts of WD50K's size.

`HYPERFACT_RUN` names a run of your own to be asked in its place, with queries of its dataset.
"""

import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from benchmarks.measure import row
from benchmarks.predict import stored_run
from hyperfact.predict import Predictor
from hyperfact.predict.logic.asker import Asker
from hyperfact.predict.logic.query_ranks import rank_queries
from hyperfact.predict.logic.sampling import SampledQuery, Sampler, Wanted

BOUNDS = {"1p": None, "2p": 100, "3p": 300, "2i": None, "2in": None}  # milliseconds a query
MANY = 1000
EACH = 25  # queries of a shape, asked one after the other


def rows() -> Iterator[dict[str, Any]]:
    before = torch.get_num_threads()
    torch.set_num_threads(min(2, os.cpu_count() or 1))
    try:
        with tempfile.TemporaryDirectory() as folder:
            own = os.environ.get("HYPERFACT_RUN")
            yield from _rows(Predictor.load(Path(own) if own else _run(Path(folder))))
    finally:
        torch.set_num_threads(before)


def _run(folder: Path) -> Path:
    return stored_run(folder, "mdistmult")


def _rows(predictor: Predictor) -> Iterator[dict[str, Any]]:
    asker = Asker(predictor)
    one = _drawn(predictor, tuple(BOUNDS), EACH)
    asker.ask(one[0].query)  # indexes what is known
    for shape, bound in BOUNDS.items():
        times = [_seconds(asker, q) for q in one if q.shape == shape]
        median, worst = statistics.median(times) * 1e3, max(times) * 1e3
        ok = median <= bound if bound else None
        text = f"<= {bound} ms" if bound else None
        yield row(f"{shape}: one query, median of {len(times)}", median, "ms", bound=text, ok=ok)
        yield row("  the slowest of them", worst, "ms")
    many = _drawn(predictor, ("1p", "2p", "3p", "2i", "3i"), MANY // 5)
    start, spent = time.perf_counter(), time.process_time()
    rank_queries(asker, many)
    took, spent = time.perf_counter() - start, time.process_time() - spent
    rate = len(many) / took
    yield row(f"{len(many):,} queries in a batch", rate, "1/s", bound=">= 50 1/s", ok=rate >= 50)
    yield row("  per second of processor time, whatever else runs", len(many) / spent, "1/s")


def _drawn(predictor: Predictor, shapes: tuple[str, ...], count: int) -> list[SampledQuery]:
    drawn = Sampler(predictor.splits, Wanted(shapes=shapes, count=count)).draw()
    return [query for query in drawn if query.twin is None]


def _seconds(asker: Asker, query: SampledQuery) -> float:
    start = time.perf_counter()
    asker.ask(query.query)
    return time.perf_counter() - start
