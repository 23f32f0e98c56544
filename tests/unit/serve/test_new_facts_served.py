"""Facts that clients add: only where allowed, bounded, at once, and undone exactly."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from hyperfact.predict import Predictor
from hyperfact.serve.app import Service, create_app
from hyperfact.serve.opened import Models
from tests.support.asgi import Reply, get, post
from tests.support.runs import league, untrained

FACT = "player 99 | plays for | club 1 | position = wing"
ASKED = {"question": "player 99 | lives in | ?"}


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor.of(untrained(league()))


@pytest.fixture
def service(predictor: Predictor) -> Iterator[Service]:
    made = create_app(Models({"league": predictor.given(())}, most_facts=3))
    yield made
    made.queue.close()


def change(service: Service, **body: Any) -> tuple[int, Any]:
    found = post(service, "/api/facts", json.dumps(body).encode())
    return found.status, json.loads(found.content)


def ask(service: Service) -> tuple[int, Any]:
    found = post(service, "/api/models/league/predict", json.dumps(ASKED).encode())
    return found.status, json.loads(found.content)


def look_up(service: Service, path: str, **query: str) -> Any:
    return json.loads(get(service, f"/api/models/league/{path}", query).content)


def page(service: Service, question: str, *also: str) -> Reply:
    return get(service, "/m/league", [("q", question), *(("also", fact) for fact in also)])


def test_a_fact_is_heard_until_it_is_removed(service: Service) -> None:
    nobody = ask(service)
    assert nobody[0] == 404
    status, said = change(service, add=[FACT])
    assert (status, said["added"], said["repeated"]) == (200, [FACT], 0)
    assert said["new_entities"] == [{"name": "player 99", "near": "player 9"}]
    status, found = ask(service)
    assert (status, len(found["answers"])) == (200, 4)
    names = look_up(service, "search", q="player 99")["names"]
    assert names[0] == {"name": "player 99", "label": "player 99", "facts": 1}
    facts = look_up(service, "facts", entity="player 99")["facts"]
    assert [(f["text"], f["split"]) for f in facts] == [(FACT, "added")]
    assert change(service, remove=[FACT])[1]["facts"] == []
    assert ask(service) == nobody


def test_wrong_facts_are_refused_and_change_nothing(service: Service) -> None:
    change(service, add=[FACT])
    before = ask(service)
    wrong = {
        "player 1 | in": 400,
        "player 1 | is in | city 1": 404,
        "player 1 | in | ?": 400,
        "x | in | y | " + " | ".join(f"since = {i}" for i in range(70)): 400,
    }
    for text, status in wrong.items():
        assert change(service, add=["club 1 | in | city 3", text])[0] == status, text
    status, said = change(service, add=[f"player 1 | in | city {i}" for i in range(3)])
    assert (status, said["error"]["message"]) == (
        400,
        "at most 3 facts can be added to this run (--facts)",
    )
    assert change(service, add=["player 3 | in | city 1"] * 2000)[0] == 400
    assert change(service, plus=[FACT])[0] == 400
    assert ask(service) == before


def test_it_is_off_unless_it_is_asked_for(predictor: Predictor) -> None:
    off = create_app(Models({"league": predictor}))
    status, said = change(off, add=[FACT])
    assert status == 403
    assert "--facts" in said["error"]["message"]
    found = page(off, "player 1 | lives in | ?", FACT)
    assert found.status == 400
    assert "at most 0 facts" in found.text
    assert "What if this were true too?" not in page(off, "player 1 | in | ?").text
    assert not predictor.added
    off.queue.close()


def test_another_site_cannot_add_facts(service: Service) -> None:
    body = json.dumps({"add": [FACT]}).encode()
    assert post(service, "/api/facts", body, origin="http://elsewhere.example").status == 403
    form = "application/x-www-form-urlencoded"
    assert post(service, "/api/facts", b"add=x", content_type=form).status == 415
    assert not service.models["league"].predictor.added


def test_the_page_supposes_facts_without_adding_them(service: Service) -> None:
    asked = ASKED["question"]
    assert page(service, asked).status == 404
    found = page(service, asked, FACT)
    assert found.status == 200
    assert "What if this were true too?" in found.text
    assert found.text.count(FACT) >= 2
    assert page(service, asked).status == 404
    assert not service.models["league"].predictor.added


def test_names_are_looked_up_while_facts_come_and_go(service: Service) -> None:
    served, wrong = service.models["league"], []

    def look() -> None:
        for _ in range(30):
            try:
                served.search("entity", "player", 5)
            except Exception as error:
                wrong.append(error)

    thread = threading.Thread(target=look)
    thread.start()
    for turn in range(3):
        with served.lock:
            served.change_facts([f"newcomer {turn} | in | city 1"], ())
    thread.join()
    assert not wrong
