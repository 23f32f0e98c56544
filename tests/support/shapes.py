"""Forecasts and measurements of memory, each in a process of its own.

Run as a program, so that nothing of other tests is in its memory and no thread is forked.
"""

import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from hyperfact.config import ExperimentConfig
from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.hkg import HKG, Columns, Splits
from hyperfact.graph.ragged import offsets_of
from hyperfact.runs.experiment import run
from hyperfact.runs.plan import forecast
from hyperfact.system.memory import peak_memory

SHAPES: dict[str, tuple[int, int, dict[str, Any]]] = {  # entities, facts, settings
    "small": (2_000, 600, {}),
    "wide": (6_000, 300, {"training": {"dim": 300}}),
    "many entities": (30_000, 250, {"training": {"dim": 100}}),
    "without encoder": (20_000, 300, {"encoder": {"name": "lookup"}, "training": {"dim": 150}}),
    "mean of weights": (10_000, 300, {"training": {"dim": 200, "average": 0.9}}),
}


def facts_of(entities: int, facts: int) -> Splits:
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, facts)

    def ids(size: int, span: int) -> Any:
        return rng.integers(0, span, size, dtype=np.int32)

    total = int(counts.sum())
    columns = Columns(
        ids(facts, entities),
        ids(facts, 20),
        ids(facts, entities),
        offsets_of(counts),
        ids(total, 20),
        ids(total, entities),
    )
    names = Vocabulary(f"e{i}" for i in range(entities)), Vocabulary(f"r{i}" for i in range(20))
    whole = HKG.from_columns(*names, columns)
    return Splits({"train": whole[100:], "valid": whole[:50], "test": whole[50:100]}, "shape")


def in_child(act: Callable[[], float]) -> float:
    """The result of this in a process of its own, which memory of earlier tests does not touch."""
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(send, json.dumps(act()).encode())
        finally:
            os._exit(0)
    os.close(send)
    with os.fdopen(receive) as answer:
        found = answer.read()
    os.waitpid(child, 0)
    return float(json.loads(found))


def main() -> None:
    """Print for each shape: bytes before, bytes forecast, bytes taken."""
    torch.set_num_threads(1)
    before = in_child(lambda: float(peak_memory()))
    tiny = {"training": {"dim": 8, "epochs": 1, "precision": "float32"}}
    run(ExperimentConfig.from_dict(tiny), splits=facts_of(100, 150))  # loads kernels for all
    found = {}
    for shape, (entities, facts, sections) in SHAPES.items():
        training = {"dim": 64, "epochs": 1, "validate_every": 1, "precision": "float32"}
        given = {**sections, "training": {**training, **sections.get("training", {})}}
        config, splits = ExperimentConfig.from_dict(given), facts_of(entities, facts)

        def told(config: ExperimentConfig = config, splits: Splits = splits) -> float:
            return float(forecast(config, splits, seconds=0.2).memory)

        def taken(config: ExperimentConfig = config, splits: Splits = splits) -> float:
            run(config, splits=splits)
            return float(peak_memory())

        found[shape] = [before, in_child(told), in_child(taken)]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
