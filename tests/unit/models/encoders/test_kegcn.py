"""KE-GCN against the gradients of its score, edge by edge, by autograd."""

import pytest
import torch
from torch import Tensor

from hyperfact.errors import ConfigError
from hyperfact.graph.kg import KG
from hyperfact.models.encoders.kegcn import KEGCN, KEGCNLayer
from tests.support.models import model_of, toy

SCORES = ["transe", "distmult", "rotate"]


def as_complex(x: Tensor) -> Tensor:
    return torch.complex(*x.chunk(2, dim=-1))


def score(name: str, h: Tensor, r: Tensor, t: Tensor) -> Tensor:
    """-|q(h, r) - t|^2."""
    if name == "rotate":
        gap = as_complex(h) * as_complex(r) - as_complex(t)
        return -(gap.abs() ** 2).sum()
    gap = h + r - t if name == "transe" else h * r - t
    return -(gap**2).sum()


def naive_layer(
    layer: KEGCNLayer, h: Tensor, z: Tensor, graph: KG, name: str
) -> tuple[Tensor, Tensor]:
    if name == "rotate":
        unit = as_complex(z) / as_complex(z).abs()
        z = torch.cat([unit.real, unit.imag], dim=1)
    moves, counts = torch.zeros_like(h), torch.zeros(len(h), 1).double()
    turns, uses = torch.zeros_like(z), torch.zeros(len(z), 1).double()
    for s, r, t in zip(graph.source, graph.edge_type, graph.target, strict=True):
        leaves = [x.clone().requires_grad_() for x in (h[s], z[r], h[t])]
        gradients = torch.autograd.grad(score(name, *leaves), leaves)
        moves[s] += gradients[0]
        turns[r] += gradients[1]
        moves[t] += gradients[2]
        for table, row in ((counts, s), (counts, t), (uses, r)):
            table[row] += 1
    entities = torch.tanh((h + 0.2 * moves / counts.clamp(min=1)) @ layer.w_entity.detach())
    return entities, torch.tanh(z + 0.4 * turns / uses.clamp(min=1))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("name", SCORES)
def test_layers_follow_the_gradients_of_the_score(layers: int, name: str) -> None:
    options = {"name": "kegcn", "score": name, "layers": layers, "residual": False}
    options |= {"batch_norm": False, "activation": "tanh"}
    options |= {"entity_step": 0.2, "relation_step": 0.4}
    model = model_of(toy(), options, precision="float64")
    encoder, graph = model.encoder, model.graph
    assert isinstance(encoder, KEGCN)
    h, z = encoder.nodes().detach(), encoder.relations.detach()
    for layer in encoder.layers:
        assert isinstance(layer, KEGCNLayer)
        h, z = naive_layer(layer, h, z, graph, name)
    found = model.encode()
    assert torch.allclose(found.entities, h[: encoder.num_entities], atol=1e-10)
    assert torch.allclose(found.relations, z[: encoder.num_relations], atol=1e-10)


def test_rotate_needs_pairs() -> None:
    with pytest.raises(ConfigError, match="must be even, got 7"):
        model_of(toy(), {"name": "kegcn"}, dim=7)
