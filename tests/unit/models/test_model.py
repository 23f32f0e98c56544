"""TransEQ: what stands for entities that training never showed."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from hyperfact.evaluation import evaluating
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.models.decoders import DECODERS
from hyperfact.models.decoders.decoder import put
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ
from hyperfact.models.unseen import Unseen
from hyperfact.runs.build import build
from tests.support.models import config_of, toy

#: Others have the facts of the encoder's graph before them, in which a stranger is none.
READS_VECTORS = [name for name in DECODERS if not DECODERS[name].reads_facts]


def model_with(unseen: str, encoder: str = "lookup", decoder: str = "mdistmult") -> TransEQ:
    config = config_of(
        encoder={"name": encoder},
        decoder={"name": decoder},
        graph={"unseen": unseen},
        training={"dim": 8, "precision": "float64"},
    )
    return build(config, toy(), torch.Generator().manual_seed(0))


@pytest.mark.parametrize("encoder", ["lookup", "compgcn", "rgcn"])
def test_an_entity_without_facts_gets_the_mean_once_training_is_over(encoder: str) -> None:
    models = {unseen: model_with(unseen, encoder) for unseen in ("role", "mean", "own")}
    lonely = toy().entities.id("g")  # no fact names it
    training = {name: model.encode().entities for name, model in models.items()}
    assert torch.equal(training["mean"], training["own"])
    assert torch.equal(training["role"], training["own"])
    after = {name: model.eval().encode().entities for name, model in models.items()}
    assert torch.allclose(after["mean"][lonely], after["own"][:lonely].mean(dim=0))
    assert torch.equal(after["mean"][:lonely], after["own"][:lonely])
    assert not torch.allclose(after["mean"][lonely], after["own"][lonely])
    assert torch.equal(after["role"], after["mean"])
    assert models["mean"].encode().stand_ins is None


def test_roles_are_no_part_of_the_weights() -> None:
    assert model_with("role").state_dict().keys() == model_with("own").state_dict().keys()


def test_the_stand_in_of_a_role_is_the_mean_of_its_distinct_entities() -> None:
    graph = toy()
    z = model_with("role").eval().encode()
    assert z.stand_ins is not None
    relations = len(graph.relations)
    roles: dict[int, set[int]] = {}
    for fact in graph:
        r = graph.relations.id(fact.relation)
        roles.setdefault(r, set()).add(graph.entities.id(fact.subject))
        roles.setdefault(relations + r, set()).add(graph.entities.id(fact.object))
        for attribute, value in fact.qualifiers:
            role = 2 * relations + graph.relations.id(attribute)
            roles.setdefault(role, set()).add(graph.entities.id(value))
    everybody = z.entities[~z.stand_ins.unseen].mean(dim=0)
    for role in range(3 * relations):
        expected = z.entities[sorted(roles[role])].mean(dim=0) if role in roles else everybody
        torch.testing.assert_close(z.stand_ins.vectors[role], expected)


@pytest.mark.parametrize("decoder", READS_VECTORS)
def test_a_stranger_in_a_known_slot_is_scored_as_its_stand_in(decoder: str) -> None:
    graph, model = toy(), model_with("role", decoder=decoder)
    lonely = graph.entities.id("g")
    with evaluating(model):
        z = model.encode()
        assert z.stand_ins is not None
        facts = FactBatch.of(graph, np.arange(len(graph)))
        asked = torch.ones(len(graph), dtype=torch.long)
        strange = put(facts, torch.zeros_like(asked), lonely)
        found = model.decoder.score_slot(strange, asked, z)
        for row, relation in enumerate(graph.columns.relation.tolist()):
            table = z.entities.clone()
            table[lonely] = z.stand_ins.vectors[relation]  # as a subject
            one = FactBatch.of(graph, np.array([row]))
            one = put(one, torch.tensor([0]), lonely)
            plain = Representations(table, z.relations)
            expected = model.decoder.score_slot(one, asked[:1], plain, candidates=slice(lonely))
            torch.testing.assert_close(found[row : row + 1, :lonely], expected)


@pytest.mark.parametrize("decoder", READS_VECTORS)
def test_training_puts_stand_ins_for_some_known_entities(decoder: str) -> None:
    graph, model = toy(), model_with("role", decoder=decoder)
    facts = FactBatch.of(graph, np.arange(len(graph)))
    assert model.withhold(facts, torch.Generator()) is facts
    model.unseen = Unseen(graph, strangers=0.5)
    assert model.withhold(facts, None) is facts
    drawn = model.withhold(facts, torch.Generator().manual_seed(0)).withheld
    assert drawn is not None
    assert 0.3 < float(drawn.double().mean()) < 0.7
    z = model.train().encode()
    assert z.stand_ins is not None
    subjects = torch.zeros_like(facts.mask)
    subjects[:, 0] = True
    asked = torch.ones(len(graph), dtype=torch.long)
    model.decoder.eval()
    found = model.decoder.score_slot(replace(facts, withheld=subjects), asked, z)
    plain = Representations(z.entities, z.relations)
    for row, relation in enumerate(graph.columns.relation.tolist()):
        table = torch.cat([z.entities, z.stand_ins.vectors[relation : relation + 1]])
        one = put(FactBatch.of(graph, np.array([row])), torch.tensor([0]), len(z.entities))
        expected = model.decoder.score_slot(
            one, asked[:1], replace(plain, entities=table), candidates=slice(len(z.entities))
        )
        torch.testing.assert_close(found[row : row + 1], expected)
    assert not torch.allclose(found, model.decoder.score_slot(facts, asked, plain))


def test_for_a_product_the_stand_in_gives_the_mean_score_of_the_role() -> None:
    graph, model = toy(), model_with("role")
    with evaluating(model):
        z = model.encode()
        facts, asked = FactBatch.of(graph, np.array([0])), torch.tensor([1])
        slots = torch.tensor([0])
        strange = put(facts, slots, graph.entities.id("g"))
        found = model.decoder.score_slot(strange, asked, z)
        same = graph.columns.relation == graph.columns.relation[0]
        subjects = np.unique(graph.columns.subject[same]).tolist()
        each = [model.decoder.score_slot(put(facts, slots, s), asked, z) for s in subjects]
    torch.testing.assert_close(found, torch.stack(each).mean(dim=0))


def test_where_everybody_is_seen_nobody_needs_a_stand_in() -> None:
    graph = HKG.from_facts([Fact("a", "r", "b"), Fact("b", "r", "c", (("q", "a"),))])
    table = torch.ones(3, 4)
    assert Unseen(graph).introduce(table, training=False) == (table, None)


@pytest.mark.parametrize("by_role", [True, False])
def test_a_stranger_keeps_its_vector_where_the_middle_is_near_to_all(by_role: bool) -> None:
    graph = toy()
    table, lonely = torch.randn(len(graph.entities), 4), graph.entities.id("g")
    unseen = Unseen(graph, by_role=by_role, as_candidates=False)
    entities, stand_ins = unseen.introduce(table, training=False)
    assert torch.equal(entities, table)
    assert stand_ins is not None
    assert stand_ins.unseen.tolist() == [e == lonely for e in range(len(graph.entities))]
    _, expected = Unseen(graph).introduce(table, training=False)
    mean = table[:lonely].mean(dim=0)
    assert expected is not None
    means = expected.vectors if by_role else mean.expand_as(expected.vectors)
    torch.testing.assert_close(stand_ins.vectors, means)


@pytest.mark.parametrize("decoder", ["mdistmult", "rotate"])
def test_decoders_say_whether_a_mean_is_a_fair_candidate(decoder: str) -> None:
    graph, model = toy(), model_with("role", decoder=decoder)
    lonely = graph.entities.id("g")
    with evaluating(model):
        z = model.encode()
        own = torch.equal(z.entities[lonely], model.encoder.entities[lonely])  # type: ignore[index]
    assert own == (not DECODERS[decoder].takes_means)
