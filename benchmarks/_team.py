"""One process of a training that is measured: `… DATASET THREADS STEPS default|return`.

Prints a line of JSON: seconds of a step, the share of it that communication takes, peak memory.
"""

import json
import sys
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from hyperfact.config import ExperimentConfig
from hyperfact.data import load
from hyperfact.evaluation import evaluate
from hyperfact.runs.build import CHOICE, resolve
from hyperfact.runs.launch import as_member
from hyperfact.runs.setup import set_up
from hyperfact.system.memory import peak_memory, return_freed_memory
from hyperfact.training.events import Report

_RANKED = 1024  # facts


def timed(call: Callable[..., Any], spent: list[float]) -> Callable[..., Any]:
    """The same collective operation; what it takes is added."""

    def counting(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        result = call(*args, **kwargs)
        spent[0] += time.perf_counter() - start
        return result

    return counting


def main(dataset: str, threads: int, steps: int, how: str) -> None:
    torch.set_num_threads(threads)
    changes = ["training.dim=200", "training.batch_size=1024", "training.precision=float32"]
    config, spent = resolve(ExperimentConfig.from_toml("", changes)), [0.0]
    for name in ("all_reduce", "all_gather", "broadcast"):
        setattr(dist, name, timed(getattr(dist, name), spent))
    with as_member(1) as team:
        splits = load(dataset)
        setup = set_up(config, splits)
        if how == "return":  # what is freed, as processes that divide a model do
            return_freed_memory()
        reports = (event for event in setup.trainer.run() if isinstance(event, Report))
        list(islice(reports, 2))
        spent[0], times = 0.0, []
        for _ in range(steps):
            start = time.perf_counter()
            next(reports)
            times.append(time.perf_counter() - start)
        share = spent[0] / sum(times)
        some = splits.valid.select(np.arange(min(_RANKED, len(splits.valid))))
        evaluate(setup.model, some, setup.known, policy=CHOICE)
        found = {"seconds": min(times), "share": share, "peak": peak_memory() / 1e9}
        found |= {"rank": 0 if team is None else team.rank, "steps": setup.trainer.steps}
    sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])
