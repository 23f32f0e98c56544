"""Approximate answers: exact scores of what an index finds, and recall that is measured."""

import pytest

from hyperfact.errors import MissingExtraError, UserError
from hyperfact.predict import Predictor
from hyperfact.predict import near as near_module
from hyperfact.predict.fitting import entity_questions
from hyperfact.predict.near import Near
from tests.support.runs import league, league_run, untrained


@pytest.fixture
def predictor() -> Predictor:
    return Predictor.load(league_run(), splits=league())


def test_without_its_package_the_extra_is_named(
    predictor: Predictor, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(near_module, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"hyperfact\[search\]"):
        predictor.approximate()
    assert predictor.near is None


def test_a_decoder_that_is_not_linear_says_so() -> None:
    other = Predictor.of(untrained(league(), decoder={"name": "mtransh"}))
    with pytest.raises(UserError, match="not linear"):
        Near(other.scorer)


def test_answers_have_the_scores_of_exact_ones(predictor: Predictor) -> None:
    pytest.importorskip("usearch")
    questions = entity_questions(predictor.splits.valid)[0][:20]
    near = Near(predictor.scorer)
    exact = predictor.scorer.entities(questions)
    found = near.scores(questions)
    hit = found > float("-inf")
    assert hit.any()
    assert (found[hit] - exact[hit]).abs().max() < 1e-4
    assert near.recall(questions, 10) > 0.9


def test_lists_are_those_of_exact_answers_where_the_index_finds_all(predictor: Predictor) -> None:
    pytest.importorskip("usearch")
    fact = predictor.splits.valid[0]
    question = f"{fact.subject} | {fact.relation} | ?"
    before = [answer.name for answer in predictor.ask(question, 3, restrict_range=False)]
    recall = predictor.approximate()
    assert 0.9 < recall <= 1.0
    assert [a.name for a in predictor.ask(question, 3, restrict_range=False)] == before
    in_range = predictor.ask(question, 3)
    assert len(in_range) <= 3
