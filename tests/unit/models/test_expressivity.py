"""Theorem 2: with R-GCN as the identity and HypE, any set of facts can be told from the rest.

The proof is constructive, and so is the test. One coordinate stands for each true fact; an entity
is a one-hot vector, and the filter of a role sends it to 1 in the coordinates of the facts in which
it plays that role. A coordinate of the pooled relation is positive only for exactly its fact's
relation and number of qualifiers, so that a fact with a qualifier missing scores below 0 there.
"""

import random
from collections.abc import Iterator
from itertools import combinations, product

import numpy as np
import pytest
import torch

from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.models.decoders.hype import HypE
from hyperfact.models.encoders.rgcn import RGCN
from hyperfact.models.transeq import TransEQ
from tests.support.models import model_of

ENTITIES, RELATIONS, ATTRIBUTES = ("a", "b", "c"), ("r", "s"), ("p", "q")


def universe() -> list[Fact]:
    """Every fact with at most two qualifiers over these names."""
    pairs = list(product(ATTRIBUTES, ENTITIES))
    sets = [s for size in range(3) for s in combinations(pairs, size)]
    return [Fact(s, r, o, q) for s, r, o, q in product(ENTITIES, RELATIONS, ENTITIES, sets)]


def assign(model: TransEQ, true: HKG) -> None:
    """Weights that make the encoder the identity, and the vectors of the proof."""
    encoder, decoder = model.encoder, model.decoder
    assert isinstance(encoder, RGCN)
    assert isinstance(decoder, HypE)
    for parameter in model.parameters():
        parameter.data.zero_()
    encoder.layers[0].w_self.data = torch.eye(encoder.dim, dtype=torch.float64)
    entities, relations = true.entities, true.relations
    encoder.nodes.entities.data[range(len(entities)), range(len(entities))] = 1.0
    roles = ("subject", "object", *ATTRIBUTES)
    decoder.mixes.data[0, 0] = decoder.mixes.data[1, 1] = 1.0
    for coordinate, fact in enumerate(true):
        played = [("subject", fact.subject), ("object", fact.object), *fact.qualifiers]
        for role, entity in played:
            decoder.filters.data[roles.index(role), entities.id(entity), coordinate] = 1.0
    # The mix of a value must follow from its attribute's vector: two coordinates are kept for that.
    for number, attribute in enumerate(ATTRIBUTES):
        place = encoder.dim - 1 - number
        encoder.relations.data[relations.id(attribute), place] = 1.0
        decoder.attribute_mix.data[place, 2 + number] = 1.0
    for coordinate, size in enumerate(sizes(true)):
        fact, count = true[coordinate], len(true[coordinate].qualifiers)
        for relation in set(RELATIONS) & set(relations):
            level = 0.5 - count if relation == fact.relation else -float(count)
            encoder.relations.data[relations.id(relation), coordinate] = size * level
        for attribute in set(ATTRIBUTES) & set(relations):
            encoder.relations.data[relations.id(attribute), coordinate] = size


def sizes(true: HKG) -> Iterator[float]:
    """Of each fact's coordinate: facts with fewer qualifiers outweigh all those with more."""
    step = 100.0 * len(true)
    return (step ** (2 - len(fact.qualifiers)) for fact in true)


@pytest.mark.parametrize("seed", range(6))
def test_every_true_fact_scores_above_every_false_one(seed: int) -> None:
    facts = universe()
    chosen = random.Random(seed).sample(facts, k=random.Random(seed).choice((1, 5, 20, 60)))
    names = [*RELATIONS, *ATTRIBUTES]
    true = HKG.from_facts(chosen, entities=ENTITIES, relations=names)
    encoder = {
        "name": "rgcn",
        "residual": False,
        "batch_norm": False,
        "initial_scale": 1.0,
    }
    dim = max(len(true), len(ENTITIES)) + len(ATTRIBUTES)
    model = model_of(true, encoder, {"name": "hype", "channels": 4}, dim=dim, precision="float64")
    assign(model, true)
    z = model.eval().encode()
    assert isinstance(model.encoder, RGCN)
    assert torch.equal(z.entities, model.encoder.nodes.entities)
    every = HKG.from_facts(facts, entities=ENTITIES, relations=names)
    batch = FactBatch.of(every, np.arange(len(every)))
    scores = model.decoder.score(batch, torch.zeros(len(every), dtype=torch.long), z)
    known = set(chosen)
    for fact, score in zip(every, scores.tolist(), strict=True):
        assert (score > 0) == (fact in known), (str(fact), score)
