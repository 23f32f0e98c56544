"""Nobody takes more than a share of bytes, and of requests at once."""

import json
import re
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest

from hyperfact.predict import Predictor
from tests.support.serving import (
    QUESTION,
    Kept,
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

MIB = 2**20
POST = "POST /api/models/league/predict HTTP/1.1\r\nHost: localhost\r\n"
BODY = json.dumps({"question": QUESTION}).encode()


@pytest.fixture(scope="module")
def port() -> int:
    return shared().port


# -- bytes ----------------------------------------------------------------------------------------


def refused(port: int, head: str, parts: Iterator[bytes]) -> Reply:
    """The response to a client that sends on; then the service ends the connection."""
    with connect(port) as client:
        client.sendall(head.encode("latin-1"))
        stop = threading.Event()

        def pour() -> None:
            with suppress(OSError):
                for part in parts:
                    if stop.is_set():
                        return
                    client.sendall(part)

        thread = threading.Thread(target=pour)
        thread.start()
        reply = read_reply(client)
        with suppress(ConnectionError):
            while client.recv(65_536):
                pass
        stop.set()
        thread.join()
    return reply


def chunk(size: int) -> bytes:
    return b"%x\r\n" % size + b"x" * size + b"\r\n"


def test_too_much_is_refused_early(port: int) -> None:
    json_type = "Content-Type: application/json\r\n"
    before = shared().memory()
    chunked = f"{POST}{json_type}Transfer-Encoding: chunked\r\n\r\n"
    gigabyte = (chunk(65_536) for _ in range(16_384))
    tiny = (chunk(1) for _ in range(100_000))
    long_body = iter([b"x" * 65_536] * 17)
    nothing: Iterator[bytes] = iter(())
    for head, parts, status in (
        (chunked, gigabyte, 413),
        (chunked, tiny, 413),
        (f"{POST}{json_type}Content-Length: {MIB + 1}\r\n\r\n", long_body, 413),
        (f"{POST}Content-Length: {10**30}\r\n\r\n", nothing, 400),
        (f"{POST}Content-Length: -1\r\n\r\n", nothing, 400),
        (f"{POST}Content-Length: ten\r\n\r\n", nothing, 400),
        (f"{POST}Content-Length: 3\r\nContent-Length: 4\r\n\r\n", nothing, 400),
        (f"{POST}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", nothing, 400),
        (f"{POST}Transfer-Encoding: gzip, chunked\r\n\r\n", nothing, 400),
        (f"{POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n", nothing, 400),
        (f"{POST}{'x' * 65_536}: y\r\n\r\n", nothing, 431),
        (f"{POST}x: {'y' * 65_536}\r\n\r\n", nothing, 431),
        (POST + "x: y\r\n" * 10_000 + "\r\n", nothing, 431),
        (POST + "x: y\r\n" * 101 + "\r\n", nothing, 431),
        (f"GET /{'x' * 10_000} HTTP/1.1\r\nHost: localhost\r\n\r\n", nothing, 414),
        ("\x00\x01\x02\x03\r\n\r\n", nothing, 400),
        ("GET /\r\n\r\n", nothing, 400),
        ("GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", nothing, 400),
    ):
        reply = refused(port, head, parts)
        assert reply.status == status, (head[:90], reply)
        assert reply.headers["connection"] == "close"
    assert sum(1 for _ in gigabyte) > 0, "all of it was taken"
    assert shared().memory() - before <= 16 * MIB


def test_a_whole_mebibyte_is_read(port: int) -> None:
    body = BODY + b" " * (MIB - len(BODY))
    assert send(port, request("POST", "/api/models/league/predict", body)).status == 200


def test_what_follows_a_body_is_no_part_of_it(port: int) -> None:
    with connect(port) as client:
        client.sendall(request("POST", "/api/models/league/predict", BODY) + b"garbage\r\n\r\n")
        data = b"".join(iter(lambda: client.recv(65_536), b""))
    assert re.findall(rb"HTTP/1.1 (\d+)", data) == [b"200", b"400"]


# -- requests at once -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def narrow() -> Iterator[Running]:
    running = start("--at-once", "4")
    yield running
    assert running.stop(signal.SIGINT) == 0


def test_overload_takes_no_memory(narrow: Running) -> None:
    batch = request("POST", "/api/models/league/batch", large_batch(Predictor.load(league_path())))
    memory, barrier = narrow.memory(), threading.Barrier(16)

    def one(_: int) -> Reply:
        with connect(narrow.port) as client:
            barrier.wait()
            client.sendall(batch)
            return read_reply(client)

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(one, range(16)))
    served = [reply for reply in found if reply.status == 200]
    assert len(served) >= 4
    assert len({reply.body for reply in served}) == 1
    assert len(served[0].body) > 2 * MIB
    for reply in found:
        assert reply in served or (reply.status, reply.code) == (503, "overloaded")
    assert get(narrow.port, "/api/health").status == 200
    assert post(narrow.port, "predict", BODY).status == 200
    assert narrow.memory() - memory <= 64 * MIB


def large_batch(predictor: Predictor) -> bytes:
    """A request with a response of megabytes."""
    questions = [text for text, _ in texts(predictor, "train")][:240]
    return json.dumps({"questions": questions, "k": 83, "any_name": True}).encode()


def test_eight_clients_are_answered_without_an_error(port: int) -> None:
    questions = [text for text, _ in texts(Predictor.load(league_path()), "test")]
    bodies = [json.dumps({"question": text}).encode() for text in questions]

    def client(number: int) -> set[int]:
        with Kept(port) as kept:
            own = [bodies[(number + 8 * i) % len(bodies)] for i in range(25)]
            sent = (request("POST", "/api/models/league/predict", body) for body in own)
            return {kept.ask(data).status for data in sent}

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(client, range(8))) == [{200}] * 8
