"""What every decoder promises."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import Queries
from hyperfact.models.decoders import DECODERS
from hyperfact.models.decoders.decoder import Decoder, put
from hyperfact.models.hypergraph import Hypergraph
from hyperfact.models.representations import Representations
from tests.support.models import CHECKED, LEAST_DIM, POOLING, SMALL, representations, toy

NAMES = pytest.mark.parametrize("name", DECODERS)
DIM, SCALE = 8, 0.3
ORDER_FREE = pytest.mark.parametrize("name", [n for n, d in DECODERS.items() if not d.is_ordered])


def decoder_of(
    name: str, entities: int, *, dim: int = DIM, seed: int = 0, **settings: Any
) -> Decoder:
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(seed)
    kind = DECODERS[name]
    decoder = kind(
        dim=dim,
        num_entities=entities,
        scale=SCALE,
        settings=kind.Settings(**settings),
        generator=generator,
    )
    decoder = decoder.double().eval()
    with torch.no_grad():  # parameters that start at 0 would hide mistakes
        for parameter in decoder.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=generator).double())
    return decoder


def questions(graph: HKG) -> tuple[FactBatch, Tensor]:
    """Every slot of every fact, all arities in one batch."""
    queries = Queries.of(graph)
    return FactBatch.of(graph, queries.fact), torch.from_numpy(queries.slot.astype(np.int64))


def vectors(graph: HKG, dim: int = DIM) -> Representations:
    z = representations(len(graph.entities), len(graph.relations), dim, scale=SCALE)
    return replace(z, facts=Hypergraph.of(graph))


@NAMES
def test_the_fast_path_is_the_slow_one(name: str) -> None:
    graph = toy()
    facts, slots = questions(graph)
    decoder, z = decoder_of(name, len(graph.entities)), vectors(graph)
    fast, slow = decoder.score_slot(facts, slots, z), decoder.score_each(facts, slots, z)
    assert fast.shape == (len(facts), len(graph.entities))
    assert torch.allclose(fast, slow, rtol=1e-10, atol=1e-10)
    assert type(decoder).score_slot is not Decoder.score_slot or decoder.linear_form(
        facts, slots, z
    )
    every = torch.arange(len(graph.entities)).expand(len(facts), -1)
    some = decoder.score_candidates(facts, slots, z, candidates=every)
    assert torch.allclose(some, slow, rtol=1e-10, atol=1e-10)


@NAMES
def test_candidates_are_a_range_of_columns(name: str) -> None:
    graph = toy()
    facts, slots = questions(graph)
    decoder, z = decoder_of(name, len(graph.entities)), vectors(graph)
    part = decoder.score_slot(facts, slots, z, candidates=slice(2, 5))
    assert torch.allclose(part, decoder.score_slot(facts, slots, z)[:, 2:5], atol=1e-12)


@NAMES
def test_what_stands_in_the_asked_slot_does_not_matter(name: str) -> None:
    graph = toy()
    facts, slots = questions(graph)
    decoder, z = decoder_of(name, len(graph.entities)), vectors(graph)
    other = put(facts, slots, 6)
    assert torch.equal(decoder.score_slot(facts, slots, z), decoder.score_slot(other, slots, z))


@NAMES
def test_padding_does_not_matter(name: str) -> None:
    graph = toy()
    facts, slots = questions(graph)
    decoder, z = decoder_of(name, len(graph.entities)), vectors(graph)
    together = decoder.score_slot(facts, slots, z)
    wide = FactBatch(
        torch.nn.functional.pad(facts.entities, (0, 3), value=5),
        torch.nn.functional.pad(facts.relations, (0, 3), value=1),
        torch.nn.functional.pad(facts.mask, (0, 3), value=False),
    )
    assert torch.allclose(together, decoder.score_slot(wide, slots, z), atol=1e-12)
    for row in range(len(facts)):
        width = int(facts.mask[row].sum())
        alone = FactBatch(
            facts.entities[row : row + 1, :width],
            facts.relations[row : row + 1, : width - 1],
            facts.mask[row : row + 1, :width],
        )
        scores = decoder.score_slot(alone, slots[row : row + 1], z)
        assert torch.allclose(together[row], scores[0], atol=1e-12)


@ORDER_FREE
def test_the_order_of_qualifiers_does_not_matter(name: str) -> None:
    graph = toy()
    rows = np.flatnonzero(graph.arity == 5)
    facts = FactBatch.of(graph, rows)
    decoder, z = decoder_of(name, len(graph.entities)), vectors(graph)
    turned = replace(
        facts,
        entities=facts.entities[:, [0, 1, 4, 2, 3]],
        relations=facts.relations[:, [0, 3, 1, 2]],
    )
    for slot, moved in ((0, 0), (1, 1), (2, 3), (3, 4), (4, 2)):
        one = decoder.score_slot(facts, torch.full((len(rows),), slot), z)
        two = decoder.score_slot(turned, torch.full((len(rows),), moved), z)
        assert torch.allclose(one, two, atol=1e-10)


@NAMES
def test_qualifiers_matter(name: str) -> None:
    graph = toy()
    decoder, z = decoder_of(name, len(graph.entities)), vectors(graph)
    facts = FactBatch.of(graph, np.array([2]))  # a r c, p = d, q = e
    first = decoder.score_slot(facts, torch.tensor([0]), z)
    other = replace(facts, entities=facts.entities.clone())
    other.entities[0, 2] = graph.entities.id("g")
    swapped = replace(facts, relations=facts.relations[:, [0, 2, 1]])
    assert not torch.allclose(first, decoder.score_slot(other, torch.tensor([0]), z))
    if name not in POOLING:
        assert not torch.allclose(first, decoder.score_slot(swapped, torch.tensor([0]), z))


@NAMES
def test_renaming_entities_permutes_the_scores(name: str) -> None:
    graph = toy()
    facts, slots = questions(graph)
    decoder, z = decoder_of(name, len(graph.entities)), vectors(graph)
    order = torch.randperm(len(graph.entities), generator=torch.Generator().manual_seed(3))
    new = torch.empty_like(order)
    new[order] = torch.arange(len(order))
    before = decoder.score_slot(facts, slots, z)
    bias = getattr(decoder, "entity_bias", None)
    if bias is not None:
        bias.data = bias.data[order]
    renamed = replace(facts, entities=new[facts.entities])
    after = decoder.score_slot(renamed, slots, z.rows(order))
    assert torch.allclose(before[:, order], after, atol=1e-12)


@NAMES
@CHECKED
def test_gradients_are_true_and_reach_everything(name: str, fast: bool) -> None:
    graph = toy()
    facts, slots = questions(graph)
    narrow, dim = SMALL.get(name, {}), LEAST_DIM.get(name, 4)
    decoder, z = decoder_of(name, len(graph.entities), dim=dim, **narrow), vectors(graph, dim)
    some = [0, 5, 12, 16]
    facts = FactBatch(facts.entities[some], facts.relations[some], facts.mask[some])
    inputs = (z.entities.requires_grad_(), z.relations.requires_grad_(), *decoder.parameters())
    names = [n for n, _ in decoder.named_parameters()]

    def scores(entities: Tensor, relations: Tensor, *values: Tensor) -> Tensor:
        state = dict(zip(names, values, strict=True))
        call = (facts, slots[some], replace(z, entities=entities, relations=relations))
        weights = {f"inner.{n}": v for n, v in state.items()}
        result: Tensor = torch.func.functional_call(Scores(decoder), weights, call)
        return result

    assert torch.autograd.gradcheck(scores, inputs, eps=1e-6, atol=1e-5, fast_mode=fast)
    torch.autograd.backward((decoder.score_slot(*questions(graph), z) ** 2).sum())
    assert [n for n, p in decoder.named_parameters() if p.grad is None or not p.grad.any()] == []


class Scores(torch.nn.Module):
    """`score_slot` as a forward, for functional calls."""

    def __init__(self, inner: Decoder) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, facts: FactBatch, slots: Tensor, z: Representations) -> Tensor:
        return self.inner.score_slot(facts, slots, z)


@NAMES
def test_dropout_needs_a_generator_and_repeats_with_its_seed(name: str) -> None:
    graph = toy()
    facts, slots = questions(graph)
    decoder, z = decoder_of(name, len(graph.entities)), vectors(graph)
    plain, again, one, same, two = (
        decoder.score_slot(
            facts,
            slots,
            z,
            generator=None if seed is None else torch.Generator().manual_seed(seed),
        )
        for seed in (None, None, 1, 1, 2)
    )
    assert torch.equal(plain, again)
    assert torch.equal(one, same)
    assert not torch.equal(one, two)
    assert not torch.equal(one, plain)


@NAMES
def test_there_is_no_largest_number_of_qualifiers(name: str) -> None:
    pairs = tuple((f"a{i % 7}", f"e{i}") for i in range(70))
    graph = HKG.from_facts([Fact("e0", "r", "e1", pairs), Fact("e2", "r", "e3")])
    decoder = decoder_of(name, len(graph.entities))
    z = vectors(graph)
    z = replace(z, entities=z.entities / z.entities.abs())  # of length 1 each, no decay
    facts, slots = questions(graph)
    scores = decoder.score_slot(facts, slots, z)
    assert scores.shape == (74, len(graph.entities))
    assert scores.isfinite().all()
    assert scores.std(dim=1).min() > 0


@pytest.mark.parametrize("name", ["mdistmult", "hype"])
@pytest.mark.parametrize("arity", [2, 3, 4, 5, 6, 9])
def test_scores_start_with_a_deviation_of_about_one_at_any_arity(name: str, arity: int) -> None:
    """Products of many small numbers vanish; of many large ones explode."""
    dim, entities = 200, 400
    kind = DECODERS[name]
    decoder = kind(
        dim=dim,
        num_entities=entities,
        scale=SCALE,
        settings=kind.Settings(),
        generator=torch.Generator().manual_seed(0),
    ).double()
    z = representations(entities, 12, dim, scale=SCALE)
    generator = torch.Generator().manual_seed(1)
    facts = FactBatch(
        torch.randint(entities, (64, arity), generator=generator),
        torch.randint(12, (64, arity - 1), generator=generator),
        torch.ones(64, arity, dtype=torch.bool),
    )
    scores = decoder.score_slot(facts, torch.zeros(64, dtype=torch.long), z)
    assert 0.3 < float(scores.detach().std()) < 2.5
