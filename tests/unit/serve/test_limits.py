"""Nobody takes more than a share: bytes, seconds, requests at once."""

import asyncio
import json
import re
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from benchmarks.serve import load
from hyperfact.predict import Predictor
from hyperfact.serve.guard import Receive, Scope, Send
from hyperfact.serve.http.server import Server, listen
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


def refused(port: int, head: str, parts: Iterator[bytes]) -> tuple[Reply, float, int]:
    """The response, the seconds from it to the end of the connection, and the bytes sent."""
    sent = 0
    with connect(port) as client:
        client.sendall(head.encode("latin-1"))
        client.setblocking(True)
        client.settimeout(20)
        stop = threading.Event()

        def pour() -> None:
            nonlocal sent
            try:
                for part in parts:
                    if stop.is_set():
                        return
                    client.sendall(part)
                    sent += len(part)
            except OSError:
                return

        thread = threading.Thread(target=pour)
        thread.start()
        reply = read_reply(client)
        begin = time.monotonic()
        try:
            while client.recv(65_536):
                pass
        except ConnectionError:
            pass
        seconds = time.monotonic() - begin
        stop.set()
        thread.join()
    return reply, seconds, sent


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
        reply, seconds, sent = refused(port, head, parts)
        assert reply.status == status, (head[:90], reply)
        assert reply.headers["connection"] == "close"
        assert seconds <= 1.0, head[:90]
        assert sent <= 64 * MIB, head[:90]
    assert shared().memory() - before <= 16 * MIB


def test_a_whole_mebibyte_is_read(port: int) -> None:
    body = BODY + b" " * (MIB - len(BODY))
    assert send(port, request("POST", "/api/models/league/predict", body)).status == 200


def test_what_follows_a_body_is_no_part_of_it(port: int) -> None:
    with connect(port) as client:
        client.sendall(request("POST", "/api/models/league/predict", BODY) + b"garbage\r\n\r\n")
        data = b"".join(iter(lambda: client.recv(65_536), b""))
    assert re.findall(rb"HTTP/1.1 (\d+)", data) == [b"200", b"400"]


# -- seconds --------------------------------------------------------------------------------------


async def sends_slowly(port: int, first: bytes, drip: bytes) -> float:
    """Seconds until the service ends a connection over which little comes, or nothing."""
    begin = time.monotonic()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(first)
    ended = asyncio.create_task(reader.read())
    while not ended.done() and time.monotonic() - begin < 30:
        writer.write(drip)
        await asyncio.sleep(0.25)
    writer.close()
    ended.cancel()
    return time.monotonic() - begin


async def reads_nothing(port: int, first: bytes) -> float:
    """Seconds until the service ends a connection whose client does not read."""
    begin = time.monotonic()
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(("127.0.0.1", port))
        client.sendall(first)
        while time.monotonic() - begin < 30:
            await asyncio.sleep(0.25)
            state = client.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0]
            if state != 1:  # not established
                break
    return time.monotonic() - begin


def large_batch(predictor: Predictor) -> bytes:
    """A request whose response is larger than all buffers."""
    questions = [text for text, _ in texts(predictor, "train")][:240]
    return json.dumps({"questions": questions, "k": 83}).encode()


def p99(times: list[float]) -> float:
    return sorted(times)[int(0.99 * (len(times) - 1))]


def timed(kept: Kept, count: int) -> list[float]:
    times = []
    for _ in range(count):
        begin = time.monotonic()
        assert kept.ask(request("POST", "/api/models/league/predict", BODY)).status == 200
        times.append(time.monotonic() - begin)
        time.sleep(0.01)
    return times


def test_slow_clients_are_dropped_and_harm_nobody(port: int) -> None:
    batch = large_batch(Predictor.load(league_path()))
    answer = post(port, "batch", batch)
    assert answer.status == 200
    assert len(answer.body) > 2 * MIB
    chunked = f"{POST}Transfer-Encoding: chunked\r\n\r\n".encode()

    async def attack() -> dict[str, float]:
        found = await asyncio.gather(
            sends_slowly(port, b"GET / HTTP/1.1\r\nHost: localhost\r\nx: ", b"y"),
            sends_slowly(port, f"{POST}Content-Length: 999\r\n\r\n".encode(), b"y"),
            sends_slowly(port, chunked, b"1\r\ny\r\n"),
            reads_nothing(port, request("POST", "/api/models/league/batch", batch)),
            *(sends_slowly(port, b"", b"") for _ in range(200)),
        )
        kinds = ("slow header", "slow body", "slow chunks", "slow reader")
        return {**dict(zip(kinds, found, strict=False)), "idle": max(found[len(kinds) :])}

    with Kept(port) as kept, ThreadPoolExecutor(1) as pool:
        timed(kept, 20)
        before = p99(timed(kept, 150))
        seconds = pool.submit(asyncio.run, attack())
        time.sleep(0.5)
        during = p99(timed(kept, 150))
        found = seconds.result()
    assert all(0.2 <= value <= 15 for value in found.values()), found
    assert during <= max(2 * before, 0.1), (before, during)


# -- requests at once -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def narrow() -> Iterator[Running]:
    running = start("--at-once", "4")
    yield running
    assert running.stop(signal.SIGINT) == 0


def test_overload_is_said_at_once(narrow: Running) -> None:
    batch = request("POST", "/api/models/league/batch", large_batch(Predictor.load(league_path())))
    memory, barrier = narrow.memory(), threading.Barrier(16)

    def one(_: int) -> tuple[Reply, float]:
        with connect(narrow.port) as client:
            barrier.wait()
            begin = time.monotonic()
            client.sendall(batch)
            reply = read_reply(client)
            return reply, time.monotonic() - begin

    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(one, range(16)))
    served = [reply for reply, _ in found if reply.status == 200]
    extra = [(reply, seconds) for reply, seconds in found if reply.status != 200]
    assert len(served) >= 4
    assert len({reply.body for reply in served}) == 1
    assert len(extra) >= 8, "the requests did not meet"
    for reply, _ in extra:
        assert (reply.status, reply.code) == (503, "overloaded")
        assert int(reply.headers["retry-after"]) >= 1
    assert sorted(seconds for _, seconds in extra)[len(extra) // 2] <= 0.1
    assert get(narrow.port, "/api/health").status == 200
    assert post(narrow.port, "predict", BODY).status == 200
    assert narrow.memory() - memory <= 64 * MIB


def test_eight_clients_are_answered_without_an_error(port: int) -> None:
    questions = [text for text, _ in texts(Predictor.load(league_path()), "test")]
    times, errors = asyncio.run(load(port, questions, 2.0, model="league"))
    assert errors == 0
    assert len(times) >= 100


def test_clients_beyond_the_bound_are_refused() -> None:
    async def app(_scope: Scope, _receive: Receive, send_: Send) -> None:
        await send_({"type": "http.response.start", "status": 200, "headers": []})
        await send_({"type": "http.response.body", "body": b"here"})

    async def ask(bound: tuple[str, int]) -> bytes:
        reader, writer = await asyncio.open_connection(*bound)
        writer.write(request("GET", "/", headers={"Connection": "close"}))
        try:
            return await reader.read()
        finally:
            writer.close()

    async def main() -> tuple[bytes, bytes]:
        lines: list[str] = []
        server, ready = Server(app, connections=2, log=lines.append), asyncio.Event()
        with listen("127.0.0.1", 0) as bound:
            running = asyncio.create_task(server.run(bound, ready.set))
            await ready.wait()
            address = bound.getsockname()
            holders = [await asyncio.open_connection(*address) for _ in range(2)]
            await asyncio.sleep(0.1)
            full = await ask(address)
            for _, writer in holders:
                writer.close()
            await asyncio.sleep(0.1)
            free = await ask(address)
            server.stop()
            await running
        assert len(lines) == 1
        return full, free

    full, free = asyncio.run(main())
    assert full.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 1" in full
    assert free.endswith(b"here")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_loop_without_handlers_of_its_own_stops_too(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on Windows."""

    async def app(_scope: Scope, _receive: Receive, _send: Send) -> None: ...

    async def main() -> None:
        def refuse(*_: object) -> None:
            raise NotImplementedError

        monkeypatch.setattr(asyncio.get_running_loop(), "add_signal_handler", refuse)
        with listen("127.0.0.1", 0) as bound:
            await Server(app).run(bound, lambda: signal.raise_signal(number))

    before = signal.getsignal(number)
    try:
        asyncio.run(asyncio.wait_for(main(), 20))
    finally:
        signal.signal(number, before)
