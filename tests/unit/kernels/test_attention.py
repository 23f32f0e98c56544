"""Attention over edges against naive loops."""

import math

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from hyperfact.errors import DataError
from hyperfact.kernels import AttentionTables, EdgeIndex, attend, column_affinity, reference

from .graphs import GRAPHS, draw, graph, leaf, random_graph

DIM, HEADS = 6, 3


def tables_of(edges: EdgeIndex) -> AttentionTables:
    nodes, relations = edges.num_nodes, edges.num_relations
    rows = (nodes, nodes, relations, nodes, relations, 1)
    found = [leaf(n, DIM, seed=i) for i, n in enumerate(rows)]
    return AttentionTables._make([*found, leaf(relations, HEADS, seed=9)])


def naive(tables: AttentionTables, edges: EdgeIndex, keep: Tensor) -> Tensor:
    a, b, c, x, v, p, d = (t.detach().tolist() for t in tables)
    y = torch.zeros(edges.num_nodes, DIM).double()
    rows = list(zip(edges.source, edges.relation, edges.target, strict=True))
    for head in range(HEADS):
        columns = range(head * 2, head * 2 + 2)
        scores = []
        for u, r, t in rows:
            near = {k: a[t][k] + b[u][k] + c[r][k] for k in columns}
            bent = sum(p[0][k] * (near[k] if near[k] > 0 else 0.2 * near[k]) for k in columns)
            scores.append(bent + d[r][head])
        for e, (u, r, t) in enumerate(rows):
            rivals = [i for i, row in enumerate(rows) if row[2] == t and keep[i]]
            if keep[e]:
                share = 1 / sum(math.exp(scores[i] - scores[e]) for i in rivals)
                for k in columns:
                    y[t, k] += share * (x[u][k] + v[r][k])
    return y


def some(edges: EdgeIndex) -> Tensor:
    return torch.arange(len(edges)) % 4 != 1


@pytest.mark.parametrize("name", GRAPHS)
def test_kernel_and_reference_agree_with_naive_loops(name: str) -> None:
    edges = graph(name)
    tables, keep = tables_of(edges), some(edges)
    expected = naive(tables, edges, keep)
    rows = edges.num_nodes
    found = attend(tables, edges=edges, keep=keep)
    plain = reference.attend(tables, edges=edges, keep=keep, rows=rows)
    torch.testing.assert_close(found.detach(), expected)
    torch.testing.assert_close(plain.detach(), expected)
    assert torch.equal(attend(tables, edges=edges, keep=keep, rows=rows - 1), found[: rows - 1])


@pytest.mark.parametrize("name", GRAPHS)
def test_gradients(name: str) -> None:
    edges = graph(name)
    keep, rows = some(edges), edges.num_nodes - 1
    assert gradcheck(
        lambda *tables: attend(AttentionTables(*tables), edges=edges, keep=keep, rows=rows),
        tuple(tables_of(edges)),
        eps=1e-6,
        atol=1e-5,
    )


def test_kernel_and_reference_have_the_same_gradients() -> None:
    edges = random_graph(40, 5, 300)
    tables, keep = tables_of(edges), some(edges)
    one = attend(tables, edges=edges, keep=keep)
    two = reference.attend(tables, edges=edges, keep=keep, rows=edges.num_nodes)
    weights = draw(edges.num_nodes, DIM, seed=3)
    for a, b in zip(
        *(torch.autograd.grad((y * weights).sum(), tables) for y in (one, two)), strict=True
    ):
        torch.testing.assert_close(a, b)


def test_threads_change_no_bit() -> None:
    edges = random_graph(40, 5, 300)

    def run(threads: int) -> list[Tensor]:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            tables = tables_of(edges)
            y = attend(tables, edges=edges, keep=some(edges))
            return [y, *torch.autograd.grad(y.pow(2).sum(), tables)]
        finally:
            torch.set_num_threads(before)

    assert all(torch.equal(a, b) for a, b in zip(run(1), run(2), strict=True))


def test_large_scores_do_not_overflow() -> None:
    edges = graph("dense")
    tables = tables_of(edges)._replace(bias=leaf(3, HEADS) * 1e5)
    assert attend(tables, edges=edges, keep=torch.ones(25).bool()).isfinite().all()


def test_shapes_must_fit() -> None:
    edges = graph("dense")
    tables, keep = tables_of(edges), some(edges)
    with pytest.raises(DataError, match="values must be"):
        attend(tables._replace(values=draw(4, DIM)), edges=edges, keep=keep)
    with pytest.raises(DataError, match="4 heads do not divide 6"):
        attend(tables._replace(bias=draw(3, 4)), edges=edges, keep=keep)


def test_column_affinity_is_the_product() -> None:
    dense = draw(7, 4).numpy()
    dense[dense < 0] = 0
    row, column = np.nonzero(dense)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=7))])
    found = column_affinity(offsets, column, dense[row, column], 4)
    np.testing.assert_allclose(found, dense.T @ dense)
