"""TransEQ: what stands for entities that training never showed."""

import pytest
import torch

from hyperfact.assembly import build
from hyperfact.transforms import equivalent
from tests.support.models import config_of, toy


@pytest.mark.parametrize("encoder", ["lookup", "compgcn", "rgcn"])
def test_an_entity_without_facts_gets_the_mean_once_training_is_over(encoder: str) -> None:
    graph = toy()  # in which no fact names g
    models = {
        unseen: build(
            config_of(encoder={"name": encoder}, graph={"unseen": unseen}, training={"dim": 8}),
            equivalent(graph),
            torch.Generator().manual_seed(0),
        )
        for unseen in ("mean", "own")
    }
    lonely = graph.entities.id("g")
    assert models["mean"].seen.tolist() == [True] * 6 + [False]
    training = {name: model.encode().entities for name, model in models.items()}
    assert torch.equal(training["mean"], training["own"])
    after = {name: model.eval().encode().entities for name, model in models.items()}
    assert torch.allclose(after["mean"][lonely], after["own"][:lonely].mean(dim=0))
    assert torch.equal(after["mean"][:lonely], after["own"][:lonely])
    assert not torch.allclose(after["mean"][lonely], after["own"][lonely])


def test_the_mask_is_no_part_of_the_weights() -> None:
    model = build(
        config_of(encoder={"name": "lookup"}), equivalent(toy()), torch.Generator().manual_seed(0)
    )
    assert "seen" not in model.state_dict()
