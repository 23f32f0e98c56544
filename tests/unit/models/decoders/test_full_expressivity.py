"""RAM, ReAlE, HSimplE, m-CP and GETD can tell any set of facts from the rest, by construction.

One coordinate (or window) stands for each true fact: it is 0 for a fact that names an entity in
another role than the true one does. What remains are facts with some of the true one's qualifiers,
and other relations. In products, the weight of the coordinate is the sum of a level of the relation
and of 1 for each attribute; only for the fact's own relation and number of qualifiers it is above
0. Facts with fewer qualifiers outweigh those with more.
"""

import random
from collections.abc import Callable, Iterator
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.models.decoders import DECODERS
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.decoders.hsimple import shifts_of
from hyperfact.models.representations import Representations

ENTITIES, RELATIONS, ATTRIBUTES = ("a", "b", "c"), ("r", "s"), ("p", "q")
NAMES = (*RELATIONS, *ATTRIBUTES)
ROLES = ("subject", "object", *ATTRIBUTES)
HUGE = 1e3
Model = tuple[Decoder, Representations]


def universe() -> list[Fact]:
    """Every fact with at most two qualifiers over these names."""
    pairs = list(product(ATTRIBUTES, ENTITIES))
    sets = [s for size in range(3) for s in combinations(pairs, size)]
    return [Fact(s, r, o, q) for s, r, o, q in product(ENTITIES, RELATIONS, ENTITIES, sets)]


def played(true: HKG) -> Iterator[tuple[int, int, int]]:
    """Number of a fact, of a role in it, and of the entity that plays it."""
    for number, fact in enumerate(true):
        pairs = [("subject", fact.subject), ("object", fact.object), *fact.qualifiers]
        for role, entity in pairs:
            yield number, ROLES.index(role), ENTITIES.index(entity)


def levels(true: HKG) -> Tensor:  # (relations, facts)
    """What a relation or an attribute adds to the weight of each true fact's coordinate."""
    found = torch.ones(len(NAMES), len(true)).double()
    for number, fact in enumerate(true):
        count = len(fact.qualifiers)
        for row, relation in enumerate(RELATIONS):
            found[row, number] = (0.5 if relation == fact.relation else 0.0) - count
        found[:, number] *= (100.0 * len(true)) ** (2 - count)
    return found


def empty(name: str, dim: int, **settings: Any) -> Decoder:
    """A decoder of size 1 whose parameters are all 0."""
    kind = DECODERS[name]
    options: dict[str, Any] = {"dim": dim, "num_entities": len(ENTITIES), "scale": 1.0}
    decoder = kind(**options, settings=kind.Settings(**settings), generator=torch.Generator())
    for parameter in decoder.double().parameters():
        parameter.data.zero_()
    return decoder.eval()


def one_hot(rows: int, dim: int) -> Tensor:  # (rows, dim)
    return torch.eye(rows, dim).double()


def ram(true: HKG) -> Model:
    """A base for each role of each relation, and a part of an entity for each base."""
    bases = 2 * len(RELATIONS) + len(ATTRIBUTES)
    names = [(kind, row) for kind in (0, 1) for row in range(len(RELATIONS))]
    names += [(2, len(RELATIONS) + row) for row in range(len(ATTRIBUTES))]
    d: Any = empty("ram", bases * len(true), bases=bases, multiplicity=bases)
    entities = torch.zeros(len(ENTITIES), bases, len(true)).double()
    for base, (kind, row) in enumerate(names):
        d.weights.data[kind, row, base] = HUGE * d.dim  # alpha is one-hot
        if kind != 1:
            d.bases.data[base] = levels(true)[row]
    d.patterns.data.fill_(-HUGE)
    d.patterns.data[:, range(bases), range(bases)] = 0.0
    for number, role, entity in played(true):
        for base, (kind, row) in enumerate(names):
            if min(role, 2) == kind and (kind < 2 or row == role):
                entities[entity, base, number] = 1.0
    return d, Representations(entities.flatten(1), one_hot(len(NAMES), d.dim))


def reale(true: HKG) -> Model:
    """A window for each fact, in it a coordinate for each role; an entity says 1 or -1 there."""
    windows = len(true)
    d: Any = empty("reale", len(ROLES) * windows, window=len(ROLES))
    entities = torch.full((len(ENTITIES), len(ROLES), windows), -HUGE).double()
    for number, role, entity in played(true):
        entities[entity, role, number] = HUGE
    weights = d.roles.data.view(3, d.dim, len(ROLES), windows)
    for role in range(len(ROLES)):
        rows = range(len(RELATIONS)) if role < 2 else [role]  # attributes follow relations
        for row in rows:
            weights[min(role, 2), row, role] = HUGE
    for number, fact in enumerate(true):
        wanted = (2 + len(fact.qualifiers) - 0.5) * HUGE / (2 * len(ROLES)) ** 0.5
        d.bias.data[: len(RELATIONS), number] = -10 * HUGE
        d.bias.data[RELATIONS.index(fact.relation), number] = -wanted
    return d, Representations(entities.flatten(1), one_hot(len(NAMES), d.dim))


def hsimple(true: HKG) -> Model:
    """The first coordinates are the facts'; every role reads an entity elsewhere."""
    d: Any = empty("hsimple", 20 * len(true) + 20)
    fact = torch.arange(len(ENTITIES), dtype=torch.long)[:1]
    ids = torch.tensor([[0, *(NAMES.index(a) for a in ATTRIBUTES)]])
    batch = FactBatch(fact.expand(1, 4), ids, torch.ones(1, 4, dtype=torch.bool))
    shifts = shifts_of(batch, d.dim)[0].tolist()  # of ROLES
    entities = torch.zeros(len(ENTITIES), d.dim).double()
    relations = torch.zeros(len(NAMES), d.dim).double()
    relations[:, : len(true)] = levels(true)
    for number, role, entity in played(true):
        entities[entity, (number + shifts[role]) % d.dim] = 1.0
    return d, Representations(entities, relations)


def blocks(dim: int) -> Representations:
    """An entity is one-hot in a block for its ends and in one for each attribute."""
    entities = torch.zeros(len(ENTITIES), dim).double()
    for block in range(1 + len(ATTRIBUTES)):
        for entity in range(len(ENTITIES)):
            entities[entity, block * len(ENTITIES) + entity] = 1.0
    return Representations(entities, one_hot(len(NAMES), dim))


def set_gate(gate: Tensor) -> None:
    """An attribute leaves its own block."""
    for row in range(len(ATTRIBUTES)):
        gate[len(RELATIONS) + row] = -1.0
        start = (1 + row) * len(ENTITIES)
        gate[len(RELATIONS) + row, start : start + len(ENTITIES)] = 0.0


def place(role: int, entity: int) -> int:
    """The coordinate of an entity that a role reads."""
    return max(role - 1, 0) * len(ENTITIES) + entity


def mcp(true: HKG) -> Model:
    d: Any = empty("mcp", 9, rank=len(true))
    set_gate(d.gate.data)
    d.relation_head.data[: len(NAMES)] = levels(true)
    for number, role, entity in played(true):
        d.heads.data[min(role, 2), place(role, entity), number] = 1.0
    return d, blocks(d.dim)


def getd(true: HKG) -> Model:
    """A ring of diagonal matrices, one place of the diagonal for each fact."""
    d: Any = empty("getd", 9, width=9, rank=len(true))
    set_gate(d.gate.data)
    d.entity_map.data.copy_(torch.eye(9))
    d.relation_map.data.copy_(torch.eye(9))
    every = range(len(true))
    d.relation_ring.data[: len(NAMES), every, every] = levels(true)
    for number, role, entity in played(true):
        at = place(role, entity)
        if role < 2:
            (d.subject_ring, d.object_ring)[role].data[at, number, number] = 1.0
        else:
            d.value_ring.data[at, number] = 1.0
    return d, blocks(d.dim)


@pytest.mark.parametrize("make", [ram, reale, hsimple, mcp, getd])
@pytest.mark.parametrize(("seed", "count"), [(0, 1), (1, 5), (2, 20), (3, 60)])
def test_every_true_fact_scores_above_every_false_one(
    make: Callable[[HKG], Model], seed: int, count: int
) -> None:
    facts = universe()
    chosen = random.Random(seed).sample(facts, k=count)
    true, every = (HKG.from_facts(f, entities=ENTITIES, relations=NAMES) for f in (chosen, facts))
    decoder, z = make(true)
    batch = FactBatch.of(every, np.arange(len(every)))
    for slot in (0, 1):
        scores = decoder.score(batch, torch.full((len(every),), slot), z)
        if make is reale:
            scores = scores - 0.5  # a sigmoid is 1 or 0
        for fact, score in zip(every, scores.tolist(), strict=True):
            assert (score > 1e-9) == (fact in set(chosen)), (str(fact), score)
    card = DECODERS[make.__name__].card
    assert card is not None
    assert card.is_expressive
