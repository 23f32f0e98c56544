"""Kernels among Python threads, forked and fresh processes."""

import ast
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch

from hyperfact.kernels import compose_aggregate, dropout
from hyperfact.kernels.threads import even_bounds, parallel_for, ragged_bounds
from tests.support import ROOT

from .graphs import draw, random_graph

SCRIPT = """
import torch
from hyperfact.kernels import EdgeIndex, compose_aggregate
edges = EdgeIndex.build([0, 1], [0, 0], [1, 1], num_nodes=2, num_relations=1)
x, z = torch.ones(2, 4, requires_grad=True), torch.ones(1, 4, requires_grad=True)
y = compose_aggregate(x, z, edges=edges, weights=torch.ones(2), composition="mult")
y.sum().backward()
assert y.tolist() == [[0.0] * 4, [2.0] * 4]
import hashlib
from hyperfact.kernels import COMPOSITIONS
torch.manual_seed(0)
ends = torch.randint(50, (3, 400)).numpy()
some = EdgeIndex.build(ends[0], ends[1] % 5, ends[2], num_nodes=50, num_relations=5)
for name in COMPOSITIONS:
    tables = [torch.randn(n, 16, requires_grad=True) for n in (50, 5)]
    sums = compose_aggregate(*tables, edges=some, weights=torch.rand(400), composition=name)
    (sums ** 2).sum().backward()
    bits = b"".join(t.detach().numpy().tobytes() for t in (sums, *(t.grad for t in tables)))
    print(name, hashlib.sha256(bits).hexdigest())
from hyperfact.kernels.compose import _backward, _forward
for kernel in (_forward, _backward):
    stats = getattr(kernel, "stats", None)
    print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
"""


@pytest.fixture
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("threads")
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_every_task_runs_once(count: int) -> None:
    done: list[int] = []
    parallel_for(done.append, count)
    assert sorted(done) == list(range(count))


@pytest.mark.usefixtures("threads")
def test_a_failing_task_fails_the_call() -> None:
    def fail(index: int) -> None:
        time.sleep(0.01)
        raise ZeroDivisionError(index)

    with pytest.raises(ZeroDivisionError):
        parallel_for(fail, 3)


def test_bounds_cover_all_rows_in_order() -> None:
    offsets = np.array([0, 0, 100, 101, 101, 102])
    for bounds in (ragged_bounds(offsets), ragged_bounds(offsets, pieces=3), even_bounds(5)):
        assert bounds[0] == 0
        assert bounds[-1] == 5
        assert (np.diff(bounds) >= 0).all()
    assert even_bounds(0).tolist() == [0, 0]


@pytest.mark.usefixtures("threads")
def test_python_threads_may_share_the_kernels() -> None:
    edges = random_graph(200, 5, 4000)
    weights, z = torch.ones(4000), draw(5, 8, seed=1)

    def run(seed: int) -> torch.Tensor:
        return compose_aggregate(
            draw(200, 8, seed=seed), z, edges=edges, weights=weights, composition="rotate"
        )

    alone = [run(seed) for seed in range(16)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(run, range(16)))
    assert all(torch.equal(one, other) for one, other in zip(alone, together, strict=True))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork.*:DeprecationWarning")
@pytest.mark.usefixtures("threads")
def test_a_forked_child_can_use_the_kernels() -> None:
    x = torch.ones(100_000)
    expected = dropout(x, 0.5, seed=1, step=1)
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # a child that hangs is killed
        found = dropout(x, 0.5, seed=1, step=1).numpy()  # torch's own threads do not survive a fork
        os._exit(0 if np.array_equal(found, expected.numpy()) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def run_script(**environment: str) -> list[str]:
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return finished.stdout.splitlines()


def test_a_second_process_does_not_compile_again(tmp_path: Path) -> None:
    *bits, forward, backward = run_script(NUMBA_CACHE_DIR=str(tmp_path))
    assert (forward, backward) == ("0 1", "0 1")
    assert run_script(NUMBA_CACHE_DIR=str(tmp_path)) == [*bits, "1 0", "1 0"]
    assert len(bits) == 4


def test_what_kernels_call_is_compiled_into_them() -> None:
    """Otherwise a process that compiles rounds otherwise than one that takes them from the cache.

    The first would call a helper as it was compiled alone, the second as part of its caller.
    """
    for file in (ROOT / "src" / "hyperfact" / "kernels").glob("*.py"):
        functions = [
            node
            for node in ast.parse(file.read_text(encoding="utf-8")).body
            if isinstance(node, ast.FunctionDef) and node.decorator_list
        ]
        marks = {f.name: ast.unparse(f.decorator_list[0]) for f in functions}
        for function in functions:
            calls = (n.func for n in ast.walk(function) if isinstance(n, ast.Call))
            for name in (f.id for f in calls if isinstance(f, ast.Name)):
                assert not marks.get(name, "").endswith("kernel"), f"{function.name} calls {name}"
