"""Theorem 2 for every encoder: it contains the identity, so that it can do what its decoder can.

In the published form (no residual, no normalisation) weights are found that give back the input;
in the residual form a gate of 0 does.
"""

from typing import Any

import pytest
import torch

from tests.support.models import ENCODER_FORMS, model_of, toy

PLAIN = {"residual": False, "batch_norm": False}
#: The published form of an encoder, and the matrices that become multiples of the identity.
IDENTITIES: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "compgcn": ({}, {"w_loop": 3.0, "w_relation": 1.0}),
    "stare": ({}, {"w_loop": 3.0, "w_relation": 1.0}),
    "rgcn": ({}, {"w_self": 1.0}),
    "ingram": ({"heads": 2}, {"w_self": 1.0}),
    "vrgcn": ({}, {"w_self": 1.0, "w_relation": 1.0}),
    "gmpnn": ({}, {"w_self": 1.0, "w_relation": 1.0}),
    "kegcn": ({"score": "transe", "entity_step": 0.0, "relation_step": 0.0}, {"w_entity": 1.0}),
}


def inputs_of(encoder: Any) -> tuple[torch.Tensor, torch.Tensor]:
    nodes = getattr(encoder, "nodes", encoder)
    return nodes.entities.data, encoder.relations.data[: encoder.num_relations]


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("name", IDENTITIES)
def test_the_published_form_contains_the_identity(name: str, layers: int) -> None:
    options, matrices = IDENTITIES[name]
    model = model_of(
        toy(), {"name": name, "layers": layers, **PLAIN, **options}, precision="float64"
    )
    encoder: Any = model.encoder
    for layer in (*getattr(encoder, "relation_layers", ()), *encoder.layers):
        for parameter in layer.parameters():
            parameter.data.zero_()
        for matrix, size in matrices.items():
            getattr(layer, matrix).data = size * torch.eye(8).double()
        if hasattr(layer, "loop"):  # the complex number 1
            layer.loop.data[:, :4] = 1.0
    z, (entities, relations) = model.encode(), inputs_of(encoder)
    torch.testing.assert_close(z.entities, entities, atol=1e-12, rtol=0)
    torch.testing.assert_close(z.relations, relations, atol=1e-12, rtol=0)


@pytest.mark.parametrize(
    "form",
    [
        form
        for form, options in ENCODER_FORMS.items()
        if options.get("residual", True) and form not in {"anonymous", "lookup"}  # no gate
    ],
)
def test_a_gate_of_zero_is_the_identity(form: str) -> None:
    encoder: Any = model_of(toy(), ENCODER_FORMS[form], precision="float64").encoder
    for name, parameter in encoder.named_parameters():
        if name.endswith("gate"):
            parameter.data.zero_()
    z, (entities, relations) = encoder(), inputs_of(encoder)
    assert torch.equal(z.entities, entities)
    assert torch.equal(z.relations, relations)
