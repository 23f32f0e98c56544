"""R-GCN against its formula, edge by edge."""

from collections import Counter

import pytest
import torch
from torch import Tensor

from hyperfact.errors import ConfigError
from hyperfact.models.encoders.rgcn import RGCN, RGCNLayer
from tests.support.models import model_of, toy


def matrix_of(layer: RGCNLayer, relation: int, dim: int) -> Tensor:
    """W_r, written out."""
    if layer.coefficients is not None:
        bases = layer.matrices.view(-1, dim, dim)
        return torch.einsum("b,bio->io", layer.coefficients[relation], bases)
    blocks: Tensor = torch.block_diag(*layer.matrices[relation])  # type: ignore[no-untyped-call]
    return blocks


def naive(encoder: RGCN, normaliser: str) -> Tensor:
    layer = encoder.layers[0]
    assert isinstance(layer, RGCNLayer)
    h: Tensor = encoder.nodes()
    edges = encoder.edges
    rows = list(zip(edges.source, edges.relation, edges.target, strict=True))
    counts = Counter((t, r) if normaliser == "relation" else t for _, r, t in rows)
    total = h @ layer.w_self
    for u, r, t in rows:
        c = counts[(t, r) if normaliser == "relation" else t]
        total[t] = total[t] + h[u] @ matrix_of(layer, r, h.shape[1]) / c
    return total[: encoder.num_entities]


@pytest.mark.parametrize("decomposition", ["basis", "block", "full"])
@pytest.mark.parametrize("normaliser", ["relation", "global"])
@pytest.mark.parametrize("alpha", [0.8, 1.0])
def test_a_layer_is_its_formula(decomposition: str, normaliser: str, alpha: float) -> None:
    options = {
        "name": "rgcn",
        "alpha": alpha,
        "decomposition": decomposition,
        "normaliser": normaliser,
        "residual": False,
        "batch_norm": False,
    }
    if decomposition != "full":
        options["parts"] = 2
    model = model_of(toy(), options, precision="float64")
    assert isinstance(model.encoder, RGCN)
    with torch.no_grad():
        assert torch.allclose(model.encode().entities, naive(model.encoder, normaliser))


def test_relations_are_a_free_table() -> None:
    model = model_of(toy(), {"name": "rgcn"})
    assert model.encode().relations is model.encoder.relations


def test_both_directions_have_matrices_of_their_own_and_unused_relations_none() -> None:
    model = model_of(toy(), {"name": "rgcn"})
    assert isinstance(model.encoder, RGCN)
    used = len(set(model.graph.edge_type.tolist()))
    assert model.encoder.edges.num_relations == 2 * used
    assert 2 * used < 2 * model.graph.num_edge_types


def test_blocks_must_divide_the_dimension() -> None:
    with pytest.raises(ConfigError, match="3 blocks do not divide d = 8"):
        model_of(toy(), {"name": "rgcn", "decomposition": "block", "parts": 3})
