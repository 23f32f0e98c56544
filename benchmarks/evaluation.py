"""Ranking: the whole test of JF17K against one fact at a time, the filter index of WD50K."""

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.measure import best, row
from hyperfact.config import ExperimentConfig
from hyperfact.data import load
from hyperfact.evaluation import Background, evaluate
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.queries import KnownAnswers, Queries
from hyperfact.graph.ragged import group
from hyperfact.models.decoders.decoder import put
from hyperfact.models.transeq import TransEQ
from hyperfact.runs.build import build, resolve
from hyperfact.system.memory import keep_freed_memory

DIM, SAMPLE = 200, 12


def model_of(train: HKG) -> TransEQ:
    sections = {"encoder": {"name": "lookup"}, "training": {"dim": DIM, "precision": "float32"}}
    config = resolve(ExperimentConfig.from_dict(sections))
    return build(config, train, torch.Generator().manual_seed(0))


def one_at_a_time(model: TransEQ, splits: Splits, facts: list[int]) -> list[tuple[int, int]]:
    """The straightforward evaluator: for each slot of each fact, every corrupted fact is scored."""
    known, names = set(splits.all), list(splits.entities)
    graph, found = splits.test, []
    z = model.encode()
    everyone = torch.arange(len(names))
    for place in facts:
        fact = graph[place]
        one = FactBatch.of(graph, np.array([place]))
        for slot in range(fact.arity):
            many = FactBatch(
                *(t.expand(len(names), -1) for t in (one.entities, one.relations, one.mask))
            )
            slots = torch.full((len(names),), slot)
            scores = model.decoder.score(put(many, slots, everyone), slots, z).tolist()
            answer = int(one.entities[0, slot])
            rivals = [
                s
                for e, s in enumerate(scores)
                if e != answer and _filled(fact, slot, names[e]) not in known
            ]
            true = scores[answer]
            found.append((sum(s > true for s in rivals), rivals.count(true)))
    return found


def _filled(fact: Fact, slot: int, name: str) -> Fact:
    pairs = list(fact.qualifiers)
    if slot >= 2:
        pairs[slot - 2] = (pairs[slot - 2][0], name)
    subject = name if slot == 0 else fact.subject
    return Fact(subject, fact.relation, name if slot == 1 else fact.object, tuple(pairs))


def _ranking() -> Iterator[dict[str, Any]]:
    splits = load("JF17K")
    model, background = model_of(splits.train), Background.of(splits)
    evaluate(model, splits.test[:50], background)  # machine code is loaded once per process
    cpu, start = time.process_time(), time.perf_counter()
    found = evaluate(model, splits.test, background)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    name = f"rank {len(found.ranks):,} queries of JF17K, d = {DIM}"
    yield row(name, seconds, "s", bound="<= 10 s", ok=seconds <= 10)
    yield row("  processor time of all threads", cpu, "s")
    yield from _share_of_products(splits, seconds)
    rng = np.random.default_rng(0)
    facts = sorted(rng.choice(len(splits.test), SAMPLE, replace=False).tolist())
    with torch.no_grad():
        start = time.perf_counter()
        counts = one_at_a_time(model, splits, facts)
        each = (time.perf_counter() - start) / len(counts)
    rows = np.flatnonzero(np.isin(found.ranks.fact, facts))
    near = np.abs(found.ranks.greater[rows] - np.array([g for g, _ in counts]))
    whole = each * len(found.ranks)
    line = row(
        f"  one fact at a time ({len(counts)} queries, extrapolated)",
        whole,
        "s",
        ratio=whole / seconds,
        bound=">= 100x",
        ok=whole >= 100 * seconds and int(near.max()) <= 2,  # another order of summation
    )
    yield line


def _share_of_products(splits: Splits, seconds: float) -> Iterator[dict[str, Any]]:
    """What the matrix products alone take, for each distinct query once."""
    queries = Queries.of(splits.test)
    distinct = len(group(queries.table(splits.test.columns)).keys)
    left, right = torch.randn(1024, DIM), torch.randn(DIM, len(splits.entities))
    out = torch.empty(1024, len(splits.entities))
    bound = best(lambda: torch.mm(left, right, out=out)) * distinct / 1024
    yield row(f"  matrix products of {distinct:,} distinct queries", bound, "s")
    yield row("  share of the bound by matrix products", bound / seconds, "of 1")


def _filters() -> Iterator[dict[str, Any]]:
    graph = load("WD50K").all
    seconds = best(lambda: KnownAnswers.build(graph))
    name = f"filter index of WD50K, {len(graph):,} facts, all slots"
    yield row(name, seconds, "s", bound="<= 2 s", ok=seconds <= 2)


def rows() -> Iterator[dict[str, Any]]:
    if not os.environ.get("HYPERFACT_DATA"):
        yield row("JF17K, WD50K (HYPERFACT_DATA is not set)", 0, "s")
        return
    before = torch.get_num_threads()
    torch.set_num_threads(min(2, os.cpu_count() or 1))
    keep_freed_memory()
    try:
        yield from _filters()
        yield from _ranking()
    finally:
        torch.set_num_threads(before)
