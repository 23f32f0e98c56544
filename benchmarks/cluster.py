"""Processes that divide a model against one that holds it: time, communication, memory."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import row

_STEPS, _ROUNDS, _COPIES = 5, 2, 8
_SLOWER, _SMALLER = 1.25, 0.6  # of one process: the time, and the memory of the largest


def rows() -> Iterator[dict[str, Any]]:
    if not os.environ.get("HYPERFACT_DATA"):
        return  # the figures are of real graphs
    alone, two = best_of("JF17K", 1, 2), best_of("JF17K", 2, 1)
    ratio = two["seconds"] / alone["seconds"]
    epoch = two["seconds"] * two["steps"]
    bound = f"<= {_SLOWER} of 1 x 2 threads"
    name = "JF17K: epoch of 2 processes x 1 thread"
    yield row(name, epoch, "s", ratio=ratio, bound=bound, ok=ratio <= _SLOWER)
    yield row("JF17K: share of communication, 2 processes", 100 * two["share"], "%")
    yield from memory("WD50K", "WD50K", _STEPS)
    with TemporaryDirectory() as folder:
        copies("WD50K", Path(folder), _COPIES)
        yield from memory(f"WD50K {_COPIES} times", folder, 1)


def memory(name: str, dataset: str, steps: int) -> Iterator[dict[str, Any]]:
    """Of the largest of two processes against one as it is, and one that gives back as they do."""
    two = measure(dataset, 2, 1, steps=steps)["peak"]
    ratio = two / measure(dataset, 1, 1, steps=steps)["peak"]
    bound = f"<= {_SMALLER} of one process"
    name = f"{name}: memory of the largest of 2 processes"
    yield row(name, two, "GB", ratio=ratio, bound=bound, ok=ratio <= _SMALLER)
    frugal = measure(dataset, 1, 1, steps=steps, how="return")["peak"]
    yield row("  of one that returns what it frees", two, "GB", ratio=two / frugal)


def copies(dataset: str, folder: Path, times: int) -> None:
    """The facts of a benchmark so many times, each time of other entities."""
    source = Path(os.environ["HYPERFACT_DATA"]) / dataset
    for file in (f"{split}.txt" for split in ("train", "valid", "test")):
        facts = [line.split(",") for line in (source / file).read_text().splitlines()]
        lines = (
            ",".join(f"{name}c{copy}" if place % 2 == 0 else name for place, name in enumerate(f))
            for copy in range(times)
            for f in facts
        )
        (folder / file).write_text("\n".join(lines) + "\n")


def best_of(dataset: str, processes: int, threads: int) -> dict[str, Any]:
    """The fastest of some rounds; others share the machine."""
    found = [measure(dataset, processes, threads) for _ in range(_ROUNDS)]
    return min(found, key=lambda one: float(one["seconds"]))


def measure(
    dataset: str, processes: int, threads: int, *, steps: int = _STEPS, how: str = "default"
) -> dict[str, Any]:
    """The slowest, largest and most talkative of so many processes."""
    words = [sys.executable]
    if processes > 1:
        words += ["-m", "torch.distributed.run", "--nproc-per-node", str(processes)]
    words += ["-m", "benchmarks._team", dataset, str(threads), str(steps), how]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return {key: max(line[key] for line in lines) for key in lines[0]}
