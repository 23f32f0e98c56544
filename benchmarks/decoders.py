"""Every decoder: a step of training and the whole test of FB-AUTO, as ratios to m-DistMult."""

import os
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch

from benchmarks.measure import best, row
from hyperfact.config import ExperimentConfig
from hyperfact.data import load
from hyperfact.evaluation import evaluate
from hyperfact.graph.hkg import Splits
from hyperfact.models.decoders import DECODERS
from hyperfact.runs.build import resolve
from hyperfact.runs.setup import set_up
from hyperfact.system.memory import forget_peak, keep_freed_memory, peak_memory

DIM, BATCH, SAMPLE = 200, 256, 100
_FIRST = "mdistmult"
_MOST_SECONDS, _MOST_MEMORY, _LONG = 600, 4e9, 30


def rows() -> Iterator[dict[str, Any]]:
    if not os.environ.get("HYPERFACT_DATA"):
        yield row("FB-AUTO (HYPERFACT_DATA is not set)", 0, "s")
        return
    before = torch.get_num_threads()
    torch.set_num_threads(min(2, os.cpu_count() or 1))
    keep_freed_memory()
    try:
        yield from _all(load("FB-AUTO"))
    finally:
        torch.set_num_threads(before)


def _all(splits: Splits) -> Iterator[dict[str, Any]]:
    forget_peak()
    unit = (0.0, 0.0)
    for name in [_FIRST, *(name for name in DECODERS if name != _FIRST)]:
        step, test = _seconds(name, splits)
        unit = (step, test) if name == _FIRST else unit
        yield row(f"{name}: a step of {BATCH} queries", step, "s", ratio=step / unit[0])
        yield row(
            f"{name}: the test of FB-AUTO",
            test,
            "s",
            ratio=test / unit[1],
            bound=f"<= {_MOST_SECONDS} s",
            ok=test <= _MOST_SECONDS,
        )
    most = peak_memory()
    yield row(
        "most memory of all these", most / 1e9, "GB", bound="<= 4 GB", ok=most <= _MOST_MEMORY
    )


def _seconds(decoder: str, splits: Splits) -> tuple[float, float]:
    """Of the fastest of three steps, and of the test; a long one is told from some of its facts."""
    sections = {
        "encoder": {"name": "lookup"},
        "decoder": {"name": decoder},
        "training": {"dim": DIM, "batch_size": BATCH, "precision": "float32"},
    }
    setup = set_up(resolve(ExperimentConfig.from_dict(sections)), splits)
    steps = setup.trainer.run()
    list(islice(steps, 1))
    step = best(lambda: next(steps))
    test = splits.test
    order = np.random.default_rng(0).permutation(len(test))

    def rank(facts: int) -> float:
        some = test.select(np.sort(order[:facts]))
        return best(lambda: evaluate(setup.model, some, setup.known), repeat=1)

    rank(2)  # machine code is loaded once a process
    guess = rank(SAMPLE) * len(test) / SAMPLE
    return step, guess if guess > _LONG else rank(len(test))
