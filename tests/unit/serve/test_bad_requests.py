"""Whatever is sent, the answer is an error with a stable code, and says nothing of the inside."""

import json
import re
from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from hyperfact.serve.openapi import OPERATIONS, document
from tests.support import schemas
from tests.support.names import HOSTILE
from tests.support.serving import QUESTION, Kept, Reply, connect, read_reply, request, send, shared

CODES = {
    *("bad_request", "bad_question", "invalid_request", "unknown_name", "not_found"),
    *("method_not_allowed", "unsupported_media_type", "too_large", "address_too_long"),
    *("headers_too_large", "forbidden", "wrong_host"),
}
INSIDE = re.compile(rb"Traceback|File \"|\.py\b|site-packages|/tmp/|/home/|/usr/|hyperfact-runs")
API = "/api/models/league"
_BODY = {"question": QUESTION}


@pytest.fixture(scope="module")
def port() -> int:
    return shared().port


def check(reply: Reply, case: object) -> None:
    assert 400 <= reply.status < 500, (case, reply)
    error = reply.json()["error"]
    assert set(error) == {"code", "message"}
    assert error["code"] in CODES, (case, reply)
    assert error["message"]
    assert "\n" not in error["message"]
    assert reply.headers["content-type"] == "application/json", case
    assert not INSIDE.search(reply.body), (case, reply.body)


def bodies() -> Iterator[bytes]:
    """Bodies that no endpoint takes."""
    whole = json.dumps({**_BODY, "k": 3, "answer": "city 1", "changes": ["+ since = 2001"]})
    for end in range(0, len(whole), 4):
        yield whole[:end].encode()  # broken off
    for value in (None, 1, "text", [], [1], True, {}, {"question": None}, {"questions": [1]}):
        yield json.dumps(value).encode()
    texts: tuple[object, ...] = (0, 1.5, None, [], {}, True, ["a | b | ?"])
    for question in texts:
        yield json.dumps({"question": question}).encode()
    numbers: tuple[object, ...] = (0, -1, 10**9, 10**400, 1.5, "3", None, True, [], 1001)
    for k in numbers:
        yield json.dumps({**_BODY, "k": k}).encode()
    for part in (b"NaN", b"Infinity", b"-Infinity", b"1e999x", b"01", b"0x10", b"'a'", b"1" * 5000):
        yield b'{"question": "%s", "k": %s}' % (QUESTION.encode(), part)
    yield b'{"question": "a | b | ?", "question": "c | d | ?"}'
    yield b'{"question": "\xff\xfe"}'
    yield b'{"question": "\xc0\xaf"}'
    yield b'{"question": "\xed\xa0\x80"}'
    yield b'{"question": "\\ud800"}'
    yield "\ufeff{}".encode()
    yield json.dumps(_BODY).encode("utf-16")
    yield b"[" * 200_000
    yield b'{"a":' * 100_000
    yield b'{"question": "' + b"x" * 900_000 + b'"}'
    yield json.dumps({"question": "x | y | ?" + " | a = b" * 100_000}).encode()
    yield json.dumps({**_BODY, "__class__": "x", "k": 1}).encode()


def questions() -> Iterator[str]:
    """Questions that the league cannot answer."""
    yield from ("", "?", "a", "| |", "a | b", "? | ? | ?", "? | lives in | ?", QUESTION[:-1])
    yield from ("player 1 | lives in | city 1", "player 1 | lives in | ? | since", '"', "'")
    yield from (
        "player 1 | lives in | ? | since = ?",
        "player 1 = x | lives in | ?",
        '"\\x" | b | ?',
    )
    yield from (f"{QUESTION} | since = 2001" + " | since = nobody" * count for count in (1, 30))
    yield f"{QUESTION} | " + " | ".join(f"x{i} = y{i}" for i in range(300))
    for name in HOSTILE:
        yield f"{json.dumps(name)} | lives in | ?"
        yield f"player 1 | {json.dumps(name)} | ?"


def test_broken_bodies_are_refused(port: int) -> None:
    count = 0
    for body in bodies():
        for name in ("predict", "explain", "what-if", "move", "batch"):
            if name == "batch" and body == b'{"questions": []}':
                continue
            check(send(port, request("POST", f"{API}/{name}", body)), (name, body[:100]))
            count += 1
    assert count >= 200


def test_broken_questions_are_refused(port: int) -> None:
    count = 0
    with connect(port) as client:
        for question in questions():
            for name, more in (
                ("predict", {}),
                ("explain", {"answer": "city 1"}),
                ("what-if", {"changes": ["+ since = 2001"]}),
                ("move", {"attribute": "since"}),
            ):
                body = json.dumps({"question": question, **more}).encode()
                client.sendall(request("POST", f"{API}/{name}", body))
                check(read_reply(client), (name, question[:100]))
                count += 1
    assert count >= 300


@pytest.mark.parametrize(
    "change", ["", "+", "- ", "+ a", "a = b = c", "- since = 1900", "+ nothing = 2001", "? = 2001"]
)
def test_broken_changes_are_refused(port: int, change: str) -> None:
    body = json.dumps({"question": QUESTION, "changes": [change]}).encode()
    check(send(port, request("POST", f"{API}/what-if", body)), change)


def test_wrong_methods_types_and_parameters_are_refused(port: int) -> None:
    for operation in OPERATIONS:
        target = operation.path.replace("{model}", "league")
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "FOO"):
            if method.lower() != operation.method:
                reply = send(port, request(method, target, b"{}"))
                check(reply, (method, target))
                assert reply.status == 405
                assert operation.method.upper() in reply.headers["allow"]
    for kind in ("", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; x"):
        body = json.dumps(_BODY).encode()
        reply = send(port, request("POST", f"{API}/predict", body, {"Content-Type": kind}))
        check(reply, kind)
        assert reply.status == 415
    for query in (
        *("search?kind=x", "search?limit=0", "search?limit=1e3", "search?limit=101", "search?x=1"),
        *("search?q=a&q=b", "search?q=%ff", f"search?q={'a' * 5000}", "search?q=%ed%a0%80"),
        *("facts", "facts?entity=nobody", "facts?entity=city+1&offset=-1", "slots?relation=none"),
        *("facts?entity=city+1&offset=99999999999", "slots", "map?x=1", "predict"),
    ):
        check(send(port, request("GET", f"{API}/{query}")), query)
    for target in ("/api/models/nobody/search", "/api", "/api/", "/api/nothing", "/api/health/"):
        check(send(port, request("GET", target)), target)


def test_many_of_something_is_refused(port: int) -> None:
    for value in (
        {"questions": [QUESTION] * 1001},
        {"questions": [QUESTION] * 1000, "k": 100},
        {"questions": [QUESTION], "k": 101},
        {"questions": [QUESTION + " " * 5000]},
    ):
        check(send(port, request("POST", f"{API}/batch", json.dumps(value).encode())), "batch")


_WORDS = st.sampled_from(
    [QUESTION, "player 1", "city 1", "lives in", "since", "+ since = 2001", "? | in | city 1"]
) | st.text(max_size=30)
_SHAPES = {(o.method, o.path.rpartition("/")[2]): TypeAdapter(o.gives) for o in OPERATIONS}


@pytest.mark.parametrize("count", [800, pytest.param(2000, marks=pytest.mark.slow)])
def test_requests_drawn_from_the_document(count: int, port: int) -> None:
    seen: Counter[int] = Counter()

    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(schemas.requests(document(), _WORDS, ["league"]))
    def try_one(case: tuple[str, str, bytes | None]) -> None:
        method, target, body = case
        reply = kept.ask(request(method, target, body))
        seen[reply.status] += 1
        if reply.status == 200:
            name = target.partition("?")[0].rpartition("/")[2]
            _SHAPES[method.lower(), name].validate_json(reply.body)
        else:
            check(reply, case)

    with Kept(port) as kept:
        try_one()
    assert seen.total() >= count
    assert min(seen[status] for status in (200, 400, 404)) >= count / 20
