"""VR-GCN against its formula, edge by edge."""

import pytest
import torch
from torch import Tensor

from hyperfact.graph.kg import KG
from hyperfact.models.encoders.vrgcn import VRGCN, VRGCNLayer
from tests.support.models import model_of, random_facts, toy


def naive_layer(layer: VRGCNLayer, h: Tensor, z: Tensor, graph: KG) -> Tensor:
    """act(W m + W_0 e): tails less their relation, heads plus it, over the incident edges."""
    rows = []
    for node in range(graph.num_nodes):
        total, count = torch.zeros(h.shape[1]).double(), 0
        triples = zip(graph.source, graph.edge_type, graph.target, strict=True)
        for head, r, tail in triples:
            if head == node:
                total, count = total + h[tail] - z[r], count + 1
            if tail == node:
                total, count = total + h[head] + z[r], count + 1
        rows.append(total / max(count, 1) @ layer.w_message)
        if layer.w_self is not None:
            rows[-1] = rows[-1] + h[node] @ layer.w_self
    return torch.relu(torch.stack(rows))


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("self_loop", [True, False])
def test_layers_are_their_formula(layers: int, self_loop: bool) -> None:
    options = {"name": "vrgcn", "self_loop": self_loop, "layers": layers, "residual": False}
    options |= {"batch_norm": False, "activation": "relu"}
    model = model_of(toy(), options, precision="float64")
    encoder, graph = model.encoder, model.graph
    assert isinstance(encoder, VRGCN)
    with torch.no_grad():
        h, z = encoder.nodes(), encoder.relations.data
        for layer in encoder.layers:
            assert isinstance(layer, VRGCNLayer)
            h, z = naive_layer(layer, h, z, graph), z @ layer.w_relation
        found = model.encode()
    assert torch.allclose(found.entities, h[: encoder.num_entities], atol=1e-12)
    assert torch.allclose(found.relations, z[: encoder.num_relations], atol=1e-12)


def test_mediators_influence_entities() -> None:
    model = model_of(random_facts(40), {"name": "vrgcn"})
    assert isinstance(model.encoder, VRGCN)
    own = model.encoder.nodes.mediators.own
    z = model.encode().entities
    (gradient,) = torch.autograd.grad((z * torch.arange(8)).pow(2).sum(), own)
    assert (gradient != 0).any(dim=1).all()
