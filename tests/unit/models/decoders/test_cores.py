"""S2S: its core against plain loops, and the search for one."""

import math
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import Queries
from hyperfact.models.decoders.asng import Signs
from hyperfact.models.decoders.s2s import S2S, S2SSettings
from hyperfact.models.representations import Representations
from tests.support.models import representations, toy
from tests.unit.models.decoders.test_multilinear import (
    SCALE,
    decoder_of,
    ids,
    plain,
    pooled,
    unit,
    vectors_of,
)

DIM, K = 8, 4


def s2s(graph: HKG, **settings: Any) -> S2S:
    decoder = decoder_of("s2s", graph, dim=DIM, **settings)
    assert isinstance(decoder, S2S)
    return decoder


def some_core(seed: int = 0) -> str:
    signs = torch.randint(3, (K**3 + K**2,), generator=torch.Generator().manual_seed(seed))
    return "".join("-0+"[i] for i in signs.tolist())


def naive(core: str, z: Representations, entities: list[int], relations: list[int]) -> float:
    """Sum over all blocks of the whole core of this arity, sign by sign."""
    sign = ["-0+".index(c) - 1 for c in core]
    primary, side = sign[: K**3], sign[K**3 :]
    size = math.sqrt(max(1.0, sum(map(abs, primary)) / K))
    rows = [math.sqrt(max(1, sum(map(abs, side[k * K : (k + 1) * K])))) for k in range(K)]
    vectors = [pooled(z, relations), *(unit(z.entities, e) for e in entities)]
    total, length = 0.0, DIM // K
    for block in product(range(K), repeat=1 + len(entities)):
        first, subject, target, *values = block
        weight = primary[first * K * K + subject * K + target] / size
        for value in values:
            weight *= side[first * K + value] / rows[first]
        for c in range(length):
            terms = (v[k * length + c] for k, v in zip(block, vectors, strict=True))
            total += weight * math.prod(terms)
    return total / math.sqrt(DIM)


@pytest.mark.parametrize("seed", range(3))
def test_scores_follow_the_formula(seed: int) -> None:
    graph, core = toy(), some_core(seed)
    decoder, z = s2s(graph, core=core), vectors_of(graph, DIM)
    assert decoder.signs == core
    facts = FactBatch.of(graph, np.arange(len(graph)))
    for slot in (0, 1):
        found = decoder.score(facts, torch.full((len(graph),), slot), z)
        for row in range(len(graph)):
            assert float(found[row]) == pytest.approx(
                naive(core, z, *ids(graph, row)), rel=1e-9, abs=1e-9
            )


def test_the_diagonal_core_is_mdistmult() -> None:
    graph = toy()
    z = vectors_of(graph, DIM)
    queries = Queries.of(graph)
    facts, slots = FactBatch.of(graph, queries.fact), torch.from_numpy(queries.slot).long()
    other = decoder_of("mdistmult", graph, dim=DIM).score_slot(facts, slots, z)
    for core in ("diagonal", "searched"):  # a search begins there
        assert torch.allclose(s2s(graph, core=core).score_slot(facts, slots, z), other)


def test_the_complex_core_is_complex() -> None:
    graph = toy()
    z = vectors_of(graph, DIM)
    # segments: Re, Im, Re, Im of two numbers each; n-ary ComplEx has all real parts first
    order = [0, 1, 4, 5, 2, 3, 6, 7]
    halves = Representations(z.entities[:, order], z.relations[:, order])
    one = s2s(graph, core="complex", normalise=False).score(*plain((0, 1), (1, 0)), z)
    two = decoder_of("ncomplex", graph, dim=DIM, normalise=False)
    size = math.sqrt(2)  # eight signs where the diagonal has four
    assert torch.allclose(one * size, two.score(*plain((0, 1), (1, 0)), halves))


def hidden_law() -> tuple[HKG, Representations, tuple[FactBatch, Tensor]]:
    graph = toy()
    queries = Queries.of(graph)
    call = FactBatch.of(graph, queries.fact), torch.from_numpy(queries.slot).long()
    return graph, vectors_of(graph, DIM), call


def searching(graph: HKG, steps: int) -> S2S:
    options: dict[str, Any] = {"dim": DIM, "num_entities": len(graph.entities), "scale": SCALE}
    settings = S2SSettings(search_steps=steps)
    return S2S(**options, settings=settings, generator=torch.Generator()).double()


def test_the_search_takes_its_steps_in_training_only() -> None:
    graph, z, call = hidden_law()
    decoder, generator = searching(graph, 3).train(), torch.Generator().manual_seed(0)
    decoder.linear_form(*call, z)  # no generator: no step of training
    decoder.eval().linear_form(*call, z, generator=generator)
    assert (int(decoder.searched), decoder.signs) == (0, s2s(graph, core="diagonal").signs)
    decoder.train()
    for step in range(5):
        decoder.linear_form(*call, z, generator=generator)
        assert int(decoder.searched) == min(step + 1, 3)
        if step == 2:
            kept = decoder.signs
    assert decoder.signs == kept
    one, two = (decoder.linear_form(*call, z).queries for _ in range(2))
    assert torch.equal(one, two)


def test_a_search_repeats_with_its_seed_and_can_be_taken_up() -> None:
    graph, z, call = hidden_law()
    generator = torch.Generator().manual_seed(4)
    whole, half = searching(graph, 40), searching(graph, 40)
    for _ in range(40):
        whole.linear_form(*call, z, generator=generator)
    generator = torch.Generator().manual_seed(4)
    for _ in range(15):
        half.linear_form(*call, z, generator=generator)
    other = searching(graph, 40)
    other.load_state_dict(half.state_dict())
    for _ in range(25):
        other.linear_form(*call, z, generator=generator)
    assert all(torch.equal(t, other.state_dict()[n]) for n, t in whole.state_dict().items())
    assert whole.signs != s2s(graph, core="diagonal").signs


def test_sampled_negatives_search_too() -> None:
    graph, z, call = hidden_law()
    decoder = searching(graph, 2)
    candidates = torch.zeros(len(call[0]), 3, dtype=torch.long)
    for _ in range(3):
        decoder.score_candidates(
            *call, z, candidates=candidates, generator=torch.Generator().manual_seed(0)
        )
    assert int(decoder.searched) == 2


def test_a_search_finds_a_better_core_for_vectors_that_follow_one() -> None:
    """Answers are drawn by a core that is not symmetric; the found one puts them further up."""
    entities, dim = 60, 32
    z = representations(entities, 3, dim, scale=SCALE)
    generator = torch.Generator().manual_seed(0)
    options: dict[str, Any] = {"dim": dim, "num_entities": entities, "scale": SCALE}
    truth, found, start = (
        S2S(**options, settings=S2SSettings(**s), generator=generator).double()
        for s in (
            {"core": "complex", "segments": 2},
            {"segments": 2, "search_steps": 300},
            {"core": "diagonal", "segments": 2},
        )
    )

    def asked() -> tuple[FactBatch, Tensor]:
        drawn = torch.randint(entities, (64, 2), generator=generator)
        relations = torch.randint(3, (64, 1), generator=generator)
        slots = torch.randint(2, (64,), generator=generator)
        facts = FactBatch(drawn, relations, torch.ones(64, 2, dtype=torch.bool))
        best = truth.score_slot(facts, slots, z).argmax(dim=1)
        filled = drawn.scatter(1, slots[:, None], best[:, None])
        return FactBatch(filled, relations, facts.mask), slots

    for _ in range(300):
        found.train().linear_form(*asked(), z, generator=generator)
    facts, slots = asked()
    answers = facts.answers(slots)
    first, last = (
        float((d.eval().score_slot(facts, slots, z).argmax(dim=1) == answers).double().mean())
        for d in (start, found)
    )
    assert last > first + 0.3


def test_signs_learn_what_is_better_and_stay_chances() -> None:
    generator = torch.Generator().manual_seed(0)
    target = torch.randint(-1, 2, (30,), generator=generator)
    signs = Signs(torch.zeros(30))
    for _ in range(400):
        tried = sorted(
            (signs.draw(generator) for _ in range(2)), key=lambda x: int((x != target).sum())
        )
        signs.learn(*tried)
        assert torch.allclose(signs.chances.sum(dim=1), torch.ones(30))
        assert float(signs.chances.min()) >= 1 / 60 - 1e-6
    assert int((signs.likeliest() == target).sum()) >= 28


def test_equal_samples_teach_nothing() -> None:
    signs = Signs(torch.tensor([1, 0, -1]))
    before = signs.chances.clone()
    signs.learn(torch.tensor([1, 1, 0]), torch.tensor([1, 1, 0]))
    assert torch.equal(signs.chances, before)
    assert signs.likeliest().tolist() == [1, 0, -1]
