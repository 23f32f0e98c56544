"""Decoders against their formulas in plain loops."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.models.decoders.attention import Block
from hyperfact.models.decoders.decoder import even_products, product
from hyperfact.models.decoders.hype import HypE, HypESettings
from hyperfact.models.decoders.mdistmult import MDistMult, MDistMultSettings, bounded_product
from hyperfact.models.decoders.mtransh import MTransH, MTransHSettings
from hyperfact.models.decoders.packing import Packing
from hyperfact.models.decoders.transformer import Transformer, TransformerSettings
from hyperfact.models.representations import Representations
from tests.support.models import representations, toy

DIM, SCALE = 6, 0.3


def options(graph: HKG, **more: object) -> dict[str, object]:
    generator = torch.Generator().manual_seed(0)
    return {
        "dim": DIM,
        "num_entities": len(graph.entities),
        "scale": SCALE,
        "generator": generator,
    } | more


def ids(graph: HKG, row: int) -> tuple[list[int], list[int]]:
    """Entities of the slots, and the relation with the attributes."""
    c = graph.columns
    part = slice(c.offsets[row], c.offsets[row + 1])
    entities = [int(c.subject[row]), int(c.object[row]), *map(int, c.values[part])]
    return entities, [int(c.relation[row]), *map(int, c.attributes[part])]


@pytest.mark.parametrize("offset", [0.0, 0.6])
@pytest.mark.parametrize("pooling", ["mean", "sum"])
def test_mdistmult(pooling: str, offset: float) -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM)
    settings = MDistMultSettings(pooling=pooling, offset=offset)  # type: ignore[arg-type]
    decoder = MDistMult(**options(graph, settings=settings))  # type: ignore[arg-type]
    facts = FactBatch.of(graph, np.arange(len(graph)))
    scores = decoder.score(facts, torch.zeros(len(graph), dtype=torch.long), z)
    for row in range(len(graph)):
        entities, relations = ids(graph, row)
        total = 0.0
        for k in range(DIM):
            pooled = sum(float(z.relations[r, k]) for r in relations)
            pooled /= len(relations) if pooling == "mean" else 1
            answer, *known = (float(z.entities[e, k]) / SCALE for e in entities)
            factors = [offset + math.sqrt(1 - offset**2) * x for x in known]
            total += pooled / SCALE / math.sqrt(DIM) * answer * math.prod(factors)
        assert float(scores[row]) == pytest.approx(total, rel=1e-9)


@pytest.mark.parametrize("dim", [6, 7])
@pytest.mark.parametrize("turn", ["binary", "all"])
def test_a_turned_object_has_its_halves_exchanged(turn: str, dim: int) -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), dim)
    settings = MDistMultSettings(turn=turn)  # type: ignore[arg-type]
    decoder = MDistMult(**(options(graph, settings=settings) | {"dim": dim}))  # type: ignore
    facts = FactBatch.of(graph, np.arange(len(graph)))
    order = [3, 4, 5, 0, 1, 2, 6][:dim]
    for slot in (0, 1):
        slots = torch.full((len(graph),), slot)
        scores, table = decoder.score(facts, slots, z), decoder.score_slot(facts, slots, z)
        for row in range(len(graph)):
            (subject, obj, *values), relations = ids(graph, row)
            product = torch.stack([z.relations[r] for r in relations]).mean(0) / SCALE
            for e in (subject, *values):
                product = product * z.entities[e] / SCALE
            turned = turn == "all" or not values
            vector = z.entities[obj][order] if turned else z.entities[obj]
            expected = float((product * vector).sum()) / SCALE / math.sqrt(dim)
            assert float(scores[row]) == pytest.approx(expected)
            assert float(table[row, obj if slot else subject]) == pytest.approx(expected)


@pytest.mark.parametrize("turn", ["none", "all"])
def test_a_limit_shortens_long_queries_and_changes_no_rank(turn: str) -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM, scale=2.0)
    free, bound = (
        MDistMult(**options(graph, settings=MDistMultSettings(limit=limit, turn=turn)))  # type: ignore
        for limit in (0.0, 3.0)
    )
    facts = FactBatch.of(graph, np.arange(len(graph)))
    for slot in (0, 1):
        slots = torch.full((len(graph),), slot)
        form = bound.linear_form(facts, slots, z)
        lengths = torch.linalg.vector_norm(form.queries, dim=1) * SCALE
        assert float(lengths.max()) <= 3.0 + 1e-9
        one, other = free.score_slot(facts, slots, z), bound.score_slot(facts, slots, z)
        assert not torch.allclose(one, other)
        assert torch.equal(one.argsort(dim=1), other.argsort(dim=1))


@pytest.mark.parametrize("alike", [False, True])
def test_a_limit_holds_for_dozens_of_factors(alike: bool) -> None:
    factors = 20 * torch.randn(4, 70, 8, generator=torch.Generator().manual_seed(0))
    if alike:  # coordinates grow apart fastest
        factors = factors[:, :1].expand(4, 70, 8).clone()
    factors.requires_grad_()
    last = torch.ones(4, 8)
    assert not product(factors).isfinite().all()
    bound = bounded_product(factors, last, 5.0)
    assert torch.linalg.vector_norm(bound, dim=1).tolist() == pytest.approx([5.0] * 4, rel=1e-4)
    torch.autograd.backward(bound.sum())
    assert factors.grad is not None
    assert factors.grad.isfinite().all()
    few = factors.detach()[:, :3].double()
    torch.testing.assert_close(bounded_product(few, last, 1e9), product(few) * last)


@pytest.mark.parametrize("setting", ["dropout", "query_dropout"])
@pytest.mark.parametrize("family", [MDistMult, HypE])
def test_dropout_leaves_mean_scores_and_needs_a_generator(
    family: type[MDistMult | HypE], setting: str
) -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM)
    settings = family.Settings(**({"dropout": 0.0} | {setting: 0.5}))  # type: ignore[arg-type]
    decoder = family(**options(graph, settings=settings)).double()  # type: ignore[arg-type]
    facts = FactBatch.of(graph, np.arange(len(graph)))
    slots = torch.zeros(len(graph), dtype=torch.long)
    generator = torch.Generator().manual_seed(1)
    exact = decoder.score(facts, slots, z)
    assert torch.equal(exact, decoder.score(facts, slots, z))
    copies = FactBatch.of(graph, np.tile(np.arange(len(graph)), 4000))
    drawn = decoder.score(copies, slots.repeat(4000), z, generator=generator)
    drawn = drawn.view(4000, len(graph))
    error = drawn.std(dim=0) / math.sqrt(len(drawn))
    assert bool((drawn.std(dim=0) > 0).all())
    assert bool(((drawn.mean(dim=0) - exact).abs() < 5 * error).all())


@pytest.mark.parametrize("turn", ["none", "all"])
def test_dropped_coordinates_shorten_products_and_leave_mean_scores(turn: str) -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM)
    settings = MDistMultSettings(dropout=0.0, coordinate_dropout=0.5, turn=turn)  # type: ignore
    decoder = MDistMult(**options(graph, settings=settings))  # type: ignore[arg-type]
    facts = FactBatch.of(graph, np.arange(len(graph)))
    slots = torch.zeros(len(graph), dtype=torch.long)
    generator = torch.Generator().manual_seed(1)
    assert decoder.coordinates(None) is None
    drawn = []
    for _ in range(4000):
        kept = decoder.coordinates(generator)
        assert kept is not None
        assert len(kept) == len(set(kept.tolist())) == round(DIM / 2 * 0.5) * 2
        thin = Representations(z.entities[:, kept], z.relations[:, kept])
        drawn.append(decoder.score(facts, slots, thin))
    found = torch.stack(drawn)
    error = found.std(dim=0) / math.sqrt(len(found))
    assert bool(((found.mean(dim=0) - decoder.score(facts, slots, z)).abs() < 5 * error).all())
    with pytest.raises(ConfigError, match="even"):
        MDistMult(**(options(graph, settings=settings) | {"dim": 5}))  # type: ignore[arg-type]


def test_hype() -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM)
    decoder = HypE(**options(graph, settings=HypESettings(channels=3))).double()  # type: ignore
    facts = FactBatch.of(graph, np.arange(len(graph)))
    with torch.no_grad():
        decoder.bias.add_(0.1)
        scores = decoder.score(facts, torch.zeros(len(graph), dtype=torch.long), z)
        for row in range(len(graph)):
            entities, relations = ids(graph, row)
            product = torch.stack([z.relations[r] for r in relations]).mean(0) / SCALE
            for slot, e in enumerate(entities):
                mix = decoder.mixes[min(slot, 2)]
                if slot >= 2:
                    mix = mix + z.relations[relations[slot - 1]] @ decoder.attribute_mix
                maps = sum(mix[c] * decoder.filters[c] for c in range(3))
                product = product * ((z.entities[e] / SCALE) @ maps + decoder.bias)
            assert float(scores[row]) == pytest.approx(float(product.sum()) / math.sqrt(DIM))


def test_hype_tells_subject_from_object_and_mdistmult_does_not() -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM)
    facts = FactBatch(
        torch.tensor([[0, 1], [1, 0]]),
        torch.zeros(2, 1, dtype=torch.long),
        torch.ones(2, 2, dtype=torch.bool),
    )
    slots = torch.zeros(2, dtype=torch.long)
    symmetric = MDistMult(**options(graph, settings=MDistMultSettings())).score(facts, slots, z)  # type: ignore
    assert torch.allclose(symmetric[0], symmetric[1])
    one, two = HypE(**options(graph, settings=HypESettings())).double().score(facts, slots, z)  # type: ignore
    assert abs(float((one - two).detach())) > 1e-4


def test_mtransh() -> None:
    graph = toy()
    z = representations(len(graph.entities), len(graph.relations), DIM)
    decoder = MTransH(**options(graph, settings=MTransHSettings())).double()  # type: ignore
    facts = FactBatch.of(graph, np.arange(len(graph)))
    unit = SCALE * math.sqrt(DIM)
    with torch.no_grad():
        scores = decoder.score(facts, torch.ones(len(graph), dtype=torch.long), z)
        for row in range(len(graph)):
            entities, relations = ids(graph, row)
            pooled = torch.stack([z.relations[r] for r in relations]).mean(0) / unit
            nu = pooled @ decoder.normal
            nu = nu / nu.norm()
            total = pooled @ decoder.translation
            for slot, e in enumerate(entities):
                role = relations[0] if slot < 2 else relations[slot - 1]
                kind = min(slot, 2)
                c = z.relations[role] / SCALE @ decoder.roles[:, kind] + decoder.role_bias[kind]
                vector = z.entities[e] / unit
                total = total + c * (vector - (vector @ nu) * nu)
            expected = -decoder.log_temperature.exp() * total.square().sum()
            assert float(scores[row]) == pytest.approx(float(expected))


def test_a_block_is_torch_s_own() -> None:
    settings = TransformerSettings(heads=2, feedforward=10, dropout=0.0)
    block = Block(DIM, settings, torch.Generator().manual_seed(0)).double()
    other = nn.TransformerEncoderLayer(
        DIM, 2, dim_feedforward=10, dropout=0.0, batch_first=True, dtype=torch.float64
    )
    other.load_state_dict(
        {
            "self_attn.in_proj_weight": block.qkv.weight,
            "self_attn.in_proj_bias": block.qkv.bias,
            "self_attn.out_proj.weight": block.out.weight,
            "self_attn.out_proj.bias": block.out.bias,
            **{f"linear1.{n}": p for n, p in block.inner.named_parameters()},
            **{f"linear2.{n}": p for n, p in block.outer.named_parameters()},
            **{f"norm1.{n}": p for n, p in block.norm_1.named_parameters()},
            **{f"norm2.{n}": p for n, p in block.norm_2.named_parameters()},
        }
    )
    x = torch.randn(3, 5, DIM, generator=torch.Generator().manual_seed(1)).double()
    absent = torch.tensor([[False] * 5, [False] * 3 + [True] * 2, [False] * 4 + [True]])
    packing = Packing.of(~absent)
    mine = block.packed(packing.pack(x), packing, None)
    theirs = other(x, src_key_padding_mask=absent)
    assert torch.allclose(mine, packing.pack(theirs), atol=1e-12)


def test_heads_must_divide_the_dimension() -> None:
    with pytest.raises(ConfigError, match=r"heads = 4 must divide training.dim = 6"):
        Transformer(**options(toy(), settings=TransformerSettings()))  # type: ignore


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("rows", [1, 5, 25, 191, 192, 193, 777, 3388])
def test_equal_vectors_have_exactly_equal_products(rows: int, dtype: torch.dtype) -> None:
    """Also in the last columns, and for any number of queries."""
    generator = torch.Generator().manual_seed(rows)
    for dim in (7, 8, 200):
        table = torch.randn(1, dim, generator=generator).to(dtype).repeat(rows, 1)
        for queries in (1, 3, 64):
            vectors = torch.randn(queries, dim, generator=generator).to(dtype)
            products = even_products(vectors, table)
            assert products.shape == (queries, rows)
            assert torch.equal(products, products[:, :1].expand_as(products))
            assert torch.allclose(products, vectors @ table.T, atol=1e-4)
