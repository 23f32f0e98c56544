import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from hyperfact import kernels
from hyperfact.errors import DataError
from hyperfact.kernels import EdgeIndex, aggregate_mixed, aggregate_weighted, reference

from .graphs import GRAPHS, draw, graph, leaf, random_graph, some_weights


def naive(x: Tensor, a: Tensor, edges: EdgeIndex, weights: Tensor) -> Tensor:
    h = x.new_zeros(len(x), a.shape[1], x.shape[1])
    for e in range(len(edges)):
        for b in range(a.shape[1]):
            h[edges.target[e], b] += weights[e] * a[edges.relation[e], b] * x[edges.source[e]]
    return h


@pytest.mark.parametrize("bases", [1, 3])
@pytest.mark.parametrize("name", GRAPHS)
def test_kernel_and_reference_agree_with_naive_loops(name: str, bases: int) -> None:
    edges = graph(name)
    x, a, weights = draw(edges.num_nodes, 5), draw(edges.num_relations, bases), some_weights(edges)
    expected, rows = naive(x, a, edges, weights), edges.num_nodes
    found = aggregate_weighted(x, a, edges=edges, weights=weights)
    plain = reference.aggregate_weighted(x, a, edges=edges, weights=weights, rows=rows)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(plain, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("bases", [1, 3])
@pytest.mark.parametrize("name", GRAPHS)
def test_mixing_is_the_same_with_a_vector_for_each_basis(name: str, bases: int) -> None:
    edges = graph(name)
    weights, rows = some_weights(edges), edges.num_nodes
    x, a = draw(rows, bases, 5), draw(edges.num_relations, bases)
    expected = sum(naive(x[:, b], a[:, b : b + 1], edges, weights)[:, 0] for b in range(bases))
    found = aggregate_mixed(x, a, edges=edges, weights=weights)
    plain = reference.aggregate_mixed(x, a, edges=edges, weights=weights, rows=rows)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(plain, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", GRAPHS)
def test_gradients(name: str) -> None:
    edges = graph(name)
    weights = some_weights(edges)
    for rows in (edges.num_nodes, edges.num_nodes - 1):
        for function, shape in ((aggregate_weighted, (3,)), (aggregate_mixed, (2, 3))):
            assert gradcheck(
                lambda x, a, rows=rows, function=function: function(
                    x, a, edges=edges, weights=weights, rows=rows
                ),
                (leaf(edges.num_nodes, *shape), leaf(edges.num_relations, 2, seed=1)),
                eps=1e-6,
                atol=1e-5,
                rtol=1e-3,
            )


@pytest.mark.parametrize(
    ("name", "sent", "received"),
    [("aggregate_weighted", (20,), (3, 20)), ("aggregate_mixed", (3, 20), (20,))],
)
def test_large_gradients_agree_with_the_reference_on_any_number_of_threads(
    name: str, sent: tuple[int, ...], received: tuple[int, ...]
) -> None:
    edges = random_graph(300, 7, 6000)
    weights, upstream = some_weights(edges), draw(200, *received, seed=2)
    x, a = leaf(300, *sent), leaf(7, 3, seed=1)
    y = getattr(reference, name)(x, a, edges=edges, weights=weights, rows=200)
    expected = [y, *torch.autograd.grad(y, (x, a), upstream)]
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            y = getattr(kernels, name)(x, a, edges=edges, weights=weights, rows=200)
            results.append([y, *torch.autograd.grad(y, (x, a), upstream)])
    finally:
        torch.set_num_threads(before)
    for one, two, three, other in zip(*results, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-8)
        assert torch.equal(one, two)
        assert torch.equal(one, three)


def test_it_is_r_gcn_with_bases() -> None:
    edges = random_graph(12, 4, 60)
    x, a, bases, weights = draw(12, 5), draw(4, 3), draw(3, 5, 6, seed=1), some_weights(edges)
    found = aggregate_weighted(x, a, edges=edges, weights=weights).flatten(1) @ bases.flatten(0, 1)
    matrices = torch.einsum("rb,bio->rio", a, bases)
    expected = torch.zeros(12, 6, dtype=torch.float64)
    for e in range(60):
        expected[edges.target[e]] += weights[e] * x[edges.source[e]] @ matrices[edges.relation[e]]
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_coefficients_of_other_relations_are_refused() -> None:
    with pytest.raises(DataError, match="3 relations"):
        aggregate_weighted(draw(5, 4), draw(2, 2), edges=graph("dense"), weights=torch.ones(25))
