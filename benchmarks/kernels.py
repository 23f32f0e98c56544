"""Kernels against plain PyTorch: a graph of JF17K's size, two threads, d = 200, float32."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.measure import best, row
from hyperfact.kernels import (
    COMPOSITIONS,
    Boxes,
    EdgeIndex,
    SoftmaxOptions,
    Targets,
    box_distance,
    complex_distance,
    compose_aggregate,
    count_rivals,
    dropout,
    expanded_box_distance,
    has_fast_bfloat16,
    reference,
    softmax_cross_entropy,
    softmax_loss_,
    window_sums,
)

ENTITIES, MEDIATORS, RELATIONS, DIM = 28_645, 25_662, 1_150, 200
BASE_EDGES, QUALIFIERS, BATCH = 61_104, 35_000, 1_024
NODES = ENTITIES + MEDIATORS
ROUNDS = 3
Step = Callable[[], object]


def graph() -> EdgeIndex:
    """Base edges, two per mediator, qualifiers; few nodes and relations have most of them."""
    generator = np.random.default_rng(0)
    count = BASE_EDGES + 2 * MEDIATORS + QUALIFIERS
    mediators = np.arange(ENTITIES, NODES)
    qualified = generator.choice(mediators, QUALIFIERS)
    base = (ENTITIES * generator.random(BASE_EDGES) ** 3).astype(np.int64)
    return EdgeIndex.build(
        np.concatenate([base, mediators, mediators, qualified]),
        (RELATIONS * generator.random(count) ** 3).astype(np.int64),
        (ENTITIES * generator.random(count) ** 3).astype(np.int64),
        num_nodes=NODES,
        num_relations=RELATIONS,
    )


def compose_step(function: Any, composition: str, edges: EdgeIndex) -> Step:
    """Forward and backward over the edges and over the reversed edges, as in a CompGCN layer."""
    nodes = edges.num_nodes
    x = torch.randn(nodes, DIM, requires_grad=True)
    z = torch.randn(2 * edges.num_relations, DIM, requires_grad=True)
    weights, upstream = torch.rand(len(edges)), torch.randn(nodes, DIM)
    for side in (edges, edges.reversed):
        _ = side.by_target, side.source_parts, side.columns(x.device)  # made once per graph

    def step() -> None:
        sides = zip((edges, edges.reversed), z.chunk(2), strict=True)
        outputs = [
            function(x, half, edges=side, weights=weights, composition=composition, rows=nodes)
            for side, half in sides
        ]
        torch.autograd.grad(outputs, (x, z), [upstream, upstream])

    return step


def softmax_steps() -> tuple[Step, Step]:
    """The loss of a batch of queries against all entities, fused and plain."""
    queries = torch.randn(BATCH, DIM, requires_grad=True)
    entities = (torch.randn(ENTITIES, DIM) * 0.1).requires_grad_()
    counts = torch.randint(1, 5, (BATCH,))
    offsets = torch.cat([torch.zeros(1, dtype=torch.long), counts.cumsum(0)])
    answers = torch.cat([torch.randperm(ENTITIES)[: int(count)] for count in counts])
    owner = torch.arange(BATCH).repeat_interleave(counts)
    targets = Targets(offsets, answers)

    def plain() -> None:
        logits = queries @ entities.T
        wanted = logits.flatten().index_select(0, owner * ENTITIES + answers) / counts[owner]
        loss = logits.logsumexp(dim=1).sum() - wanted.sum()
        torch.autograd.grad(loss, (queries, entities))

    def fused() -> None:
        loss = softmax_cross_entropy(queries, entities, targets=targets)
        torch.autograd.grad(loss, (queries, entities))

    return fused, plain


def logits_steps() -> tuple[Step, Step]:
    """The same without the matrix products: from logits to their gradient."""
    logits, answers = torch.randn(BATCH, ENTITIES), torch.randint(ENTITIES, (BATCH,))
    targets, work = Targets(torch.arange(BATCH + 1), answers), logits.clone()

    def plain() -> None:
        leaf = logits.requires_grad_()
        loss = torch.nn.functional.cross_entropy(leaf, answers, reduction="sum")
        torch.autograd.grad(loss, leaf)

    return lambda: softmax_loss_(work, targets, options=SoftmaxOptions()), plain


def dropout_steps() -> tuple[Step, Step]:
    x, upstream = torch.randn(NODES, DIM, requires_grad=True), torch.randn(NODES, DIM)
    return (
        lambda: torch.autograd.grad(dropout(x, 0.1, seed=1, step=1), x, upstream),
        lambda: torch.autograd.grad(torch.nn.functional.dropout(x, 0.1), x, upstream),
    )


def distance_steps() -> tuple[Step, Step]:
    """Complex points from 256 rows each, and the slopes of both."""
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(BATCH, DIM, generator=generator).requires_grad_()
    table = torch.randn(ENTITIES, DIM, generator=generator).requires_grad_()
    ids = torch.randint(ENTITIES, (BATCH, 256), generator=generator)

    def plain() -> None:
        torch.autograd.backward(reference.complex_distance(points[:, None], table[ids]).sum())

    return lambda: torch.autograd.backward(complex_distance(points, table, ids).sum()), plain


def box_steps() -> tuple[Step, Step]:
    """Five points from their boxes for 32 candidates each, and the slopes of all."""
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(BATCH, 5, DIM, generator=generator).requires_grad_()
    sides = (1 + torch.rand(BATCH, 5, 2 * DIM, generator=generator)).requires_grad_()
    table = torch.randn(ENTITIES, 2 * DIM, generator=generator).requires_grad_()
    ids = torch.randint(ENTITIES, (BATCH, 32), generator=generator)
    known = Boxes(points, sides, torch.arange(BATCH) % 5, torch.ones(BATCH, 5, dtype=torch.bool))
    return (
        lambda: torch.autograd.backward(box_distance(known, table, ids).sum()),
        lambda: torch.autograd.backward(expanded_box_distance(known, table[ids]).sum()),
    )


def window_steps() -> tuple[Step, Step]:
    """Squashed windows of 128 candidates each, and the slopes of all."""
    generator = torch.Generator().manual_seed(0)
    sums = torch.randn(BATCH, DIM // 2, generator=generator).requires_grad_()
    weights = torch.randn(BATCH, 2, DIM // 2, generator=generator).requires_grad_()
    table = torch.randn(ENTITIES, 2, DIM // 2, generator=generator).requires_grad_()
    ids = torch.randint(ENTITIES, (BATCH, 128), generator=generator)

    def plain() -> None:
        found = reference.window_sums(sums[:, None], weights[:, None], table[ids])
        torch.autograd.backward(found.sum())

    return lambda: torch.autograd.backward(window_sums(sums, weights, table, ids).sum()), plain


def ranking_steps() -> tuple[Step, Step]:
    scores, targets = torch.randn(BATCH, ENTITIES), torch.randint(ENTITIES, (BATCH,))
    offsets = torch.arange(BATCH + 1) * 20
    filtered = torch.cat([torch.randperm(ENTITIES)[:20] for _ in range(BATCH)])
    return (
        lambda: count_rivals(scores, targets, offsets=offsets, filtered=filtered),
        lambda: reference.count_rivals(scores, targets, offsets, filtered),
    )


def side_by_side(fused: Step, plain: Step) -> tuple[float, float]:
    """Seconds of both, in turn, so that a busy machine slows both alike."""
    fused(), plain()
    times = [(best(fused, repeat=2), best(plain, repeat=1)) for _ in range(ROUNDS)]
    return min(one for one, _ in times), min(other for _, other in times)


def compared(name: str, steps: tuple[Step, Step]) -> dict[str, Any]:
    seconds, plain = side_by_side(*steps)
    return {**row(name, seconds * 1e3, "ms", ratio=plain / seconds), "reference": plain * 1e3}


def _resident(field: str) -> float:
    status = Path("/proc/self/status").read_text().split(field + ":")[1]
    return float(status.split()[0]) / 1e3


def print_growth(kind: str) -> None:
    """Print by how many megabytes a step raises the memory of this process at its peak."""
    function = {"fused": compose_aggregate, "plain": reference.compose_aggregate}[kind]
    tiny = EdgeIndex.build([0, 1], [0, 0], [1, 0], num_nodes=2, num_relations=1)
    compose_step(function, "rotate", tiny)()  # machine code is loaded once per process
    step = compose_step(function, "rotate", graph())
    Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    before = _resident("VmRSS")
    step()
    print(_resident("VmHWM") - before)


def growth(kind: str) -> float:
    code = f"from benchmarks.kernels import print_growth; print_growth({kind!r})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(done.stdout)


def machine_rows() -> Iterator[dict[str, Any]]:
    """What bounds everything else, measured in the same run."""
    left, right = torch.randn(BATCH, DIM), torch.randn(DIM, ENTITIES)
    flops = 2 * BATCH * DIM * ENTITIES
    for dtype in (torch.float32, torch.bfloat16):
        a, b = left.to(dtype), right.to(dtype)
        out = torch.empty(BATCH, ENTITIES, dtype=dtype)
        rate = flops / best(partial(torch.mm, a, b, out=out), repeat=ROUNDS)
        yield row(f"matrix product, {str(dtype).removeprefix('torch.')}", rate / 1e9, "GFLOPS")
    yield row("bfloat16 in hardware", float(has_fast_bfloat16()), "yes/no")
    yield row("copy, read and write", bandwidth() / 1e9, "GB/s")


def bandwidth() -> float:
    """Bytes a second that a copy reads and writes."""
    source = torch.randn(2**25)
    target = torch.empty_like(source)
    return 2 * source.nbytes / best(lambda: target.copy_(source), repeat=2 * ROUNDS)


def compose_bytes(edges: EdgeIndex) -> int:
    """What a step has to move at least, if nothing stays in a cache, over edges and reversed ones.

    An edge reads a vector forward, and two backward: what it sent and what came back. A node
    writes its sum, reads what came back and writes its gradient.
    """
    return 2 * (3 * len(edges) + 3 * edges.num_nodes) * 4 * DIM


def rows() -> Iterator[dict[str, Any]]:
    torch.manual_seed(0)
    before = torch.get_num_threads()
    torch.set_num_threads(min(2, os.cpu_count() or 1))
    try:
        yield from machine_rows()
        edges = graph()
        for composition in sorted(COMPOSITIONS, key=lambda name: name != "rotate"):
            functions = (compose_aggregate, reference.compose_aggregate)
            fused, plain = (compose_step(f, composition, edges) for f in functions)
            name = f"compose and aggregate, forward and backward, {composition}"
            found = compared(name, (fused, plain))
            yield found
            over = found["value"] / 1e3 * bandwidth() / compose_bytes(edges)
            yield row(
                "the same above its bytes over the bandwidth (aim 1.5x)", over, "x", ratio=over
            )
        if sys.platform == "linux":
            fused_size, plain_size = growth("fused"), growth("plain")
            share = fused_size / plain_size
            name = "compose and aggregate, peak memory, rotate"
            line = row(name, fused_size, "MB", ratio=share, bound="<= 0.2x", ok=share <= 0.2)
            yield {**line, "reference": plain_size}
        yield compared("softmax loss of 1,024 queries, with its products", softmax_steps())
        yield compared("softmax loss of 1,024 x 28,645 logits", logits_steps())
        yield compared("dropout of all nodes, forward and backward", dropout_steps())
        yield compared("complex distances of 1,024 x 256 pairs", distance_steps())
        yield compared("box distances of 1,024 x 32 pairs, 5 slots", box_steps())
        yield compared("squashed windows of 1,024 x 128 pairs", window_steps())
        yield compared("rivals among 1,024 x 28,645 scores", ranking_steps())
    finally:
        torch.set_num_threads(before)
