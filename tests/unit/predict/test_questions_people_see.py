"""Every question that a person reads in the documentation, the demo or the page has a good answer.

A small model of some careers answers them in the suite; the demo's own model with `make night`.
"""

import re
from collections.abc import Callable

import pytest

from hyperfact.cli import ask, whatif
from hyperfact.cli.demo import QUESTIONS
from hyperfact.errors import UserError
from hyperfact.predict import Predictor, read_any, write_any
from hyperfact.predict.explain import explain
from hyperfact.serve.asking import examples
from tests.support import ROOT
from tests.support.baseball import careers, demo

PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").glob("*.py")),
]
_EDGES = re.compile(r"[\"`&\n]|[?]q=")  # what stands around a question


def is_asked_of_baseball(text: str, predictor: Predictor) -> bool:
    """Whether a quoted text is a question with names of these facts only."""
    try:
        predictor.resolve(read_any(text))
    except UserError:
        return False
    return True


def shown() -> list[str]:
    """The questions of all pages and examples, of the help of the commands, and of the demo."""
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    commands = [*vars(ask).values(), *vars(whatif).values()]
    texts += [function.__doc__ or "" for function in commands if callable(function)]
    quoted = {piece.strip() for text in texts for piece in _EDGES.split(text) if " | " in piece}
    return sorted({*quoted, *QUESTIONS})


def check(predictor: Predictor, question: str) -> None:
    """The answers are of the right kind, and one that training knows is among the first three."""
    answers, known = predictor.ask(question, 3), predictor.ask(question, 99, known="only")
    assert answers.seen_shape, question
    assert answers.seen_role, question
    anybody = predictor.ask(question, 1, restrict_range=False)[0].name
    assert anybody in {a.name for a in predictor.ask(question, 10**6)}, (question, anybody)
    if any("train" in answer.where for answer in known):
        assert any("train" in answer.where for answer in answers), answers


def questions(predictor: Predictor) -> list[str]:
    """What is shown of these facts, and what the page offers to begin with."""
    written = [text for text in shown() if is_asked_of_baseball(text, predictor)]
    return [*written, *(write_any(question) for question in examples(predictor.splits))]


@pytest.mark.parametrize("model", [careers, pytest.param(demo, marks=pytest.mark.slow)])
def test_every_question_has_a_good_answer(model: Callable[[], Predictor]) -> None:
    predictor = model()
    asked = questions(predictor)
    assert set(QUESTIONS) <= set(asked)
    assert len(asked) >= 10
    for question in asked:
        check(predictor, question)


@pytest.mark.parametrize("model", [careers, pytest.param(demo, marks=pytest.mark.slow)])
def test_a_question_without_qualifiers_is_answered(model: Callable[[], Predictor]) -> None:
    predictor = model()
    born = predictor.ask("Hank Aaron | born in | ?", 3)
    assert "Alabama" in [answer.name for answer in born]
    teams = {a.name: a.where for a in predictor.ask("Hank Aaron | played for | ?", 999)}
    assert teams["Milwaukee Braves"] == ("test",)
    assert teams["Atlanta Braves"] == ("valid",)
    for answer in born:
        place = explain(predictor, born.asked, answer.name, count=1).place
        assert (place.rank, place.probability) == (answer.rank, answer.probability)
