"""StarE against its formula, fact by fact."""

from typing import Any

import pytest
import torch
from torch import Tensor

from hyperfact.errors import ConfigError, UserError
from hyperfact.graph.hkg import HKG
from hyperfact.kernels.compositions import COMPOSITIONS
from tests.support.models import config_of, model_of, toy
from tests.unit.models.encoders.test_compgcn import naive_compose


def compose(x: Tensor, r: Tensor, composition: str) -> Tensor:
    return x.new_tensor(naive_compose(x.tolist(), r.tolist(), composition))


def naive_layer(layer: Any, h: Tensor, z: Tensor, facts: HKG, composition: str) -> Tensor:
    """1/3 in, 1/3 out, 1/3 loop; the relation of each edge is 0.8 r + 0.2 of its qualifiers."""
    e, r, base = facts.entities, facts.relations, len(facts.relations)
    total = torch.zeros_like(h)
    for fact in facts:
        q = torch.zeros(h.shape[1]).double()
        for attribute, value in fact.qualifiers:
            q = q + compose(h[e.id(value)], z[r.id(attribute)], composition)
        q = q @ layer.w_qualifier
        s, o, rel = e.id(fact.subject), e.id(fact.object), r.id(fact.relation)
        sent = sum(other.subject == fact.subject for other in facts)
        received = sum(other.object == fact.object for other in facts)
        weight = (sent * received) ** -0.5
        for u, t, relation, matrix in (
            (s, o, rel, layer.w_direct),
            (o, s, rel + base, layer.w_inverse),
        ):
            blended = 0.8 * z[relation] + 0.2 * q
            total[t] += weight * compose(h[u], blended, composition) @ matrix / 3
    loop = torch.stack([compose(row, layer.loop[0], composition) for row in h])
    return torch.tanh(total + loop @ layer.w_loop / 3)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_layers_are_their_formula(layers: int, composition: str) -> None:
    options = {"name": "stare", "composition": composition, "layers": layers, "residual": False}
    options |= {"batch_norm": False, "activation": "tanh"}
    model = model_of(toy(), options, precision="float64")
    encoder: Any = model.encoder
    with torch.no_grad():
        h, z = encoder.entities.data, encoder.relations.data
        for layer in encoder.layers:
            h, z = naive_layer(layer, h, z, toy(), composition), z @ layer.w_relation
        found = model.encode()
    assert torch.allclose(found.entities, h, atol=1e-10)
    assert torch.allclose(found.relations, z[: len(toy().relations)], atol=1e-10)


def test_no_tensor_has_a_row_for_each_bare_fact() -> None:
    graph = toy()
    encoder: Any = model_of(graph, {"name": "stare"}).encoder
    qualified = int((graph.num_qualifiers > 0).sum())
    assert 0 < qualified < len(graph)
    assert encoder.facts.edges.num_relations == len(graph.relations) + qualified


@pytest.mark.parametrize("name", ["stare", "gmpnn"])
@pytest.mark.parametrize("graph", [{"transformation": "plain"}, {"mode": "literal"}])
def test_a_transformation_means_nothing_where_facts_are_read(
    name: str, graph: dict[str, str]
) -> None:
    with pytest.raises(ConfigError, match=rf"'graph.{next(iter(graph))}' is unused.*reads facts"):
        config_of(encoder={"name": name}, graph=graph)


def test_a_model_of_facts_says_that_it_has_no_transformed_graph() -> None:
    model = model_of(toy(), {"name": "stare"})
    assert model.encoded is not None
    assert model.mediators() is None
    with pytest.raises(UserError, match="reads the facts themselves"):
        _ = model.graph
