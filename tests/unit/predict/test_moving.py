"""A number that moves through a question, and the answers that follow it."""

import json
from functools import lru_cache

import numpy as np
import pytest
from pydantic import TypeAdapter

from hyperfact.errors import UserError
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.predict import Predictor, moving
from hyperfact.predict.answers import Request
from hyperfact.predict.moving import STEPS, movable, move
from hyperfact.serve.app import create_app
from hyperfact.serve.change_replies import MovedReply
from hyperfact.serve.opened import Models
from tests.support.asgi import get, post
from tests.support.runs import untrained

QUESTION = "player 1 | plays for | ? | since = 1960 | position = wing"


@lru_cache
def predictor() -> Predictor:
    """Years are names here, as in a table."""
    facts = [
        Fact(
            f"player {i % 9}",
            "plays for",
            f"club {i % 4}",
            (("since", str(1950 + i % 60)), ("position", ("wing", "goal")[i % 2])),
        )
        for i in range(120)
    ]
    names = HKG.from_facts(facts)
    parts = {"train": facts[:-10], "valid": facts[-10:-5], "test": facts[-5:]}
    return Predictor.of(
        untrained(
            Splits(
                {
                    part: HKG.from_facts(some, entities=names.entities, relations=names.relations)
                    for part, some in parts.items()
                },
                "clubs",
            )
        )
    )


def test_names_that_are_years_are_numbers_by_their_role() -> None:
    assert movable(predictor()) == ["since"]
    found = predictor().estimate("player 1 | plays for | club 1 | since = ?")
    assert found is not None
    assert 1950 <= found.value.value <= 2009
    assert predictor().estimate("player 1 | plays for | ?") is None


def test_probabilities_are_those_of_the_question_at_each_value() -> None:
    found = move(predictor(), QUESTION, "since", k=3)
    assert len(found.values) <= STEPS + 1
    assert list(found.values) == sorted(found.values, key=float)
    assert found.at is not None
    assert found.values[found.at] == "1960"
    for value, row in zip(found.values[::7], found.probabilities[::7], strict=True):
        text = QUESTION.replace("1960", value)
        asked = predictor().answer([text], Request(k=10))[0]
        by_name = {answer.name: answer.probability for answer in asked}
        np.testing.assert_allclose(row, [by_name[name] for name in found.names], atol=1e-6)
    most = found.probabilities.max(axis=0)
    assert (np.diff(most) <= 0).all()


def test_a_number_that_the_question_leaves_out_is_added() -> None:
    found = move(predictor(), "player 1 | plays for | ?", "since")
    assert found.at is None
    text = f"player 1 | plays for | ? | since = {found.values[3]}"
    best = predictor().answer([text], Request(k=1))[0][0]
    assert best.name in found.names


@pytest.mark.parametrize(
    ("question", "attribute", "words"),
    [
        (QUESTION, "position", "those that are: since"),
        (QUESTION, "sinc", "did you mean 'since'"),
        ("player 1 | plays for | club 1 | since = ?", "since", "with a value"),
    ],
)
def test_what_cannot_move_is_refused(question: str, attribute: str, words: str) -> None:
    with pytest.raises(UserError, match=words):
        move(predictor(), question, attribute)


def test_page_and_interface_show_the_lines() -> None:
    service = create_app(Models({"clubs": predictor()}))
    body = {"question": QUESTION, "attribute": "since", "k": 2}
    found = post(service, "/api/models/clubs/move", json.dumps(body).encode())
    assert found.status == 200
    told = TypeAdapter(MovedReply).validate_python(json.loads(found.content), strict=True)
    assert told["at"] == "1960"
    wrong = post(
        service, "/api/models/clubs/move", json.dumps({**body, "attribute": "position"}).encode()
    )
    assert wrong.status == 400
    still = get(service, "/m/clubs", [("q", QUESTION)]).content.decode()
    assert "move=since" in still
    assert "<polyline" not in still
    page = get(service, "/m/clubs", [("q", QUESTION), ("move", "since")]).content.decode()
    assert page.count("<polyline") == 4  # as many as there are clubs
    assert 'class="here"' in page
    service.queue.close()


def test_of_a_large_graph_fewer_values_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "_SCORED", 8 * len(predictor().entities))
    found = move(predictor(), "player 1 | plays for | ?", "since")
    assert len(found.values) == 8
    assert (found.values[0], found.values[-1]) == ("1950", "2009")
