import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from hyperfact.errors import DataError
from hyperfact.kernels import EdgeIndex, block_aggregate, matrices, reference

from .graphs import GRAPHS, draw, graph, leaf, random_graph, some_weights

SHAPES = [(3, 2, 2), (2, 3, 4), (1, 6, 5), (1, 1, 1)]  # blocks, in, out; one block: full matrices


def naive(x: Tensor, q: Tensor, edges: EdgeIndex, weights: Tensor) -> Tensor:
    y = x.new_zeros(len(x), q.shape[1] * q.shape[3])
    for e in range(len(edges)):
        parts = x[edges.source[e]].view(q.shape[1], -1)
        products = [part @ block for part, block in zip(parts, q[edges.relation[e]], strict=True)]
        y[edges.target[e]] += weights[e] * torch.cat(products)
    return y


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", GRAPHS)
def test_kernel_and_reference_agree_with_naive_loops(
    name: str, shape: tuple[int, int, int]
) -> None:
    edges = graph(name)
    x = draw(edges.num_nodes, shape[0] * shape[1])
    q, weights = draw(edges.num_relations, *shape, seed=1), some_weights(edges)
    expected, rows = naive(x, q, edges, weights), edges.num_nodes
    found = block_aggregate(x, q, edges=edges, weights=weights)
    plain = reference.block_aggregate(x, q, edges=edges, weights=weights, rows=rows)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(plain, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", GRAPHS)
def test_gradients(name: str, shape: tuple[int, int, int]) -> None:
    edges = graph(name)
    weights = some_weights(edges)
    for rows in (edges.num_nodes, edges.num_nodes - 1):
        assert gradcheck(
            lambda x, q, rows=rows: block_aggregate(x, q, edges=edges, weights=weights, rows=rows),
            (leaf(edges.num_nodes, shape[0] * shape[1]), leaf(edges.num_relations, *shape, seed=1)),
            eps=1e-6,
            atol=1e-5,
            rtol=1e-3,
        )


@pytest.mark.parametrize("shape", SHAPES)
def test_many_chunks_agree_with_the_reference(
    shape: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(matrices, "_CHUNK", 37)
    edges = random_graph(60, 7, 900)
    weights, upstream = some_weights(edges), draw(40, shape[0] * shape[2], seed=2)
    x, q = leaf(60, shape[0] * shape[1]), leaf(7, *shape, seed=1)
    results = []
    for function in (block_aggregate, reference.block_aggregate):
        y = function(x, q, edges=edges, weights=weights, rows=40)
        results.append([y, *torch.autograd.grad(y, (x, q), upstream)])
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_blocks_give_the_same_bits_on_any_number_of_threads() -> None:
    edges = random_graph(60, 7, 900)
    weights, before, results = some_weights(edges), torch.get_num_threads(), []
    x, q = leaf(60, 12), leaf(7, 4, 3, 3, seed=1)
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            y = block_aggregate(x, q, edges=edges, weights=weights)
            results.append([y, *torch.autograd.grad(y, (x, q), draw(60, 12, seed=2))])
    finally:
        torch.set_num_threads(before)
    for one, two, three in zip(*results, strict=True):
        assert torch.equal(one, two)
        assert torch.equal(one, three)


def test_matrices_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="blocks \\* size_in columns"):
        block_aggregate(draw(5, 4), draw(3, 3, 2, 2), edges=graph("dense"), weights=torch.ones(25))
