"""Transformation and restoration of a million facts: time, memory, and how time grows."""

import gc
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import best, peak_memory, row
from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.hkg import HKG, Columns
from hyperfact.system.memory import keep_freed_memory
from hyperfact.transforms import TRANSFORMS, equivalent, restore

FACTS = 1_000_000
_PROGRAM = """
from benchmarks.transforms import generated
from hyperfact.transforms import TRANSFORMS
TRANSFORMS[{name!r}](generated({facts}))
"""


def generated(facts: int, *, entities: int = 100_000, relations: int = 500) -> HKG:
    """Random facts with two qualifiers each; a tenth of the primary triples repeat."""
    rng = np.random.default_rng(0)

    def ids(size: int, span: int) -> Any:
        return rng.integers(0, span, size, dtype=np.int32)

    subject, relation, object_ = ids(facts, entities), ids(facts, relations), ids(facts, entities)
    copies = facts // 10
    for column in (subject, relation, object_):
        column[:copies] = column[copies : 2 * copies]
    offsets = 2 * np.arange(facts + 1)
    attributes, values = ids(2 * facts, relations), ids(2 * facts, entities)
    columns = Columns(subject, relation, object_, offsets, attributes, values)
    names = Vocabulary(map(str, range(entities))), Vocabulary(f"r{i}" for i in range(relations))
    return HKG.from_columns(*names, columns)


def seconds_of(run: Callable[[], object]) -> tuple[float, float]:
    """Time on the wall and of the processor; on a shared machine the first one waits."""
    wall, processor = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - processor


def rows() -> Iterator[dict[str, Any]]:
    keep_freed_memory()  # as the command line does
    for name in TRANSFORMS:
        _, memory = peak_memory(_PROGRAM.format(name=name, facts=FACTS))
        yield row(f"{name}, peak memory", memory, "GB", bound="<= 2 GB", ok=memory <= 2)
    one, two = generated(FACTS), generated(2 * FACTS)
    for name, transformation in TRANSFORMS.items():
        times = []
        for _ in range(5):  # in turn, so that a busy moment hits both
            gc.collect()
            times.append([seconds_of(partial(transformation, hkg)) for hkg in (one, two)])
        (wall, cpu), (wall_two, cpu_two) = np.min(times, axis=0).tolist()
        yield row(f"{name}, {FACTS:,} facts", wall, "s", bound="<= 3 s", ok=wall <= 3)
        ratio = wall_two / wall
        yield row(
            f"{name}, twice the facts", wall_two, "s", ratio=ratio, bound="<= 2.3x", ok=ratio <= 2.3
        )
        yield row(f"{name}, twice, processor time", cpu_two, "s", ratio=cpu_two / cpu)
    kg = equivalent(one)
    seconds = best(lambda: restore(kg))
    yield row(f"restore, {FACTS:,} facts", seconds, "s")
    yield row("fingerprint of that KG", best(lambda: equivalent(one).fingerprint, repeat=1), "s")
