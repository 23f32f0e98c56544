"""CompGCN against its formula, edge by edge."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hyperfact.errors import ConfigError
from hyperfact.kernels.compositions import COMPOSITIONS
from tests.support.models import model_of, random_facts, toy


def naive_compose(x: list[float], r: list[float], composition: str) -> list[float]:
    d = len(x)
    if composition == "sub":
        return [a - b for a, b in zip(x, r, strict=True)]
    if composition == "mult":
        return [a * b for a, b in zip(x, r, strict=True)]
    if composition == "corr":
        return [sum(x[i] * r[(i + k) % d] for i in range(d)) for k in range(d)]
    h = d // 2
    product = [complex(x[i], x[i + h]) * complex(r[i], r[i + h]) for i in range(h)]
    return [z.real for z in product] + [z.imag for z in product]


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_compositions_are_their_formulas(composition: str) -> None:
    generator = torch.Generator().manual_seed(0)
    x, r = torch.randn(2, 6, generator=generator).double()
    expected = torch.tensor(naive_compose(x.tolist(), r.tolist(), composition)).double()
    assert torch.allclose(COMPOSITIONS[composition].dense(x, r), expected)


@pytest.mark.parametrize("composition", COMPOSITIONS)
def test_the_self_loop_folds_into_its_matrix(composition: str) -> None:
    generator = torch.Generator().manual_seed(0)
    x, weight = (torch.randn(6, 6, generator=generator).double() for _ in range(2))
    r = torch.randn(6, generator=generator).double()
    matrix, bias = COMPOSITIONS[composition].fold(r, weight)
    folded = x @ matrix + (0 if bias is None else bias)
    assert torch.allclose(folded, COMPOSITIONS[composition].dense(x, r.expand_as(x)) @ weight)


def weight_of(graph: Any, edge: int, direction: str, normaliser: str) -> float:
    source, target = graph.source, graph.target
    sender, receiver = (source, target) if direction == "direct" else (target, source)
    received = int((receiver == receiver[edge]).sum())
    if normaliser == "mean":
        return 1 / received
    if normaliser == "published":  # received edges at both ends, infinite becomes 0
        other = int((receiver == sender[edge]).sum())
        return 0.0 if other == 0 else (received * other) ** -0.5
    return float((received * int((sender == sender[edge]).sum())) ** -0.5)


def naive_layer(
    layer: Any, h: Tensor, z: Tensor, *, graph: Any, composition: str, normaliser: str, rows: int
) -> Tensor:
    """1/3 of each direction and of the loop, message by message, then x + g * BN(…)."""
    types = len(z) // 2
    total = torch.zeros_like(h)
    for e in range(len(graph)):
        s, t = int(graph.source[e]), int(graph.target[e])
        r = int(graph.edge_type[e])
        for direction, u, v, kind, matrix in (
            ("direct", s, t, r, layer.w_direct),
            ("inverse", t, s, r + types, layer.w_inverse),
        ):
            phi = h.new_tensor(naive_compose(h[u].tolist(), z[kind].tolist(), composition))
            total[v] += weight_of(graph, e, direction, normaliser) * phi @ matrix / 3
    loop = [naive_compose(row, layer.loop[0].tolist(), composition) for row in h.tolist()]
    total = (total + h.new_tensor(loop) @ layer.w_loop / 3)[:rows]
    normal = (total - total.mean(0)) / (total.var(0, unbiased=False) + 1e-5).sqrt()
    result: Tensor = h[:rows] + layer.update.gate * normal
    return result


@pytest.mark.parametrize("composition", COMPOSITIONS)
@pytest.mark.parametrize("normaliser", ["symmetric", "mean", "published"])
@pytest.mark.parametrize(("layers", "alpha"), [(1, 0.8), (1, 1.0), (2, 0.0), (2, 0.5), (3, 1.0)])
def test_layers_are_their_formula(
    composition: str, normaliser: str, layers: int, alpha: float
) -> None:
    options = {"name": "compgcn", "composition": composition, "normaliser": normaliser}
    model = model_of(toy(), {**options, "layers": layers, "alpha": alpha}, precision="float64")
    encoder: Any = model.encoder
    with torch.no_grad():
        h, z = encoder.nodes(), encoder.relations
        for number, layer in enumerate(encoder.layers, start=1):
            h = naive_layer(
                layer,
                h,
                z,
                graph=model.graph,
                composition=composition,
                normaliser=normaliser,
                rows=encoder.num_entities if number == layers else len(h),
            )
            z = z + layer.relation_gate * (z @ layer.w_relation)
        assert torch.allclose(model.encode().entities, h, atol=1e-10)
        assert torch.allclose(model.encode().relations, z[: len(toy().relations)])


@pytest.mark.parametrize(("normaliser", "heard"), [("symmetric", 1), ("mean", 1), ("published", 0)])
def test_mediators_influence_entities_unless_normalised_as_published(
    normaliser: str, heard: int
) -> None:
    model = model_of(random_facts(40), {"name": "compgcn", "normaliser": normaliser})
    encoder: Any = model.encoder
    own = encoder.nodes.mediators.own
    (gradient,) = torch.autograd.grad(
        (model.encode().entities * torch.arange(8)).pow(2).sum(), own, allow_unused=True
    )
    assert int((gradient != 0).any(dim=1).float().mean().round()) == heard
    assert bool(gradient.any()) == bool(heard)


def test_the_encoder_starts_near_the_identity() -> None:
    model = model_of(random_facts(40), {"name": "compgcn"}, dim=16, precision="float64")
    encoder: Any = model.encoder
    moved = model.encode().entities - encoder.nodes.entities
    assert float(moved.detach().std()) == pytest.approx(0.1, rel=0.01)


def test_rotate_needs_pairs() -> None:
    with pytest.raises(ConfigError, match="must be even, got 7"):
        model_of(toy(), {"name": "compgcn"}, dim=7)


def test_hiding_recounts_degrees() -> None:
    model = model_of(random_facts(20), {"name": "compgcn", "normaliser": "mean"})
    keep = model.keep_without(np.arange(10))
    encoder: Any = model.encoder
    direct, inverse = encoder.view.weights(keep)
    assert not direct[~keep].any()
    target = torch.from_numpy(model.graph.target.astype(np.int64))
    sums = torch.zeros(model.graph.num_nodes).double().index_add(0, target, direct)
    assert set(sums.round(decimals=9).tolist()) <= {0.0, 1.0}
    assert inverse.shape == direct.shape
