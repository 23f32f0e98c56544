"""Mediators with one vector are heard as one: the same sums from fewer edges."""

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hyperfact.kernels import EdgeIndex, compose_aggregate
from hyperfact.models.encoders.merging import Merged
from hyperfact.models.graph_pass import GraphPass
from tests.support.models import model_of, random_facts

_EDGES = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2), st.integers(0, 6)), max_size=30)
_KINDS = st.lists(st.integers(0, 3), min_size=7, max_size=7)


@given(_EDGES, _KINDS, st.integers(1, 7))
def test_kinds_say_what_their_nodes_would(
    edges: list[tuple[int, int, int]], kinds: list[int], rows: int
) -> None:
    columns = np.array(edges, dtype=np.int64).reshape(-1, 3).T
    graph = EdgeIndex.build(*columns, num_nodes=7, num_relations=3)
    kind, draw = np.array(kinds), torch.Generator().manual_seed(len(edges))
    vectors = torch.randn(4, 6, generator=draw, dtype=torch.float64)[: kind.max() + 1]
    z = torch.randn(3, 6, generator=draw, dtype=torch.float64)
    weights = torch.rand(len(edges), generator=draw, dtype=torch.float64)
    merged = Merged.of(graph, kind, rows=rows)
    heard = {(kinds[u], r, t) for u, r, t in edges if t < rows}
    found = merged.edges
    assert sorted(zip(found.source, found.relation, found.target, strict=True)) == sorted(heard)
    for composition in ("rotate", "mult", "sub"):
        one = compose_aggregate(
            vectors[kind], z, edges=graph, weights=weights, composition=composition, rows=rows
        )
        other = compose_aggregate(
            vectors, z, edges=found, weights=merged.weights(weights), composition=composition
        )
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("encoder", ["compgcn", "rgcn"])
def test_gradients_and_hidden_facts_are_those_of_all_edges(encoder: str) -> None:
    facts = random_facts(60)
    model = model_of(facts, {"name": encoder, "alpha": 1.0}, precision="float64")
    inner: Any = model.encoder
    assert inner.merged is not None
    step = GraphPass(keep=model.keep_without(np.arange(0, 60, 3)))
    found = []
    for merged in (inner.merged, None):
        inner.__dict__["merged"] = merged  # of a cached property
        entities = inner.encode(step).entities
        loss = (entities * torch.arange(entities.numel()).view_as(entities)).pow(2).sum()
        named = dict(inner.named_parameters())
        found_slopes = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
        found.append((entities, dict(zip(named, found_slopes, strict=True))))
    (one, slopes), (other, others) = found
    torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)
    for name, expected in others.items():
        if expected is not None and expected.numel():  # nothing is own where all is shared
            slope, scale = slopes[name], float(expected.abs().max())
            torch.testing.assert_close(slope, expected, rtol=1e-9, atol=1e-10 * scale)


@pytest.mark.parametrize(
    ("options", "joins"),
    [({"alpha": 1.0}, True), ({"alpha": 0.8}, False), ({"alpha": 1.0, "layers": 2}, False)],
)
def test_only_equal_mediators_that_nobody_else_hears_are_joined(
    options: dict[str, Any], joins: bool
) -> None:
    encoder: Any = model_of(random_facts(60), {"name": "compgcn", **options}).encoder
    assert (encoder.merged is not None) == joins
    if joins:
        direct, _ = encoder.merged
        assert len(direct.edges) < len(encoder.view.edges)
