"""What the API answers: the library's answers, whatever else is asked at the same time."""

import asyncio
import json
import resource
import time
from typing import Any

import pytest
from pydantic import TypeAdapter

from hyperfact.predict import Predictor, complete
from hyperfact.predict.answers import Request
from hyperfact.predict.explain import explain
from hyperfact.predict.logic.asker import Asker
from hyperfact.predict.whatif import whatif
from hyperfact.serve import change_replies, replies
from hyperfact.serve.batching import TextQuestion, answer, to_json
from hyperfact.serve.exactness import same_together
from hyperfact.serve.openapi import OPERATIONS, document
from hyperfact.serve.opened import Models
from hyperfact.serve.requests import MOST_SCORED
from tests.support.runs import league, untrained
from tests.support.serving import (
    QUESTION,
    Reply,
    Running,
    connect,
    get,
    league_path,
    post,
    read_reply,
    request,
    send,
    shared,
    start,
)
from tests.unit.predict.test_predict import texts


@pytest.fixture(scope="module")
def port() -> int:
    return shared().port


@pytest.fixture(scope="module")
def predictor() -> Predictor:
    return Predictor.load(league_path())


def fits(shape: Any, value: Any) -> Any:
    return TypeAdapter(shape).validate_python(value, strict=False)


def test_health_and_models(port: int) -> None:
    assert get(port, "/api/health").json() == {"status": "ok"}
    (card,) = fits(replies.ModelList, get(port, "/api/models").json())["models"]
    assert (card["name"], card["dataset"]) == ("league", "league")
    assert card["facts"] == {name: len(part) for name, part in league().items()}
    assert card["metrics"]["test"]["mrr"] > 0


def test_names_are_found(port: int, predictor: Predictor) -> None:
    found = get(port, "/api/models/league/search?q=Player%201&limit=12").json()["names"]
    names = [one["name"] for one in found]
    assert names[0] == "player 1"
    assert set(names[1:11]) == {f"player 1{i}" for i in range(10)}
    assert len(names) == 12
    for one in found:
        rows = [part.rows_of_entity(one["name"]) for part in predictor.splits.values()]
        assert one["facts"] == sum(map(len, rows))
    found = get(port, "/api/models/league/search?q=lifes%20in&kind=relation").json()["names"]
    assert found[0] == {"name": "lives in", "label": "lives in", "facts": 64}


def test_facts_are_listed_in_pages(port: int, predictor: Predictor) -> None:
    expected = [
        (split, str(fact))
        for split, part in predictor.splits.items()
        for fact in part.of_entity("city 1")
    ]
    found: list[tuple[str, str]] = []
    for offset in range(0, len(expected), 7):
        target = f"/api/models/league/facts?entity=city+1&offset={offset}&limit=7"
        page = fits(replies.FactList, get(port, target).json())
        assert page["total"] == len(expected)
        found += [(row["split"], row["text"]) for row in page["facts"]]
    assert found == expected


def test_the_attributes_of_a_relation(port: int, predictor: Predictor) -> None:
    found = get(port, "/api/models/league/slots?relation=plays+for").json()["attributes"]
    facts = [f for part in predictor.splits.values() for f in part if f.relation == "plays for"]
    for one in found:
        assert one["facts"] == sum(one["name"] in dict(f.qualifiers) for f in facts)
    assert [one["name"] for one in found] == ["position", "since"]


def test_answers_are_those_of_the_library(port: int, predictor: Predictor) -> None:
    for options in ({}, {"k": 3, "known": "remove"}, {"any_name": True, "k": 1000}):
        found = post(port, "predict", {"question": QUESTION, **options})
        in_range = "any_name" not in options
        made = Request(options.get("k", 10), options.get("known", "mark"), in_range)  # type: ignore[arg-type]
        assert found.body == to_json(predictor.answer([QUESTION], made)[0].as_dict())
        fits(replies.AnswerList, found.json())


def test_explanations_and_changes_are_those_of_the_library(port: int, predictor: Predictor) -> None:
    found = post(port, "explain", {"question": QUESTION, "answer": "city 1", "count": 3})
    assert found.body == to_json(explain(predictor, QUESTION, "city 1", count=3).as_dict())
    fits(replies.ExplanationReply, found.json())
    changes = ["+ since = 2001"]
    found = post(port, "what-if", {"question": QUESTION, "changes": changes, "k": 4})
    assert found.body == to_json(whatif(predictor, QUESTION, changes, k=4).as_dict())
    fits(change_replies.WhatIfReply, found.json())
    fits(replies.MapReply, get(port, "/api/models/league/map").json())


@pytest.mark.parametrize("options", [{}, {"any_name": True}, {"known": "remove"}])
def test_an_answer_has_the_same_numbers_wherever_it_stands(
    port: int, options: dict[str, Any]
) -> None:
    asked = {"question": QUESTION, **options}
    for row in post(port, "predict", asked).json()["answers"][:3]:
        found = post(port, "explain", {**asked, "answer": row["name"]}).json()
        moves = post(port, "what-if", {**asked, "changes": ["+ since = 2001"]}).json()["moves"]
        (move,) = [move for move in moves if move["name"] == row["name"]]
        assert found["rank"] == row["rank"] == move["before"]
        assert found["probability"] == row["probability"] == move["probability_before"]


def test_a_shape_that_training_never_saw_is_said(port: int) -> None:
    whole = {"question": "player 1 | lives in | ? | since = 2001"}
    assert post(port, "predict", whole).json()["seen_shape"] is True
    assert post(port, "predict", {"question": QUESTION}).json()["seen_shape"] is False  # partial
    found = post(port, "predict", {"question": "player 1 | since | ?"}).json()
    assert (found["seen_shape"], found["seen_role"]) == (False, False)
    changes = {"question": QUESTION, "changes": ["+ position = wing"]}
    assert post(port, "what-if", changes).json()["seen_shape"] is False


def ask(port: int, body: dict[str, Any]) -> Reply:
    return send(port, request("POST", "/api/ask", json.dumps(body).encode()))


def test_queries_are_answered_as_the_library_does(port: int, predictor: Predictor) -> None:
    text = "?x : player 3 | plays for | ?y and ?y | in | ?x and not player 4 | lives in | ?x"
    reply = ask(port, {"query": text, "k": 3})
    assert reply.status == 200
    assert fits(replies.QueryReply, reply.json()) == Asker(predictor).ask(text, 3).as_dict()
    assert ask(port, {"query": text, "milliseconds": 10, "beam": 1}).status == 200


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"query": "?x : player 3 | plays"}, "bad_question"),
        ({"query": "?x : nobody at all | plays for | ?x"}, "unknown_name"),
        ({"query": "player 3 | ? | club 1"}, "bad_request"),
        ({"query": "?x : " + "(" * 500}, "bad_question"),
        ({"query": "?x : " + " and ".join(["?x | in | ?y"] * 200)}, "bad_request"),
        ({"query": "{" * 4000}, "bad_question"),
        ({"query": "x" * 5000}, "invalid_request"),
        ({"query": "?x : ?x | in | ?y", "milliseconds": 10**6}, "invalid_request"),
        ({"query": "?x : ?x | in | ?y", "beam": 10**6}, "invalid_request"),
        ({"query": {"find": "x"}}, "invalid_request"),
        ({"query": "?x : ?x | in | ?y", "model": "other"}, "unknown_name"),
    ],
)
def test_hostile_queries_are_refused(port: int, body: dict[str, Any], code: str) -> None:
    reply = ask(port, body)
    assert 400 <= reply.status < 500
    assert reply.json()["error"]["code"] == code


def test_a_query_that_would_take_forever_is_cut(port: int) -> None:
    """Six variables, each joined to each: the time that was asked for, not a lifetime."""
    names = [f"?v{i}" for i in range(6)]
    facts = [f"{a} | plays for | {b}" for a in names for b in names if a < b]
    text = f"?v0 : {' and '.join(facts)}"
    before = time.perf_counter()
    reply = ask(port, {"query": text, "milliseconds": 200, "any_name": True})
    assert reply.status == 200
    assert time.perf_counter() - before < 20


def test_new_facts_are_those_of_the_library(port: int, predictor: Predictor) -> None:
    found = post(port, "complete", {"entity": "player 1", "limit": 4})
    expected = complete(predictor, entity="player 1", limit=4, budget=MOST_SCORED)
    assert found.body == to_json(expected.as_dict())
    assert len(fits(replies.CompletionReply, found.json())["proposals"]) == 4
    for wrong in ({"budget": MOST_SCORED + 1}, {"limit": 101}, {"budget": 1}, {"more": 1}):
        assert post(port, "complete", {"entity": "player 1", **wrong}).status == 400
    assert post(port, "complete", {"entity": "nobody"}).status == 404
    assert post(port, "complete", {}).status == 400


def test_a_batch_has_answers_and_errors_in_order(port: int, predictor: Predictor) -> None:
    questions = [text for text, _ in texts(predictor, "test")]
    questions = [*questions, "no question", *questions[::-1], "nobody | lives in | ?"]
    found = post(port, "batch", {"questions": questions, "k": 2})
    rows = fits(replies.BatchReply, found.json())["answers"]
    assert len(rows) == len(questions)
    for text, row in zip(questions, rows, strict=True):
        if "error" in row:
            assert row["error"]["code"] in ("bad_question", "unknown_name")
        else:
            assert row == json.loads(to_json(predictor.ask(text, 2).as_dict()))
    assert sum("error" in row for row in rows) == 2
    assert post(port, "batch", {"questions": []}).json() == {"answers": []}


def test_the_document_names_every_route_and_no_other(port: int) -> None:
    found = get(port, "/api/openapi.json").json()
    assert found == json.loads(json.dumps(document()))
    assert found["openapi"] == "3.1.0"
    known = {(o.method, o.path) for o in OPERATIONS}
    assert {(m, p) for p, entry in found["paths"].items() for m in entry} == known
    for reference in _references(found):
        assert reference.removeprefix("#/components/schemas/") in found["components"]["schemas"]


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        here = [value["$ref"]] if "$ref" in value else []
        return here + [r for item in value.values() for r in _references(item)]
    return [r for item in value for r in _references(item)] if isinstance(value, list) else []


def test_a_connection_is_kept_and_head_has_no_body(port: int) -> None:
    with connect(port) as client:
        for _ in range(3):
            client.sendall(request("GET", "/api/health"))
            assert read_reply(client).status == 200
        client.sendall(request("GET", "/api/health") + request("GET", "/api/models"))
        assert read_reply(client).json() == {"status": "ok"}
    reply = send(port, request("HEAD", "/api/health"), head=True)
    assert (reply.status, reply.headers["content-length"]) == (200, "15")
    body = b'{"question": "player 1 | lives in | ?"}'
    with connect(port) as client:
        head = request("POST", "/api/models/league/predict", body, {"Expect": "100-continue"})
        client.sendall(head[: -len(body)])
        assert client.recv(100).startswith(b"HTTP/1.1 100")
        client.sendall(body)
        assert read_reply(client).status == 200


# -- at the same time -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def crowded() -> Any:
    running = start("--at-once", "1000", "--quiet")
    yield running
    assert running.stop() == 0


async def ask_at_once(port: int, bodies: list[bytes]) -> list[bytes]:
    async def one(body: bytes) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(request("POST", "/api/models/league/predict", body, {"Connection": "close"}))
        data = await reader.read()
        writer.close()
        assert data.startswith(b"HTTP/1.1 200"), data[:500]
        return data.partition(b"\r\n\r\n")[2]

    return await asyncio.gather(*(one(body) for body in bodies))


def test_a_thousand_equal_questions_get_the_same_bytes(
    crowded: Running, predictor: Predictor
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= hard < 2048:
        pytest.skip(f"only {hard} open files are allowed here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 2048), hard))
    body = json.dumps({"question": QUESTION}).encode()
    found = asyncio.run(ask_at_once(crowded.port, [body] * 1000))
    assert set(found) == {to_json(predictor.ask(QUESTION).as_dict())}


def test_different_questions_get_the_bytes_that_each_gets_alone(
    crowded: Running, predictor: Predictor
) -> None:
    questions = [text for text, _ in texts(predictor, "test")] * 4
    bodies = [json.dumps({"question": text, "k": 5}).encode() for text in questions]
    found = asyncio.run(ask_at_once(crowded.port, bodies))
    for text, body in zip(questions, found, strict=True):
        assert body == to_json(predictor.ask(text, 5).as_dict()), text


@pytest.mark.parametrize("decoder", ["mdistmult", "hype", "mtransh", "transformer"])
def test_neighbours_never_change_an_answer(decoder: str) -> None:
    predictor = Predictor.of(untrained(league(), decoder={"name": decoder}))
    served = Models({"x": predictor})["x"]
    served.together = same_together(predictor)
    made = Request(5)
    queries = [TextQuestion(text, made) for text, _ in texts(predictor, "test")]
    for size in (2, 7, 32):
        for start_at in range(0, len(queries), size):
            some = queries[start_at : start_at + size]
            found = answer(served, some)
            assert set(found) == set(some)
            for query, body in found.items():
                assert body == to_json(predictor.ask(query.text, 5).as_dict())
