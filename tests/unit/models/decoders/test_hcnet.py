"""HCNet against its formulas, written out for one question and one node after the other."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import Queries
from hyperfact.models.decoders.hcnet import HCNet
from hyperfact.models.decoders.reach import Reach
from hyperfact.models.hypergraph import Hypergraph
from tests.support.models import config_of, model_of, random_facts, representations, toy

DIM, SCALE = 5, 0.3


def hcnet(graph: HKG, layers: int = 3) -> HCNet:
    torch.set_num_threads(1)
    return (
        HCNet(
            dim=DIM,
            num_entities=len(graph.entities),
            scale=SCALE,
            settings=HCNet.Settings(layers=layers),
            generator=torch.Generator().manual_seed(1),
        )
        .double()
        .eval()
    )


def naive(model: Any, graph: HKG, fact: int, asked: int, relations: Tensor) -> Any:
    """Scores of all entities in one slot of one fact; every node of every layer is computed."""
    z = relations / SCALE
    roles = torch.cat([model.roles, z @ model.attributes.weight.T])
    facts = [_members(graph, row) for row in range(len(graph))]
    relation, members = facts[fact]
    q = z[relation] + roles[members[asked][1]]
    h = torch.zeros(len(graph.entities), DIM, dtype=torch.float64)
    for slot, (entity, role) in enumerate(members):
        if slot != asked:
            h[entity] = h[entity] + roles[role] + q
    for layer in model.layers:
        a, g = layer.share, z @ layer.gate.weight.T
        heard = torch.zeros_like(h)
        for r, others in facts:
            for k, (entity, _) in enumerate(others):
                message = g[r]
                for j, (other, role) in enumerate(others):
                    message = (
                        message * (a * h[other] + (1 - a) * roles[role]) if j != k else message
                    )
                heard[entity] = heard[entity] + message
        h = h + torch.relu(layer.norm(layer.update(torch.cat([heard, h], dim=1))))
    both = torch.cat([h, q.expand(len(h), -1)], dim=1)
    return model.output(torch.relu(model.hidden(both)))[:, 0]


def _members(graph: HKG, row: int) -> tuple[int, list[tuple[int, int]]]:
    c = graph.columns
    part = slice(c.offsets[row], c.offsets[row + 1])
    values = zip(c.values[part].tolist(), (2 + c.attributes[part]).tolist(), strict=True)
    return int(c.relation[row]), [(int(c.subject[row]), 0), (int(c.object[row]), 1), *values]


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("graph", [toy(), random_facts(25, entities=40)], ids=["toy", "sparse"])
def test_scores_are_those_of_the_formulas(graph: HKG, layers: int) -> None:
    model = hcnet(graph, layers)
    z = replace(
        representations(len(graph.entities), len(graph.relations), DIM, scale=SCALE),
        facts=Hypergraph.of(graph),
    )
    queries = Queries.of(graph, np.arange(0, len(graph), 5))
    facts, slots = (
        FactBatch.of(graph, queries.fact),
        torch.from_numpy(queries.slot.astype(np.int64)),
    )
    found = model.score_slot(facts, slots, z)
    asked = zip(queries.fact.tolist(), queries.slot.tolist(), strict=True)
    expected = torch.stack([naive(model, graph, f, s, z.relations) for f, s in asked])
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)
    some = torch.arange(3).expand(len(facts), -1)  # fewer candidates need fewer states
    few = model.score_candidates(facts, slots, z, candidates=some)
    torch.testing.assert_close(few, expected[:, :3], rtol=1e-10, atol=1e-10)


def test_only_whom_a_question_reaches_is_computed() -> None:
    graph = random_facts(12, entities=60)
    around = Hypergraph.of(graph).neighbours()
    given = np.array([0]), graph.columns.subject[:1].astype(np.int64)
    everybody = np.arange(60)[None]
    sizes = [len(s) - 60 for s in Reach.of(around, given, everybody, steps=2).states]
    assert 1 == sizes[0] < sizes[1] <= sizes[2] < 60
    one = Reach.of(around, given, everybody[:, :1], steps=2)
    assert len(one.last) - 60 <= 1  # of the last state only the candidate is read


def test_who_is_not_reached_and_looks_alike_ties_exactly() -> None:
    graph = random_facts(12, entities=60)
    model = hcnet(graph)
    z = representations(60, len(graph.relations), DIM, scale=SCALE)
    z = replace(z, facts=Hypergraph.of(graph))
    scores = model.score_slot(FactBatch.of(graph, np.array([0])), torch.tensor([0]), z)
    lonely = np.setdiff1d(np.arange(60), graph.columns.values.tolist())
    lonely = np.setdiff1d(lonely, [*graph.columns.subject.tolist(), *graph.columns.object.tolist()])
    assert len(lonely) > 5
    assert len(set(scores[0, lonely].tolist())) == 1


def test_hidden_facts_are_as_good_as_absent() -> None:
    graph = random_facts(30)
    model = model_of(graph, {"name": "anonymous"}, {"name": "hcnet"}, precision="float64").eval()
    hidden = np.arange(0, 30, 3)
    z = model.encode(keep=model.keep_without(hidden))
    rest = graph.select(np.setdiff1d(np.arange(30), hidden))
    other = model_of(rest, {"name": "anonymous"}, {"name": "hcnet"}, precision="float64").eval()
    other.load_state_dict(model.state_dict())
    facts, slots = FactBatch.of(graph, np.arange(5)), torch.zeros(5, dtype=torch.long)
    one, two = (
        m.decoder.score_slot(facts, slots, v) for m, v in ((model, z), (other, other.encode()))
    )
    torch.testing.assert_close(one, two)


def test_entities_without_vectors_need_a_decoder_that_reads_facts() -> None:
    with pytest.raises(ConfigError, match=r"needs a decoder that reads the facts.*\(hcnet\)"):
        config_of(encoder={"name": "anonymous"}, decoder={"name": "mdistmult"})
