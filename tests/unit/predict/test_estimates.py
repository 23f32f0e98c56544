"""HyNT with numbers: read, learned, judged beside the ranks, and given as answers."""

import random
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
import torch

from hyperfact.errors import ConfigError
from hyperfact.evaluation.number_guesses import weighted_median
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Fact, Literal
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.predict import Predictor
from hyperfact.predict.estimates import covering
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


@lru_cache
def by_name() -> Path:
    """A model that takes numbers for names."""
    torch.set_num_threads(1)
    path = folder() / "towns-by-name"
    training = {"dim": 16, "epochs": 20}
    config = league_config(encoder={"name": "compgcn"}, optimizer={"lr": 0.02}, training=training)
    run(config, splits=towns(), out=path)
    return path


def test_any_run_answers_with_a_number_an_interval_and_facts_like_it() -> None:
    predictor = Predictor.load(by_name(), splits=towns())
    assert not predictor.reads_numbers
    train = towns().train
    town = next(f for f in towns().valid if f.relation == "area")
    found = predictor.estimate(f"{town.subject} | area | ?")
    assert found is not None
    assert found.value.unit == "km2"
    assert found.low.value <= found.value.value <= found.high.value
    assert found.interval is not None
    low, high = found.interval
    assert low.value <= found.value.value <= high.value
    assert 1 <= len(found.near) <= 3
    assert all(fact in {*train} and fact.relation == "area" for fact in found.near)
    told = found.as_dict()
    assert told["interval"] == [low.value, high.value]
    assert told["level"] == 0.8
    assert predictor.estimate("? | in | country 1") is None
    asked = predictor.ask(f"{town.subject} | area | ?").as_dict()
    assert asked["estimate"] == told
    assert predictor.ask("? | in | country 1").as_dict()["estimate"] is None
    since = predictor.estimate("town 1 | in | country 1 | since = ?")
    assert since is not None
    assert since.value.is_date
    assert since.near[0].object == "country 1"  # it shares most with the question


def test_intervals_hold_as_many_true_numbers_as_they_say() -> None:
    errors = np.random.default_rng(0).exponential(size=9000)
    width = covering(errors[:4000])
    assert width is not None
    assert abs(float((errors[4000:] <= width).mean()) - 0.8) < 0.02
    assert covering(errors[:3]) is None  # of so few none is known to be the widest of five
    assert covering(errors[:4]) == errors[:4].max()


def test_the_middle_of_a_mass_is_no_mean() -> None:
    rising = np.array([0.0, 0.1, 0.2, 1.0])
    assert weighted_median(rising, np.array([1.0, 8.0, 1.0, 1.0])) == pytest.approx(0.1, abs=0.02)
    assert weighted_median(rising[:1], np.array([2.0])) == 0.0
    assert weighted_median(rising, np.array([0.0, 0.0, 0.0, 1.0])) == pytest.approx(1.0, abs=0.01)


def test_numbers_that_are_ranked_as_names_have_errors_too() -> None:
    found = evaluate_split(open_run(by_name(), splits=towns()), "test")
    assert found.numbers is not None
    asked = [f for f in towns().test if f.relation == "area" or f.qualifiers]
    assert found.numbers.queries == len(asked)
    assert found.numbers.mae <= found.numbers.rmse
    assert len(found.ranks) > found.numbers.queries  # they are ranked all the same


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


def test_a_decoder_that_may_not_read_numbers_ranks_them() -> None:
    sections = {**SECTIONS, "decoder": {**SECTIONS["decoder"], "numbers": False}}
    found = evaluate_split(untrained(towns(), **sections), "test", alone=True)
    assert found.numbers is not None
    assert found.as_dict()["numbers"]["queries"] == found.numbers.queries
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
