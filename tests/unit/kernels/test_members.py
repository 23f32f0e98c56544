"""Products over the other members of a fact, against naive loops."""

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from hyperfact.errors import DataError
from hyperfact.kernels import MemberIndex, Members, aggregate_members, compose_aggregate, reference
from hyperfact.kernels.compositions import COMPOSITIONS
from hyperfact.kernels.edges import EdgeIndex

from .graphs import draw, leaf

#: Members as (node, role) of each fact; a node twice in a fact, a lonely node, a fact of one.
FACTS = [[(0, 0), (1, 1)], [(1, 0), (1, 1), (2, 2)], [(3, 0)], [(0, 2), (2, 1), (3, 0), (4, 3)]]


def index(facts: list[list[tuple[int, int]]] = FACTS) -> MemberIndex:
    flat = [pair for fact in facts for pair in fact]
    node, role = (np.array([pair[i] for pair in flat], dtype=np.int32) for i in (0, 1))
    offsets = np.cumsum([0, *(len(fact) for fact in facts)]).astype(np.int64)
    relation = np.arange(len(facts), dtype=np.int32) % 2
    return MemberIndex(Members(relation, offsets, node, role), 6, 2, 4)


def naive(x: Tensor, z: Tensor, p: Tensor, keep: Tensor, largest: bool) -> Tensor:
    y = torch.zeros_like(x)
    for f, fact in enumerate(FACTS):
        for k, (node, _) in enumerate(fact if keep[f] else []):
            heard = z[f % 2]
            for j, (other, role) in enumerate(fact):
                heard = heard * p[role] * x[other] if j != k else heard
            y[node] = torch.maximum(y[node], heard) if largest else y[node] + heard
    return y


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("dim", [1, 5, 18])
@pytest.mark.parametrize("hidden", [[], [1], [0, 1, 2, 3]])
def test_kernel_and_reference_agree_with_naive_loops(
    largest: bool, dim: int, hidden: list[int]
) -> None:
    x, z, p = draw(6, dim), draw(2, dim, seed=1), draw(4, dim, seed=2)
    keep = torch.ones(len(FACTS)).bool()
    keep[hidden] = False
    expected = naive(x, z, p, keep, largest)
    found = aggregate_members(x, z, p, index=index(), keep=keep, largest=largest)
    plain = reference.aggregate_members(
        x, z, p, members=index().members, keep=keep, largest=largest
    )
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(plain, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("largest", [True, False])
def test_gradients(largest: bool) -> None:
    keep = torch.tensor([True, True, False, True])
    tables = leaf(6, 4), leaf(2, 4, seed=1), leaf(4, 4, seed=2)
    assert gradcheck(
        lambda x, z, p: aggregate_members(x, z, p, index=index(), keep=keep, largest=largest),
        tables,
    )
    y = aggregate_members(*tables, index=index(), keep=keep, largest=largest)
    plain = reference.aggregate_members(
        *tables, members=index().members, keep=keep, largest=largest
    )
    weights = draw(6, 4, seed=3)
    one, two = (torch.autograd.grad((t * weights).sum(), tables) for t in (y, plain))
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a, b)


@pytest.mark.parametrize("largest", [True, False])
def test_threads_change_no_bit(largest: bool) -> None:
    def run(threads: int) -> list[Tensor]:
        before = torch.get_num_threads()
        torch.set_num_threads(threads)
        try:
            tables = [leaf(6, 18), leaf(2, 18, seed=1), leaf(4, 18, seed=2)]
            keep = torch.ones(4).bool()
            y = aggregate_members(*tables, index=index(), keep=keep, largest=largest)
            return [y, *torch.autograd.grad(y.pow(2).sum(), tables)]
        finally:
            torch.set_num_threads(before)

    assert all(torch.equal(a, b) for a, b in zip(run(1), run(2), strict=True))


def test_no_facts_give_nothing() -> None:
    tables = leaf(6, 3), leaf(2, 3), leaf(4, 3)
    nothing = torch.ones(0).bool()
    y = aggregate_members(*tables, index=index([]), keep=nothing, largest=False)
    assert not y.any()
    y.sum().backward()  # type: ignore[no-untyped-call]
    plain = reference.aggregate_members(
        *tables, members=index([]).members, keep=nothing, largest=False
    )
    assert not plain.any()


def test_shapes_must_fit() -> None:
    keep = torch.ones(4).bool()
    with pytest.raises(DataError, match="expected 4 rows"):
        aggregate_members(
            draw(6, 3), draw(2, 3), draw(5, 3), index=index(), keep=keep, largest=False
        )
    with pytest.raises(DataError, match="keep must be"):
        aggregate_members(
            draw(6, 3), draw(2, 3), draw(4, 3), index=index(), keep=keep[:2], largest=False
        )


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("targets", [2, 9])
def test_receivers_may_be_of_another_kind(composition: str, targets: int) -> None:
    source, relation, target = [0, 3, 3, 4], [1, 0, 1, 1], [1, 0, 1, targets - 1]
    edges = EdgeIndex.build(
        source, relation, target, num_nodes=5, num_relations=2, num_targets=targets
    )
    x, z, weights = leaf(5, 4), leaf(2, 4, seed=1), draw(4, seed=2).abs()
    y = compose_aggregate(x, z, edges=edges, weights=weights, composition=composition)
    plain = reference.compose_aggregate(
        x, z, edges=edges, weights=weights, composition=composition, rows=targets
    )
    assert y.shape == (targets, 4)
    torch.testing.assert_close(y, plain)
    one, two = (torch.autograd.grad(t.pow(2).sum(), (x, z)) for t in (y, plain))
    for a, b in zip(one, two, strict=True):
        torch.testing.assert_close(a, b)
    assert edges.reversed.num_nodes == targets
