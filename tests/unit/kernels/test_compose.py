from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from hyperfact.errors import DataError, UnknownNameError
from hyperfact.kernels import COMPOSITIONS, EdgeIndex, compose_aggregate, reference

from .graphs import GRAPHS, draw, graph, leaf, random_graph, some_weights


def naive(x: Tensor, z: Tensor, edges: EdgeIndex, weights: Tensor, composition: str) -> Tensor:
    dim = x.shape[1]
    y = torch.zeros_like(x)
    columns = (c.tolist() for c in (edges.source, edges.relation, edges.target))
    for e, (u, r, t) in enumerate(zip(*columns, strict=True)):
        a, b, w = x[u].tolist(), z[r].tolist(), float(weights[e])
        for k in range(dim):
            if composition == "sub":
                value = a[k] - b[k]
            elif composition == "mult":
                value = a[k] * b[k]
            elif composition == "corr":
                value = sum(a[i] * b[(i + k) % dim] for i in range(dim))
            else:
                half, j = dim // 2, k % (dim // 2)
                product = complex(a[j], a[j + half]) * complex(b[j], b[j + half])
                value = product.real if k < half else product.imag
            y[t, k] += w * value
    return y


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("dim", [1, 2, 5, 18])
def test_kernel_and_reference_agree_with_naive_loops(name: str, composition: str, dim: int) -> None:
    dim += composition == "rotate" and dim % 2
    edges = graph(name)
    x, z = draw(edges.num_nodes, dim), draw(edges.num_relations, dim, seed=1)
    weights = some_weights(edges)
    expected = naive(x, z, edges, weights, composition)
    tolerance = 1e-10 * max(1, float(expected.abs().max()))
    found = compose_aggregate(x, z, edges=edges, weights=weights, composition=composition)
    plain = reference.compose_aggregate(
        x, z, edges=edges, weights=weights, composition=composition, rows=edges.num_nodes
    )
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=tolerance)
    torch.testing.assert_close(plain, expected, rtol=1e-10, atol=tolerance)


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("name", GRAPHS)
def test_gradients(name: str, composition: str) -> None:
    edges = graph(name)
    weights = some_weights(edges)
    for dim, rows in ((4, edges.num_nodes), (6, edges.num_nodes - 1)):
        inputs = leaf(edges.num_nodes, dim), leaf(edges.num_relations, dim, seed=1)
        assert gradcheck(
            lambda x, z, rows=rows: compose_aggregate(
                x, z, edges=edges, weights=weights, composition=composition, rows=rows
            ),
            inputs,
            eps=1e-6,
            atol=1e-5,
            rtol=1e-3,
        )


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_gradients_where_all_embeddings_are_equal(composition: str) -> None:
    edges = graph("dense")
    inputs = [torch.full((n, 4), 0.3, dtype=torch.float64, requires_grad=True) for n in (5, 3)]
    assert gradcheck(
        lambda x, z: compose_aggregate(
            x, z, edges=edges, weights=torch.ones(25), composition=composition
        ),
        inputs,
        eps=1e-6,
        atol=1e-5,
        rtol=1e-3,
    )


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_large_gradients_agree_with_the_reference(composition: str) -> None:
    edges, dim = random_graph(300, 7, 6000), 20  # enough edges for several partial sums
    assert len(edges.source_parts) > 2
    weights = some_weights(edges)
    found: list[Tensor] = []
    expected: list[Tensor] = []
    for function, results in (
        (compose_aggregate, found),
        (reference.compose_aggregate, expected),
    ):
        x, z = leaf(300, dim), leaf(7, dim, seed=1)
        y = function(x, z, edges=edges, weights=weights, composition=composition, rows=200)
        results += [y, *torch.autograd.grad(y, (x, z), draw(200, dim, seed=2))]
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(
            one, other, rtol=1e-10, atol=1e-10 * float(other.detach().abs().max())
        )


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_float32_is_as_good_as_its_reference(composition: str) -> None:
    edges = random_graph(200, 5, 5000)
    x, z = draw(200, 16), draw(5, 16, seed=1)
    weights = some_weights(edges)

    def run(dtype: torch.dtype) -> Tensor:
        return compose_aggregate(
            x.to(dtype), z.to(dtype), edges=edges, weights=weights, composition=composition
        )

    exact, found = run(torch.float64), run(torch.float32)
    assert found.dtype == torch.float32
    torch.testing.assert_close(
        found.double(), exact, rtol=1e-5, atol=1e-5 * float(exact.abs().max())
    )


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_only_one_gradient_may_be_wanted(composition: str) -> None:
    edges = graph("dense")
    x, z = leaf(5, 4), leaf(3, 4, seed=1)
    weights = some_weights(edges)

    def run(x: Tensor, z: Tensor) -> Tensor:
        y = compose_aggregate(x, z, edges=edges, weights=weights, composition=composition)
        return torch.sum(y * draw(5, 4, seed=3))

    both = torch.autograd.grad(run(x, z), (x, z))
    assert torch.equal(torch.autograd.grad(run(x, z.detach()), x)[0], both[0])
    assert torch.equal(torch.autograd.grad(run(x.detach(), z), z)[0], both[1])


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_an_edge_of_weight_zero_is_an_edge_that_is_not_there(composition: str) -> None:
    edges = random_graph(20, 3, 100)
    keep = torch.arange(100) % 4 > 0
    fewer = EdgeIndex.build(
        *(c[keep.numpy()] for c in (edges.source, edges.relation, edges.target)),
        num_nodes=20,
        num_relations=3,
    )
    x, z, weights = draw(20, 4), draw(3, 4, seed=1), draw(100, seed=2)
    hidden = compose_aggregate(x, z, edges=edges, weights=weights * keep, composition=composition)
    absent = compose_aggregate(x, z, edges=fewer, weights=weights[keep], composition=composition)
    torch.testing.assert_close(hidden, absent, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("composition", ["sub", "mult", "rotate"])  # corr needs torch's FFT
def test_same_bits_twice_and_on_any_number_of_threads(composition: str) -> None:
    edges = random_graph(500, 9, 8000)
    weights = some_weights(edges)
    results = []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 2, 3):
            torch.set_num_threads(threads)
            x, z = (t.float().requires_grad_() for t in (draw(500, 12), draw(9, 12, seed=1)))
            y = compose_aggregate(x, z, edges=edges, weights=weights, composition=composition)
            results.append((y, *torch.autograd.grad(y, (x, z), draw(500, 12, seed=2).float())))
    finally:
        torch.set_num_threads(before)
    for result in results[1:]:
        assert all(torch.equal(one, other) for one, other in zip(result, results[0], strict=True))


def test_inputs_may_be_views() -> None:
    edges = graph("dense")
    x, z = draw(10, 8)[::2, ::2], draw(4, 3).T
    found = compose_aggregate(x, z, edges=edges, weights=torch.ones(25), composition="rotate")
    expected = naive(x, z, edges, torch.ones(25), "rotate")
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


def test_other_dtypes_take_the_plain_path() -> None:
    edges = graph("dense")
    x, z = draw(5, 4).bfloat16(), draw(3, 4).bfloat16()
    found = compose_aggregate(x, z, edges=edges, weights=torch.ones(25), composition="mult")
    assert found.dtype == torch.bfloat16
    expected = naive(x.double(), z.double(), edges, torch.ones(25), "mult")
    torch.testing.assert_close(found.double(), expected, rtol=0.05, atol=0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"x": draw(4, 4)}, r"x must be \(5, dim\), got \(4, 4\)"),
        ({"z": draw(2, 4)}, "a row for each of 3 relations"),
        ({"z": draw(3, 6)}, "columns"),
        ({"z": draw(3, 4).float()}, "must be alike"),
        ({"weights": torch.ones(24)}, r"weights must be \(25,\)"),
        ({"rows": 6}, r"rows must be in 0\.\.5"),
        ({"x": draw(5, 3), "z": draw(3, 3)}, "must be even, got 3"),
    ],
)
def test_what_does_not_fit_the_graph_is_refused(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {
        "x": draw(5, 4),
        "z": draw(3, 4),
        "weights": torch.ones(25),
        **change,
    }
    with pytest.raises(DataError, match=message):
        compose_aggregate(edges=graph("dense"), composition="rotate", **arguments)


def test_an_unknown_composition_is_named() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'rotate'"):
        compose_aggregate(
            draw(5, 4),
            draw(3, 4),
            edges=graph("dense"),
            weights=torch.ones(25),
            composition="rotat",
        )


@pytest.mark.parametrize("composition", COMPOSITIONS)
@given(dim=st.integers(1, 40), size=st.integers(1, 50), seed=st.integers(0, 99))
def test_blocks_are_all_coordinates_and_do_without_the_others(
    composition: str, dim: int, size: int, seed: int
) -> None:
    phi = COMPOSITIONS[composition]
    dim *= 2 if phi.needs_even else 1
    blocks = phi.blocks(dim, size)
    assert sorted(torch.cat(blocks).tolist()) == list(range(dim))
    x, r = torch.randn(
        2, 3, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    )
    whole = phi.dense(x, r)
    for block in blocks:
        assert torch.equal(phi.dense(x[:, block], r[:, block]), whole[:, block])
        assert (block[1:] > block[:-1]).all()
