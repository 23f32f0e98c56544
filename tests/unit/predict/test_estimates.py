"""HyNT with numbers: read, learned, judged beside the ranks, and given as answers."""

import random
from functools import lru_cache
from pathlib import Path

import pytest
import torch

from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact, Literal
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.predict import Predictor
from hyperfact.runs.experiment import run
from hyperfact.runs.run import Run, evaluate_split, open_run
from tests.support.runs import folder, league_config, untrained

SECTIONS = {
    "encoder": {"name": "lookup", "initial_scale": 0.1},
    "decoder": {"name": "hynt", "numbers": True, "dropout": 0.0, "heads": 2, "feedforward": 32},
}


@lru_cache
def towns() -> Splits:
    """A town of a large country is large; when it was founded says which country it is in."""
    rng, facts = random.Random(0), []
    for number in range(60):
        country = number % 3
        area = Literal(f'"{100 * country + rng.randrange(10)}"^^<km2>')
        year = Literal(f'"{1500 + 100 * country + rng.randrange(9)}-01-01"^^xsd:date')
        facts.append(Fact(f"town {number}", "in", f"country {country}", (("since", year),)))
        facts.append(Fact(f"town {number}", "area", area))
    names = HKG.from_facts(facts)
    rng.shuffle(facts)
    parts = {"train": facts[40:], "valid": facts[:20], "test": facts[20:40]}
    return Splits(
        {
            name: HKG.from_facts(some, entities=names.entities, relations=names.relations)
            for name, some in parts.items()
        },
        "towns",
    )


@lru_cache
def trained() -> Path:
    torch.set_num_threads(1)
    path = folder() / "towns"
    config = league_config(**SECTIONS, optimizer={"lr": 0.01})
    run(config, splits=towns(), out=path)
    return path


def opened() -> Run:
    return open_run(trained(), splits=towns())


def test_numbers_are_judged_beside_the_ranks() -> None:
    found = evaluate_split(opened(), "test", alone=True)
    test = towns()["test"]
    names = sum(2 if fact.qualifiers else 1 for fact in test)
    assert len(found.ranks) == names  # subjects and countries, but no number
    assert found.numbers is not None
    assert found.numbers.queries == len(test)
    assert found.numbers.rmse < 0.7 * found.numbers.baseline_rmse
    assert found.as_dict()["numbers"]["rmse"] == found.numbers.rmse


def test_without_numbers_nothing_is_estimated() -> None:
    sections = {**SECTIONS, "decoder": {**SECTIONS["decoder"], "numbers": False}}
    found = evaluate_split(untrained(towns(), **sections), "test", alone=True)
    assert found.numbers is None
    assert "numbers" not in found.as_dict()
    assert len(found.ranks) == int(towns()["test"].arity.sum())


def test_a_question_for_a_number_is_answered_with_one() -> None:
    predictor = Predictor.load(trained(), splits=towns())
    founded = predictor.estimate("town 3 | in | country 2 | since = ?")
    assert founded is not None
    assert founded.value.is_date
    assert 1600 < founded.value.value < 1800  # 1700 or so
    assert founded.low.value < 1501
    assert founded.as_dict()["unit"] == "year"
    area = predictor.estimate("town 3 | area | ?")
    assert area is not None
    assert area.value.unit == "km2"
    assert predictor.estimate("town 3 | in | ?") is None
    assert predictor.estimate("town 3 | ? | country 1") is None


def test_a_number_that_is_given_counts() -> None:
    """The year of a town tells its country, though no two towns share one."""
    model = opened().model.eval()
    facts = HKG.from_facts(
        [fact for fact in towns().train if fact.qualifiers],
        entities=towns().entities,
        relations=towns().relations,
    )
    batch = FactBatch.of(facts, torch.arange(len(facts)).numpy())
    asked = torch.ones(len(facts), dtype=torch.int64)
    with torch.no_grad():
        scores = model.score_slot(batch, asked, model.encode())
    right = (scores.argmax(dim=1) == batch.entities[:, 1]).float().mean()
    assert right > 0.9


def test_loaded_and_opened_estimates_are_the_same() -> None:
    question = "town 3 | area | ?"
    loaded = Predictor.load(trained(), splits=towns()).estimate(question)
    assert loaded == Predictor.of(opened()).estimate(question)


@pytest.mark.parametrize("objective", [{"joint": True}, {"negatives": 5}])
def test_numbers_need_a_softmax_over_all(objective: dict[str, object]) -> None:
    config = league_config(**SECTIONS, objective=objective)
    with pytest.raises(ConfigError, match="numbers"):
        run(config, splits=towns())
