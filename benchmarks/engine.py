"""Training: whole steps against plain PyTorch and against the machine, time, memory, growth."""

import os
import random
import time
from collections.abc import Callable, Iterator
from itertools import islice, product
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from benchmarks import _learning
from benchmarks.measure import best, peak_memory, row
from hyperfact.config import ExperimentConfig
from hyperfact.data import load
from hyperfact.evaluation import evaluate
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact, Vocabulary
from hyperfact.graph.hkg import HKG, Columns, Splits
from hyperfact.graph.kg import KG
from hyperfact.graph.queries import KnownAnswers, Queries
from hyperfact.graph.ragged import offsets_of
from hyperfact.kernels.cross_entropy import has_fast_bfloat16
from hyperfact.runs.build import build, resolve
from hyperfact.runs.experiment import run
from hyperfact.system.memory import keep_freed_memory
from hyperfact.training.objectives import make_objective
from hyperfact.training.trainer import Trainer

DIM, BATCH, THREADS = 200, 1024, 2
ENTITIES, RELATIONS, FACTS = 28_645, 501, 61_104  # of JF17K


def rows() -> Iterator[dict[str, Any]]:
    torch.set_num_threads(THREADS)
    keep_freed_memory()
    yield from _steps(_jf17k())
    yield _memory()
    yield _growth()
    yield from _overfit()
    if os.environ.get("HYPERFACT_DATA"):
        yield from _learning.rows()


def _config(*changes: str) -> ExperimentConfig:
    base = [f"training.dim={DIM}", f"training.batch_size={BATCH}", "training.precision=auto"]
    return resolve(ExperimentConfig.from_toml("", [*base, *changes]))


def _jf17k() -> HKG:
    """The real training facts where they are present, else generated ones of the same size."""
    return load("JF17K").train if os.environ.get("HYPERFACT_DATA") else generated(FACTS)


def generated(facts: int, *, entities: int = ENTITIES, seed: int = 0) -> HKG:
    """Facts with few frequent and many rare entities; arities as in JF17K."""
    rng = np.random.default_rng(seed)
    counts = rng.choice(5, facts, p=[0.58, 0.31, 0.09, 0.015, 0.005])
    total = int(counts.sum())

    def draw(size: int, limit: int) -> Any:
        return (limit * rng.random(size) ** 3).astype(np.int32)

    columns = Columns(
        draw(facts, entities),
        draw(facts, RELATIONS // 2),
        draw(facts, entities),
        offsets_of(counts),
        (RELATIONS // 2 + draw(total, RELATIONS // 2)).astype(np.int32),
        draw(total, entities),
    )
    e, r = (Vocabulary(f"{k}{i}" for i in range(n)) for k, n in (("e", entities), ("r", RELATIONS)))
    return HKG.from_columns(e, r, columns)


def _trainer(train: HKG, *changes: str) -> Trainer:
    config = _config(*changes)
    generator = torch.Generator().manual_seed(0)
    model = build(config, train, generator)
    return Trainer(
        model,
        make_objective(train, config.objective),
        training=config.training,
        optimizer=config.optimizer,
        generator=generator,
    )


def _seconds(trainer: Trainer, *, repeat: int = 5) -> float:
    """The fastest of some steps, after two to warm up."""
    steps = trainer.run()
    list(islice(steps, 2))
    return best(lambda: next(steps), repeat=repeat)


def _steps(train: HKG) -> Iterator[dict[str, Any]]:
    trainer = _trainer(train)
    ours = _seconds(trainer)
    graph, queries = trainer.model.graph, Queries.of(train)
    plain = Plain(graph)
    theirs = best(plain.step_of(train, queries), repeat=2)
    epochs = ours * trainer.steps, theirs * -(-len(queries) // BATCH)
    ratio = epochs[1] / epochs[0]
    yield row(
        "training epoch, against plain PyTorch without grouping",
        ratio,
        "x",
        ratio=ratio,
        bound=">= 5x",
        ok=ratio >= 5,
    )
    yield row("the same, one step of 1,024 queries each", ours, "s", ratio=theirs / ours)
    for dtype in (torch.float32, torch.bfloat16)[: 1 + has_fast_bfloat16()]:
        yield _above_roofline(train, dtype)
    yield row("epoch of JF17K, every slot, all entities (aim 40 s)", epochs[0], "s")


def _above_roofline(train: HKG, dtype: torch.dtype) -> dict[str, Any]:
    name = str(dtype).removeprefix("torch.")
    trainer = _trainer(train, f"training.precision={name}")
    over = _seconds(trainer) / roofline(trainer.model.graph, dtype)
    what = f"training step above its roofline, {name} (aim 1.4x)"
    return row(what, over, "x", ratio=over, bound="<= 2x", ok=over <= 2)


def roofline(graph: KG, dtype: torch.dtype) -> float:
    """Seconds that products and compulsory traffic of a step need at rates measured now."""
    a = torch.randn(2048, DIM).to(dtype)
    b = torch.randn(DIM, 8192).to(dtype)
    rate = 2 * a.shape[0] * b.shape[1] * DIM / best(lambda: a @ b, repeat=10)
    source, target = torch.zeros(2**25), torch.empty(2**25)  # 128 MB each
    bandwidth = 2 * 4 * 2**25 / best(lambda: target.copy_(source), repeat=5)
    entities, nodes, edges = graph.num_entities, graph.num_nodes, len(graph)
    scores = 3 * 2 * BATCH * entities * DIM  # logits, and both gradients
    layer = 3 * 3 * 2 * entities * DIM**2  # two directions and the loop, forward and back
    line = 4 * DIM  # bytes of a vector
    adam = 7 * line * (nodes + 2 * graph.num_edge_types)  # p, m, v read and written, g read
    messages = 3 * 2 * edges * line  # each edge and direction: once forward, twice back
    states = 12 * entities * line  # sums, norm, update, and their gradients
    logits = 5 * dtype.itemsize * BATCH * entities  # written, judged in place, read by two products
    return (scores + layer) / rate + (adam + messages + states + logits) / bandwidth


class Plain(nn.Module):
    """CompGCN (rotate, one layer) and m-DistMult as one writes them: a message for each edge."""

    def __init__(self, graph: KG) -> None:
        super().__init__()
        self.graph, types = graph, graph.num_edge_types
        self.entities = nn.Parameter(torch.randn(graph.num_entities, DIM) * 0.3)
        self.common = nn.Parameter(torch.randn(len(graph.relations), 160) * 0.3)
        self.own = nn.Parameter(torch.randn(graph.num_mediators, 40) * 0.3)
        self.relations = nn.Parameter(torch.randn(2 * types, DIM) * 0.3)
        self.loop = nn.Parameter(torch.randn(1, DIM) * 0.3)
        self.matrices = nn.ParameterList(torch.randn(DIM, DIM) / DIM**0.5 for _ in range(4))
        self.norm = nn.BatchNorm1d(DIM)
        self.psi, self.source, self.target, self.kind = (
            torch.from_numpy(x.astype(np.int64))
            for x in (graph.mediator_relation, graph.source, graph.target, graph.edge_type)
        )

    def encode(self) -> tuple[Tensor, Tensor]:
        x = torch.cat([self.entities, torch.cat([self.common[self.psi], self.own], dim=1)])
        types = self.graph.num_edge_types
        total = rotate(x, self.loop) @ self.matrices[2]
        for u, t, r, w in (
            (self.source, self.target, self.kind, self.matrices[0]),
            (self.target, self.source, self.kind + types, self.matrices[1]),
        ):
            degree = torch.bincount(t, minlength=len(x)).clamp(min=1)
            messages = rotate(x[u], self.relations[r]) @ w / degree[t][:, None]
            total = total + torch.zeros_like(x).index_add(0, t, messages)
        h = x + 0.1 * self.norm(total / 3)
        z = self.relations + 0.1 * (self.relations @ self.matrices[3])
        return h[: self.graph.num_entities], z

    def step_of(self, train: HKG, queries: Queries) -> Callable[[], None]:
        optimizer = torch.optim.Adam(self.parameters(), lr=0.005)
        chosen = np.random.default_rng(0).permutation(len(queries))[:BATCH]
        facts = FactBatch.of(train, queries.fact[chosen])
        slots = torch.from_numpy(queries.slot[chosen].astype(np.int64))
        answers = torch.from_numpy(queries.answer[chosen].astype(np.int64))

        def step() -> None:
            optimizer.zero_grad()
            h, z = self.encode()
            known = facts.mask.scatter(1, slots[:, None], value=False)[:, :, None]
            vectors = functional.dropout(h[facts.entities] / 0.3, 0.3)
            mask = facts.relation_mask[:, :, None]
            pooled = (z[facts.relations] * mask).sum(1) / mask.sum(1)
            query = torch.where(known, vectors, 1.0).prod(1) * functional.dropout(pooled, 0.3)
            loss = functional.cross_entropy(query @ h.T / DIM**0.5, answers)
            torch.autograd.backward(loss)
            optimizer.step()

        return step


def rotate(x: Tensor, r: Tensor) -> Tensor:
    (a, b), (c, d) = x.chunk(2, dim=-1), r.chunk(2, dim=-1)
    return torch.cat([a * c - b * d, a * d + b * c], dim=-1)


def _memory() -> dict[str, Any]:
    facts = (
        'load("WD50K").train'
        if os.environ.get("HYPERFACT_DATA")
        else "generated(166_435, entities=47_155)"
    )
    code = (
        "import torch; torch.set_num_threads(2)\n"
        "from itertools import islice\n"
        "from hyperfact.data import load\n"
        "from benchmarks.engine import _trainer, generated\n"
        f"list(islice(_trainer({facts}).run(), 3))\n"
    )
    _, gigabytes = peak_memory(code)
    return row(
        "peak memory, training WD50K", gigabytes, "GB", bound="<= 2.5 GB", ok=gigabytes <= 2.5
    )


def _growth() -> dict[str, Any]:
    times = [_seconds(_trainer(generated(n)), repeat=4) for n in (FACTS, 2 * FACTS)]
    ratio = times[1] / times[0]
    return row(
        "training step, twice the facts",
        times[1],
        "s",
        ratio=ratio,
        bound="<= 2.3x",
        ok=ratio <= 2.3,
    )


def _overfit() -> Iterator[dict[str, Any]]:
    """Fifty facts by heart, the paper's encoders with its decoders; tests have the others."""
    rng = random.Random(0)
    names = [f"e{i}" for i in range(150)]
    facts = [
        Fact(
            rng.choice(names),
            f"r{rng.randrange(3)}",
            rng.choice(names),
            tuple((f"a{i}", rng.choice(names)) for i in range(rng.choice((0, 1, 3)))),
        )
        for _ in range(50)
    ]
    graph = HKG.from_facts(facts)
    encoders, decoders = (
        ("compgcn", "rgcn", "lookup"),
        ("mdistmult", "mtransh", "transformer", "hype"),
    )
    for encoder, decoder in product(encoders, decoders):
        slow = decoder == "transformer"
        tree = {
            "encoder": {"name": encoder},
            "decoder": {"name": decoder, "dropout": 0.0},
            "optimizer": {"lr": 0.003 if slow else 0.02, "lr_decay": 0.98},
            "training": {
                "dim": 32,
                "batch_size": 32,
                "epochs": 100 if slow else 40,
                "validate_every": 0,
            },
        }
        start = time.perf_counter()
        found = run(ExperimentConfig.from_dict(tree), splits=Splits({"train": graph}))
        seconds = time.perf_counter() - start
        mrr = evaluate(found.model, graph, KnownAnswers.build(graph)).metrics.mrr
        yield row(
            f"50 facts by heart, {encoder} x {decoder} (train MRR {mrr:.3f})",
            seconds,
            "s",
            bound="MRR >= .99, <= 60 s",
            ok=mrr >= 0.99 and seconds <= 60,
        )
