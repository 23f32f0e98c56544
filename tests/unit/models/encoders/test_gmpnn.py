"""G-MPNN against its formula, fact by fact."""

from typing import Any

import pytest
import torch
from torch import Tensor

from hyperfact.graph.hkg import HKG
from tests.support.models import model_of, toy

SCALE = 0.5


def heard_by(encoder: Any, h: Tensor, z: Tensor, facts: HKG) -> list[list[Tensor]]:
    """R_r * prod over the others of P_j * V_j, for each entity from each of its places."""
    e, r = facts.entities, facts.relations
    found: list[list[Tensor]] = [[] for _ in range(len(e))]
    for fact in facts:
        places = [(0, fact.subject), (1, fact.object)]
        places += [(2 + r.id(a), v) for a, v in fact.qualifiers]
        for k, (_, name) in enumerate(places):
            message = z[r.id(fact.relation)]
            for j, (role, other) in enumerate(places):
                if j != k:
                    message = message * encoder.roles[role] * h[e.id(other)] / SCALE
            found[e.id(name)].append(message)
    return found


def gather(heard: list[Tensor], aggregation: str, dim: int) -> Tensor:
    """All that an entity hears, as one vector."""
    zero = torch.zeros(dim).double()
    if aggregation == "max":
        return torch.stack([zero, *heard]).amax(dim=0)
    return sum(heard, zero) / (max(1, len(heard)) if aggregation == "mean" else 1)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("aggregation", ["max", "mean", "sum"])
def test_layers_are_their_formula(layers: int, aggregation: str) -> None:
    options = {"name": "gmpnn", "aggregation": aggregation, "layers": layers, "residual": False}
    options |= {"batch_norm": False, "activation": "tanh", "initial_scale": SCALE}
    model = model_of(toy(), options, precision="float64")
    encoder: Any = model.encoder
    with torch.no_grad():
        h, z = encoder.entities.data, encoder.relations.data
        for layer in encoder.layers:
            rows = [gather(some, aggregation, 8) for some in heard_by(encoder, h, z, toy())]
            h = torch.tanh(torch.stack(rows) @ layer.w_message + h @ layer.w_self)
            z = z @ layer.w_relation
        found = model.encode()
    assert torch.allclose(found.entities, h, atol=1e-10)
    assert torch.allclose(found.relations, z, atol=1e-10)


def test_what_is_heard_has_one_size_at_any_arity() -> None:
    facts = toy()
    encoder: Any = model_of(facts, {"name": "gmpnn"}, dim=400, precision="float64").encoder
    with torch.no_grad():
        messages = heard_by(encoder, encoder.entities / 0.3 * SCALE, encoder.relations, facts)
    sizes = torch.stack([m.std() for some in messages for m in some])
    assert 0.1 < float(sizes.min()) < float(sizes.max()) < 1.5


def test_roles_tell_subject_from_object() -> None:
    encoder: Any = model_of(toy(), {"name": "gmpnn"}, precision="float64").encoder
    before = encoder().entities.clone()
    with torch.no_grad():
        encoder.roles[0] += 1.0
    assert not torch.allclose(before, encoder().entities)
