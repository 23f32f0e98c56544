"""Questions against 47,155 entities: an untrained model and random facts of WD50K's size."""

import os
import random
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.measure import best, row
from hyperfact.config import ExperimentConfig
from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.hkg import HKG, Columns, Splits
from hyperfact.graph.ragged import offsets_of
from hyperfact.predict import Predictor, write_any
from hyperfact.predict.fitting import entity_questions
from hyperfact.predict.questions import ResolvedQuestion
from hyperfact.runs.artifacts import RunWriter
from hyperfact.runs.build import build, resolve
from hyperfact.runs.run import Run, save

QUESTIONS = 10_000


@dataclass(frozen=True)
class Size:
    """How much a generated dataset holds."""

    entities: int
    relations: int
    splits: Mapping[str, int]


WD50K = Size(47_155, 531, {"train": 166_435, "valid": 23_913, "test": 46_159})


def facts(count: int, seed: int, entities: Vocabulary, relations: Vocabulary) -> HKG:
    """One fact in eight has one to three qualifiers; few entities and relations have most facts."""
    rng = np.random.default_rng(seed)

    def draw(size: int, many: int) -> Any:
        return (size * rng.random(many) ** 2).astype(np.int32)

    counts = np.where(rng.random(count) < 0.125, rng.integers(1, 4, count), 0)
    pairs = int(counts.sum())
    columns = Columns(
        draw(len(entities), count),
        draw(len(relations), count),
        draw(len(entities), count),
        offsets_of(counts),
        draw(len(relations), pairs),
        draw(len(entities), pairs),
    )
    return HKG.from_columns(entities, relations, columns)


def stored_run(folder: Path, decoder: str, size: Size = WD50K) -> Path:
    """An untrained run with the default encoder and dimension."""
    entities = Vocabulary(f"entity number {i}" for i in range(size.entities))
    relations = Vocabulary(f"relation {i}" for i in range(size.relations))
    parts = {
        name: facts(count, seed, entities, relations)
        for seed, (name, count) in enumerate(size.splits.items())
    }
    splits = Splits(parts, "synthetic")
    tree = {"decoder": {"name": decoder}, "training": {"precision": "float32"}}
    config = resolve(ExperimentConfig.from_dict(tree))
    model = build(config, splits.train, torch.Generator().manual_seed(0))
    writer = RunWriter(folder / decoder)
    writer.text("config.toml", config.to_toml())
    save(Run(config, splits, model), writer)
    predictor = Predictor.load(folder / decoder, splits=splits)
    for kind in ("entity", "partial"):
        predictor.calibration(kind)  # leaves it in the cache
    return folder / decoder


def questions(predictor: Predictor) -> list[str]:
    """Different ones, from test facts."""
    asked, _ = entity_questions(predictor.splits.test[:QUESTIONS])
    unique = list(dict.fromkeys(asked))
    random.Random(0).shuffle(unique)
    names = predictor.entities, predictor.relations
    found = (ResolvedQuestion.by_ids(ids, *names) for ids in unique[:QUESTIONS])
    return [write_any(one.question) for one in found]


def decoder_rows(folder: Path, decoder: str, *, bounds: bool) -> Iterator[dict[str, Any]]:
    path = stored_run(folder, decoder)
    seconds = best(lambda: Predictor.load(path), repeat=3)
    ok = seconds <= 2 if bounds else None
    yield row(f"{decoder}: load a run", seconds, "s", bound="<= 2 s" if bounds else None, ok=ok)
    predictor = Predictor.load(path)
    asked = questions(predictor)
    first = best(lambda: predictor.ask(asked[0]), repeat=1)
    yield row(f"{decoder}: first question (indexes known answers)", first, "s")
    times = []
    for question in asked[:50]:
        start = time.perf_counter()
        predictor.ask(question)
        times.append(time.perf_counter() - start)
    median = statistics.median(times) * 1e3
    ok = median <= 20 if bounds else None
    name = f"{decoder}: one question, median of 50"
    yield row(name, median, "ms", bound="<= 20 ms" if bounds else None, ok=ok)
    count = len(asked) if bounds else len(asked) // 10
    start = time.process_time()
    seconds = best(lambda: list(predictor.ask_many(asked[:count])), repeat=2)
    spent = (time.process_time() - start) / 2
    rate = count / seconds
    ok = rate >= 1000 if bounds else None
    name = f"{decoder}: {count:,} different questions"
    yield row(name, rate, "1/s", bound=">= 1,000 1/s" if bounds else None, ok=ok)
    yield row("  per second of processor time, whatever else runs", count / spent, "1/s")


def rows() -> Iterator[dict[str, Any]]:
    before = torch.get_num_threads()
    torch.set_num_threads(min(2, os.cpu_count() or 1))
    try:
        with tempfile.TemporaryDirectory() as folder:
            for decoder in ("mdistmult", "hype", "mtransh", "transformer"):
                yield from decoder_rows(Path(folder), decoder, bounds=decoder == "mdistmult")
    finally:
        torch.set_num_threads(before)
