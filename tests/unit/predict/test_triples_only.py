"""A model that reads primary triples alone: what it answers, and what it refuses by name."""

from functools import lru_cache

import pytest

from hyperfact.errors import UserError
from hyperfact.evaluation import Policy
from hyperfact.predict import Predictor, complete
from hyperfact.predict.explain import explain
from hyperfact.predict.whatif import whatif
from hyperfact.runs.experiment import run
from hyperfact.runs.run import Run, evaluate_split
from hyperfact.serve.exactness import same_together
from tests.support.runs import league, league_config

REFUSED = "fills subjects and objects only"
OBJECT = "player 3 | plays for | ? | position = goal"
VALUE = "player 3 | plays for | club 3 | position = ?"


@lru_cache
def trained() -> Run:
    config = league_config(
        encoder={"name": "lookup"}, decoder={"name": "complex", "qualifiers": "ignore"}
    )
    return run(config, splits=league())


def test_it_trains_and_is_ranked_by_subjects_and_objects() -> None:
    result = trained()
    assert result.config.evaluation.slots == "so"
    test = evaluate_split(result, "test", policy=Policy(slots="so"))
    assert test.metrics.ranks == 2 * len(result.splits.test)
    for slots in ("all", "value"):
        with pytest.raises(UserError, match=REFUSED):
            evaluate_split(result, "test", policy=Policy(slots=slots))


def test_it_answers_for_ends_and_relations() -> None:
    predictor = Predictor.of(trained())
    assert len(predictor.ask(OBJECT)) > 1
    assert len(predictor.ask("player 3 | ? | club 3")) > 1
    assert predictor.calibration("entity") is not None
    assert explain(predictor, OBJECT, "club 3").as_dict()
    assert whatif(predictor, OBJECT, ["position = wing"]).as_dict()
    assert complete(predictor, entity="player 3").proposals
    assert same_together(predictor) in (True, False)


def test_it_refuses_values_and_attributes_by_name() -> None:
    predictor = Predictor.of(trained())
    with pytest.raises(UserError, match=REFUSED):
        predictor.ask(VALUE)
    with pytest.raises(UserError, match=REFUSED):
        predictor.ask("player 3 | plays for | club 3 | ? = goal")
    with pytest.raises(UserError, match=REFUSED):
        explain(predictor, VALUE, "goal")
    with pytest.raises(UserError, match=REFUSED):
        whatif(predictor, VALUE, ["+ since = 2001"])


def test_qualifiers_change_no_answer() -> None:
    predictor = Predictor.of(trained())
    one, two = (predictor.ask(q) for q in (OBJECT, OBJECT.replace("goal", "wing")))
    assert [a.name for a in one] == [a.name for a in two]
    assert [a.score for a in one] == [a.score for a in two]
