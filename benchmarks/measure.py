"""How a benchmark measures: the best of several runs, and peak memory in a process of its own."""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any


def best(run: Callable[[], object], *, repeat: int = 3) -> float:
    """Seconds of the fastest of `repeat` runs; others share the machine."""
    times = []
    for _ in range(repeat):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def row(
    name: str,
    value: float,
    unit: str,
    *,
    ratio: float | None = None,
    bound: str | None = None,
    ok: bool | None = None,
) -> dict[str, Any]:
    """One row of the report."""
    return {"row": name, "value": value, "unit": unit, "ratio": ratio, "bound": bound, "pass": ok}


def best_of_both(
    small: Callable[[], object], large: Callable[[], object], *, repeat: int = 3
) -> tuple[float, float]:
    """The fastest of `repeat` runs of each, taken in turns so that both see the same machine."""
    pairs = [(best(small, repeat=1), best(large, repeat=1)) for _ in range(repeat)]
    return min(a for a, _ in pairs), min(b for _, b in pairs)


def peak_memory(code: str, *, setup: str = "") -> tuple[float, float]:
    """Seconds of Python `code` after `setup`, and peak gigabytes of both, in a fresh process."""
    tail = (
        "\nimport json, time\nfrom hyperfact.system.memory import peak_memory\n"
        "print(json.dumps([time.perf_counter() - _start, peak_memory() / 1e9]))"
    )
    head = f"{setup}\nimport time\n_start = time.perf_counter()\n"
    done = subprocess.run(
        [sys.executable, "-c", head + code + tail], check=True, capture_output=True, text=True
    )
    seconds, gigabytes = json.loads(done.stdout.splitlines()[-1])
    return seconds, gigabytes
