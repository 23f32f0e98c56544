"""The server by the order of events: who waits, who is answered, who is dropped, and by whom."""

import asyncio
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, fields

import pytest

from hyperfact.predict import Predictor
from hyperfact.serve.app import create_app
from hyperfact.serve.guard import Guard
from hyperfact.serve.http.limits import Limits
from hyperfact.serve.http.messages import App, Receive, Scope, Send
from hyperfact.serve.http.server import Server, listen
from hyperfact.serve.opened import Models
from tests.support.serving import QUESTION, league_path, request

HEAD = "POST / HTTP/1.1\r\nHost: localhost\r\n"
#: What a slow client sends at first, and then again and again.
SLOW = {
    "header": (b"GET / HTTP/1.1\r\nHost: localhost\r\nx: ", b"y"),
    "body": (f"{HEAD}Content-Length: 999999\r\n\r\n".encode(), b"y"),
    "chunks": (f"{HEAD}Transfer-Encoding: chunked\r\n\r\n".encode(), b"1\r\ny\r\n"),
}
PATIENT = Limits(idle=600, request=600, response=600)
HASTY = Limits(idle=0.2, request=0.2, response=0.2, linger=0.1)
GET = request("GET", "/")
_BOUND = 120  # seconds after which a test has hung


@dataclass
class Serving:
    """A server within this loop."""

    server: Server
    address: tuple[str, int]
    log: list[str] = field(default_factory=list)

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(*self.address)

    async def ask(self, data: bytes = GET) -> bytes:
        """All that comes over a connection on which this is sent."""
        reader, writer = await self.open()
        writer.write(data)
        found = await everything(reader)
        writer.close()
        return found


@asynccontextmanager
async def serving(
    app: App, *, limits: Limits = PATIENT, connections: int = 512, patience: float = 0.1
) -> AsyncIterator[Serving]:
    """A server that runs until the end of the block, or until it is stopped."""
    lines: list[str] = []
    server = Server(
        app, limits=limits, connections=connections, log=lines.append, patience=patience
    )
    ready = asyncio.Event()
    with listen("127.0.0.1", 0) as bound:
        running = asyncio.create_task(server.run(bound, ready.set))
        await ready.wait()
        yield Serving(server, bound.getsockname(), lines)
        server.stop()
        await running


def run(story: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(_BOUND):
            await story()

    asyncio.run(bounded())


async def until(happened: Callable[[], bool]) -> None:
    while not happened():
        await asyncio.sleep(0.01)


async def everything(reader: asyncio.StreamReader) -> bytes:
    """What comes until the other side ends the connection."""
    found = b""
    with suppress(ConnectionError):
        while part := await reader.read(65_536):
            found += part
    return found


async def drip(place: Serving, first: bytes, more: bytes) -> bytes:
    """What a client hears that sends a little now and then until the service has enough."""
    reader, writer = await place.open()
    writer.write(first)
    heard = asyncio.create_task(everything(reader))
    while not heard.done():
        writer.write(more)
        await asyncio.sleep(0.02)
    writer.close()
    return await heard


async def answer(send: Send, body: bytes = b"here") -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


async def here(_scope: Scope, _receive: Receive, send: Send) -> None:
    await answer(send)


class Held:
    """An app whose requests wait until they are released."""

    def __init__(self) -> None:
        self.entered, self.release = 0, asyncio.Event()

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        self.entered += 1
        await self.release.wait()
        await answer(send)


# -- slow clients ---------------------------------------------------------------------------------


def test_slow_clients_are_dropped_by_the_server() -> None:
    async def large(_scope: Scope, _receive: Receive, send: Send) -> None:
        await answer(send, b"x" * 2**25)

    async def story() -> None:
        async with serving(large, limits=HASTY) as place:
            found = await asyncio.gather(*(drip(place, *words) for words in SLOW.values()))
            assert all(reply.startswith(b"HTTP/1.1 408") for reply in found), found
            idle = await asyncio.gather(*(drip(place, b"", b"") for _ in range(200)))
            assert idle == [b""] * 200
            reader, writer = await place.open()
            writer.transport.pause_reading()  # type: ignore[attr-defined]  # of a socket
            before = len(place.log)
            writer.write(GET)
            await until(lambda: len(place.log) > before)  # the server has given up
            writer.transport.resume_reading()  # type: ignore[attr-defined]
            assert len(await everything(reader)) < 2**25
            writer.close()

    run(story)


def test_slow_clients_harm_nobody() -> None:
    service = create_app(Models({"league": Predictor.load(league_path())}))
    ordinary = request("GET", f"/m/league?q={QUESTION.replace(' ', '%20').replace('?', '%3F')}")

    async def story() -> None:
        async with serving(service) as place:
            slow = [asyncio.create_task(drip(place, *words)) for words in SLOW.values()]
            slow += [asyncio.create_task(drip(place, b"", b"")) for _ in range(200)]
            reader, writer = await place.open()
            for _ in range(50):
                writer.write(ordinary)
                head = await reader.readuntil(b"\r\n\r\n")
                assert head.startswith(b"HTTP/1.1 200")
                size = next(line for line in head.split(b"\r\n") if b"content-length" in line)
                await reader.readexactly(int(size.split()[1]))
            assert len(place.log) == 50
            assert not any(task.done() for task in slow)
            place.server.stop()
            await asyncio.gather(*slow)
            writer.close()

    run(story)
    service.queue.close()


def test_no_client_is_waited_for_longer_than_seconds() -> None:
    found = Limits()
    times = [getattr(found, f.name) for f in fields(found) if isinstance(f.default, float)]
    assert len(times) == 4
    assert all(0 < seconds <= 10 for seconds in times)


# -- requests at once -----------------------------------------------------------------------------


def test_overload_is_said_while_the_others_are_in_work() -> None:
    async def story() -> None:
        app = Held()
        async with serving(Guard(app, at_once=4)) as place:
            last = request("GET", "/", headers={"Connection": "close"})
            served = [asyncio.create_task(place.ask(last)) for _ in range(4)]
            await until(lambda: app.entered == 4)
            for reply in await asyncio.gather(*(place.ask(last) for _ in range(12))):
                assert reply.startswith(b"HTTP/1.1 503")
                assert b"retry-after: 1" in reply
                assert b'"code":"overloaded"' in reply
            assert not any(task.done() for task in served)
            app.release.set()
            assert all(reply.endswith(b"here") for reply in await asyncio.gather(*served))
            assert (await place.ask(last)).endswith(b"here")

    run(story)


def test_clients_beyond_the_bound_are_refused() -> None:
    async def story() -> None:
        async with serving(here, connections=2) as place:
            holders = [await place.open() for _ in range(2)]
            for reader, writer in holders:  # once answered, each is known to the server
                writer.write(GET)
                await reader.readuntil(b"here")
            full = await place.ask()
            assert full.startswith(b"HTTP/1.1 503")
            assert b"retry-after: 1" in full
            assert len(place.log) == 2
            for _, writer in holders:
                writer.close()
            last = request("GET", "/", headers={"Connection": "close"})
            while not (free := await place.ask(last)).endswith(b"here"):
                assert free.startswith(b"HTTP/1.1 503")

    run(story)


# -- stop -----------------------------------------------------------------------------------------


def test_a_stop_ends_idle_connections_and_lets_requests_in_work_end() -> None:
    async def story() -> None:
        app = Held()
        async with serving(app, patience=_BOUND) as place:
            reader, writer = await place.open()
            writer.write(GET)
            await until(lambda: app.entered == 1)
            app.release.set()
            await reader.readuntil(b"here")  # this connection is kept, without a request
            app.release.clear()
            busy = asyncio.create_task(place.ask())
            await until(lambda: app.entered == 2)
            place.server.stop()
            assert await everything(reader) == b""
            assert not busy.done()
            app.release.set()
            reply = await busy
            assert reply.startswith(b"HTTP/1.1 200")
            assert b"connection: close" in reply
            writer.close()

    run(story)


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
