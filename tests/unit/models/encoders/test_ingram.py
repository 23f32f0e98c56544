"""InGram against its formulas, pair by pair and edge by edge."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hyperfact.errors import ConfigError
from hyperfact.graph.kg import KG
from hyperfact.models.encoders.relation_graph import relation_graph
from tests.support.models import model_of, toy

Triples = list[tuple[int, int, int]]
HEADS = 2


def triples_of(graph: KG) -> Triples:
    """Both directions, inverse relations after the others."""
    types = graph.num_edge_types
    direct = [
        (int(s), int(r), int(t))
        for s, r, t in zip(graph.source, graph.edge_type, graph.target, strict=True)
    ]
    return [*direct, *((t, r + types, s) for s, r, t in direct)]


def naive_affinity(triples: Triples, types: int) -> np.ndarray[Any, Any]:
    """A = E_h^T D_h^-2 E_h + E_t^T D_t^-2 E_t, by the dense matrices."""
    total = np.zeros((types, types))
    nodes = 1 + max(max(s, t) for s, _, t in triples)
    for end in (0, 2):
        e = np.zeros((nodes, types))
        for triple in triples:
            e[triple[end], triple[1]] += 1
        d = e.sum(axis=1)
        d[d == 0] = 1
        total += e.T @ np.diag(d**-2) @ e
    return total


def test_the_relation_graph_is_its_formula() -> None:
    model = model_of(toy(), {"name": "ingram", "heads": HEADS, "bins": 4})
    encoder: Any = model.encoder
    both = encoder.view.view.edges
    weights = naive_affinity(triples_of(model.graph), both.num_relations)
    found = relation_graph(both, None, 4)
    pairs = list(zip(found.target, found.source, strict=True))
    assert set(pairs) == set(zip(*np.nonzero(weights), strict=True))
    by_weight = sorted(
        (float(weights[p]), int(b)) for p, b in zip(pairs, found.relation, strict=True)
    )
    assert [b for _, b in by_weight] == sorted(b for _, b in by_weight)
    assert set(found.relation.tolist()) <= set(range(4))
    equal = Counter(round(w, 6) for w, _ in by_weight)
    assert len({(round(w, 6), b) for w, b in by_weight}) == len(equal)  # equal weights, one bin


def attention(scores: list[Tensor], values: list[Tensor]) -> Tensor:
    """Softmax for each head, over its own coordinates of the values."""
    shares = torch.stack(scores).softmax(dim=0)  # (neighbours, heads)
    parts = torch.stack(values).view(len(values), HEADS, -1)
    return (shares[:, :, None] * parts).sum(dim=0).flatten()


def score(layer: Any, near: Tensor) -> Tensor:
    bent: Tensor = torch.nn.functional.leaky_relu(near, 0.2) * layer.vector[0]
    return bent.view(HEADS, -1).sum(dim=1)


def naive_relations(layer: Any, z: Tensor, graph: Any) -> Tensor:
    rows = []
    for i in range(len(z)):
        scores, values = [], []
        for j, b, target in zip(graph.source, graph.relation, graph.target, strict=True):
            if target == i:
                near = torch.cat([z[i], z[j]]) @ torch.cat([layer.w_receiver, layer.w_sender])
                scores.append(score(layer, near) + layer.bias[b])
                values.append(z[j] @ layer.w_value)
        heard = attention(scores, values) if scores else torch.zeros(z.shape[1]).double()
        rows.append(torch.relu(heard + z[i] @ layer.w_self))
    return torch.stack(rows)


def naive_nodes(layer: Any, h: Tensor, z: Tensor, triples: Triples) -> Tensor:
    rows = []
    stacked = torch.cat([layer.w_receiver, layer.w_sender, layer.w_relation])
    for t in range(len(h)):
        heard = [(h[u], z[r]) for u, r, target in triples if target == t]
        relations = [r for _, r in heard]
        mean = sum(relations, torch.zeros_like(z[0])) / max(1, len(relations))
        scores, values = [], []
        for u, r in [*heard, (h[t], mean)]:
            scores.append(score(layer, torch.cat([h[t], u, r]) @ stacked))
            both = torch.cat([layer.w_value, layer.w_relation_value])
            values.append(torch.cat([u, r]) @ both)
        rows.append(torch.relu(attention(scores, values) + h[t] @ layer.w_self))
    return torch.stack(rows)


@pytest.mark.parametrize(("relation_layers", "layers"), [(1, 1), (2, 2)])
def test_layers_are_their_formula(relation_layers: int, layers: int) -> None:
    options = {"name": "ingram", "relation_layers": relation_layers, "layers": layers}
    options |= {"residual": False, "batch_norm": False, "activation": "relu", "heads": HEADS}
    model = model_of(toy(), options, precision="float64")
    encoder: Any = model.encoder
    with torch.no_grad():
        for layer in encoder.relation_layers:
            layer.bias.add_(torch.arange(20).view(10, 2) / 10)
        h, z = encoder.nodes(), encoder.relations.data
        for layer in encoder.relation_layers:
            z = naive_relations(layer, z, relation_graph(encoder.view.view.edges, None, 10))
        for layer in encoder.layers:
            h = naive_nodes(layer, h, z, triples_of(model.graph))
        found = model.encode()
    assert torch.allclose(found.entities, h[: encoder.num_entities], atol=1e-10)
    assert torch.allclose(found.relations, z[: encoder.num_relations], atol=1e-10)


def test_heads_must_divide_the_dimension() -> None:
    with pytest.raises(ConfigError, match="3 do not divide d = 8"):
        model_of(toy(), {"name": "ingram", "heads": 3})
