"""What listeners hear of facts, for many questions at once, against naive loops."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.autograd import gradcheck

from hyperfact.errors import DataError
from hyperfact.kernels import hear_others, reference
from hyperfact.kernels.member_index import Members
from hyperfact.kernels.neighbours import Listeners, Neighbours, distances

from .graphs import draw, leaf

#: Members as (node, role) of each fact; a node twice in a fact, a lonely node, a fact of one.
FACTS = [[(0, 0), (1, 1)], [(1, 0), (1, 1), (2, 2)], [(3, 0)], [(0, 2), (2, 1), (3, 0), (4, 3)]]
NODES = 6


def neighbours(
    facts: list[list[tuple[int, int]]] = FACTS, hidden: tuple[int, ...] = ()
) -> Neighbours:
    flat = [pair for fact in facts for pair in fact]
    node, role = (np.array([pair[i] for pair in flat], dtype=np.int32) for i in (0, 1))
    sizes = [len(fact) for fact in facts]
    offsets = np.cumsum([0, *sizes]).astype(np.int64)
    relation = np.arange(len(facts), dtype=np.int32) % 2
    at = np.cumsum([0, *np.bincount(node, minlength=NODES)]).astype(np.int64)
    keep = np.array([f not in hidden for f in range(len(facts))])
    return Neighbours(
        Members(relation, offsets, node, role),
        np.repeat(np.arange(len(facts)), sizes).astype(np.int32),
        at,
        np.argsort(node, kind="stable").astype(np.int32),
        keep,
    )


def listeners() -> Listeners:
    """Everybody as nobody asks; question 0 has states for two nodes, question 1 for one."""
    place = np.full((2, NODES), -1, dtype=np.int32)
    place[0, 1], place[0, 2], place[1, 0] = 6, 7, 8
    place[1, 3] = 99  # of a later step: not there yet
    question = np.array([-1] * NODES + [0, 0, 0, 1], dtype=np.int32)
    node = np.array([*range(NODES), 1, 2, 0, 3], dtype=np.int32)
    return Listeners(question, node, place)


def naive(x: Tensor, z: Tensor, p: Tensor, hidden: tuple[int, ...]) -> Tensor:
    who, y = listeners(), torch.zeros(10, x.shape[1], dtype=x.dtype)
    for t, (q, v) in enumerate(zip(who.question.tolist(), who.node.tolist(), strict=True)):
        for f, fact in enumerate(FACTS):
            for k, (node, _) in enumerate(fact):
                if node != v or f in hidden:
                    continue
                heard = z[f % 2]
                for j, (other, role) in enumerate(fact):
                    row = (
                        other
                        if q < 0 or not 0 <= who.place[q, other] < len(x)
                        else who.place[q, other]
                    )
                    heard = heard * (x[row] + p[role]) if j != k else heard
                y[t] += heard
    return y


@pytest.mark.parametrize("dim", [1, 5, 18])
@pytest.mark.parametrize("hidden", [(), (1,), (0, 1, 2, 3)])
def test_kernel_and_reference_agree_with_naive_loops(dim: int, hidden: tuple[int, ...]) -> None:
    x, z, p = draw(9, dim), draw(2, dim, seed=1), draw(4, dim, seed=2)
    around = neighbours(hidden=hidden)
    expected = naive(x, z, p, hidden)
    found = hear_others(x, z, p, around=around, listeners=listeners())
    plain = reference.hear_others(x, z, p, around=around, listeners=listeners())
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(plain, expected, rtol=1e-12, atol=1e-12)


def test_gradients() -> None:
    tables, around = (leaf(9, 4), leaf(2, 4, seed=1), leaf(4, 4, seed=2)), neighbours(hidden=(2,))
    assert gradcheck(
        lambda x, z, p: hear_others(x, z, p, around=around, listeners=listeners()), tables
    )
    weights = draw(10, 4, seed=3)
    weights[[2, 7]] = 0.0  # whose gradient nobody asks for
    found = [
        torch.autograd.grad(
            (hear(*tables, around=around, listeners=listeners()) * weights).sum(), tables
        )
        for hear in (hear_others, reference.hear_others)
    ]
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b)


def test_tables_that_do_not_fit_are_refused() -> None:
    x, z, p = draw(9, 3), draw(2, 3), draw(4, 3)
    for tables in ((x[:5], z, p), (x, z[:, :2], p), (x, z.float(), p)):
        with pytest.raises(DataError):
            hear_others(*tables, around=neighbours(), listeners=listeners())


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.lists(st.integers(0, NODES - 1), min_size=1, max_size=4), min_size=1, max_size=8),
    st.lists(st.integers(0, NODES - 1), max_size=3),
    st.integers(0, 4),
)
def test_distances_are_those_of_a_breadth_first_search(
    facts: list[list[int]], sources: list[int], most: int
) -> None:
    around = neighbours([[(node, 0) for node in fact] for fact in facts], hidden=(1,))
    expected, edge = dict.fromkeys(sources, 0), set(sources)
    for hop in range(1, most + 1):
        near = {n for f, fact in enumerate(facts) if f != 1 and edge & {*fact} for n in fact}
        edge = near - expected.keys()
        expected |= dict.fromkeys(edge, hop)
    found = distances(
        around, np.array([0, len(sources)]), np.array(sources, dtype=np.int64), most=most
    )
    assert found.tolist() == [[expected.get(node, -1) for node in range(NODES)]]


def test_a_long_fact_stays_finite() -> None:
    facts = [[(i % NODES, 0) for i in range(90)], [(0, 1), (1, 0)]]
    around, nobody = neighbours(facts), np.arange(NODES, dtype=np.int32)
    who = Listeners(np.full(NODES, -1, np.int32), nobody, np.zeros((0, NODES), np.int32))
    tables = [(50 * draw(n, 4, seed=n)).float().requires_grad_() for n in (NODES, 2, 4)]
    for hear in (hear_others, reference.hear_others):
        heard = hear(*tables, around=around, listeners=who)
        assert heard.isfinite().all()
        assert all(g.isfinite().all() for g in torch.autograd.grad(heard.sum(), tables))
