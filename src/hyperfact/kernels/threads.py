"""Run ranges of a kernel on as many threads as torch uses.

A result never depends on the number of threads: a kernel either owns its rows, or works on a
partition that the data alone decides. The pool is thread-safe and starts anew in a forked child.
"""

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue

import numpy as np
import torch
from numpy.typing import NDArray

from hyperfact.system.cores import cores

_CHUNKS_PER_THREAD = 4  # uneven rows even out; one call into a kernel costs some microseconds
_pool: ThreadPoolExecutor | None = None


def parallel_for(task: Callable[[int], None], count: int) -> None:
    """Call `task(0)` to `task(count - 1)`, each once, in any order, and wait for all of them."""
    threads = min(torch.get_num_threads(), count)
    queue: SimpleQueue[int] = SimpleQueue()
    for index in range(count):
        queue.put(index)

    def drain() -> None:
        while True:
            try:
                index = queue.get_nowait()
            except Empty:
                return
            task(index)

    helpers = [_executor().submit(drain) for _ in range(threads - 1)]
    try:
        drain()
    finally:
        for helper in helpers:
            if not helper.cancel():  # a helper that never started has nothing left to do
                helper.result()


def parallel_rows(task: Callable[[int, int], None], bounds: NDArray[np.int64]) -> None:
    """Call `task(low, high)` for each pair of neighbours in `bounds`."""
    parallel_for(lambda i: task(int(bounds[i]), int(bounds[i + 1])), len(bounds) - 1)


def even_bounds(rows: int, *, per_thread: int = _CHUNKS_PER_THREAD) -> NDArray[np.int64]:
    """Cut `rows` equal rows into some pieces per thread."""
    pieces = max(1, min(rows, torch.get_num_threads() * per_thread))
    return np.linspace(0, rows, pieces + 1).astype(np.int64)


def ragged_bounds(offsets: NDArray[np.int64], *, pieces: int | None = None) -> NDArray[np.int64]:
    """Cut rows with `offsets` into pieces of about equal work, a row counting as one entry more."""
    rows = len(offsets) - 1
    pieces = pieces or torch.get_num_threads() * _CHUNKS_PER_THREAD
    work = offsets - offsets[0] + np.arange(rows + 1)
    cuts = np.searchsorted(work, np.linspace(0, work[-1], pieces + 1)[1:-1])
    return np.concatenate(([0], cuts, [rows])).astype(np.int64)


def _executor() -> ThreadPoolExecutor:
    global _pool
    if _pool is None:
        _pool = ThreadPoolExecutor(cores(), thread_name_prefix="hyperfact")
    return _pool


def _forget_pool() -> None:
    global _pool
    _pool = None


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_forget_pool)
