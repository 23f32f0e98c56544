"""One client: read a request, let the app answer it, write the response, all within bounds.

A request is read whole before the app sees it and a response is written whole, for both are small.
So the app never waits for a client, and every wait for a client has its end.
"""

import asyncio
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import Any

import h11

from hyperfact.serve.http.exchange import address_of, answered
from hyperfact.serve.http.limits import Limits
from hyperfact.serve.http.logs import line
from hyperfact.serve.http.messages import App, Response
from hyperfact.serve.http.refusals import RefusedError, refused

_READ = 16_384


class ClientGoneError(Exception):
    """Nobody is there to answer."""


class Connection:
    """The requests of one client, one after the other.

    Args:
        app: What answers.
        reader: From the client.
        writer: To the client.
        limits: What it may take.
        log: Takes a line for each request.
    """

    def __init__(
        self,
        app: App,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        limits: Limits,
        log: Callable[[str], None],
    ) -> None:
        self._app, self._reader, self._writer = app, reader, writer
        self._limits, self._log = limits, log
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=limits.header_bytes)
        self.busy = False  # whether a request has begun
        self.closing = False  # whether this response is the last
        peer = writer.get_extra_info("peername")
        self._client: tuple[str, int] = tuple(peer[:2]) if peer else ("?", 0)

    async def serve(self) -> None:
        """Answer until one side has enough."""
        try:
            while await self._one():
                self._http.start_next_cycle()
        except (ClientGoneError, OSError):
            pass
        finally:
            self._writer.close()

    async def refuse(self, error: RefusedError) -> None:
        """Answer nothing but this."""
        with suppress(OSError, TimeoutError):
            await self._write(refused(error), "GET", close=True)
            await self._linger()
        self._writer.close()

    def drop(self) -> None:
        """End the connection now; what the client has not taken is thrown away."""
        at_once = struct.pack("ii", 1, 0)  # linger, for no second
        self._writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, at_once
        )
        self._writer.transport.abort()

    # -- one request ------------------------------------------------------------------------------

    async def _one(self) -> bool:
        """Answer one request; whether another may follow."""
        if not await self._first_byte():
            return False
        self.busy, start = True, perf_counter()
        request: h11.Request | None = None
        whole = False
        try:
            async with asyncio.timeout(self._limits.request):
                request = await self._head()
                body = await self._body()
            whole = True
            response = await self._ask(request, body)
        except TimeoutError:
            response = refused(RefusedError(408, "the request did not arrive in time"))
        except RefusedError as error:
            response = refused(error)
        method = request.method.decode("latin-1") if request else "-"
        target = request.target.decode("latin-1") if request else "-"
        close = self.closing or not whole or self._http.their_state is h11.MUST_CLOSE
        try:
            await self._send(response, method, close=close)
        finally:
            self._log(
                line(
                    client=self._client[0],
                    method=method,
                    target=target,
                    status=response.status,
                    seconds=perf_counter() - start,
                    size=len(response.body),
                )
            )
        self.busy = False
        return self._http.our_state is h11.DONE and self._http.their_state is h11.DONE

    async def _first_byte(self) -> bool:
        """Wait for a request; false if none comes."""
        if self._http.trailing_data[0]:
            return True
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.idle):
                data = await self._reader.read(_READ)
                if data:
                    self._http.receive_data(data)
                return bool(data)
        return False

    async def _event(self) -> Any:
        """What the client says next."""
        try:
            while True:
                event = self._http.next_event()
                if event is not h11.NEED_DATA:
                    return event
                if self._http.they_are_waiting_for_100_continue:
                    go_on = h11.InformationalResponse(status_code=100, headers=[])
                    self._writer.write(self._http.send(go_on) or b"")
                data = await self._reader.read(_READ)
                self._http.receive_data(data)
        except h11.RemoteProtocolError as error:
            if error.error_status_hint == 431:
                raise RefusedError(
                    431, f"headers have at most {self._limits.header_bytes:,} bytes"
                ) from None
            raise RefusedError(400, "this is not a well-formed HTTP/1.1 request") from None

    async def _head(self) -> h11.Request:
        event = await self._event()
        if not isinstance(event, h11.Request):
            raise ClientGoneError
        if event.http_version not in (b"1.0", b"1.1"):
            raise RefusedError(400, "the service speaks HTTP/1.1")
        names = [name for name, _ in event.headers]
        if len(names) > self._limits.headers:
            raise RefusedError(431, f"more than {self._limits.headers} headers")
        if len(event.target) > self._limits.target:
            raise RefusedError(414, f"the address is longer than {self._limits.target} bytes")
        if b"transfer-encoding" in names and b"content-length" in names:
            raise RefusedError(400, "a body has a length or is chunked, not both")
        for name, value in event.headers:
            if name == b"content-length" and int(value) > self._limits.body:
                raise self._too_large()
        return event

    async def _body(self) -> bytes:
        parts, size = [], 0
        while not isinstance(event := await self._event(), h11.EndOfMessage):
            if not isinstance(event, h11.Data):
                raise ClientGoneError
            parts.append(bytes(event.data))
            size += len(event.data)
            if size > self._limits.body or len(parts) > self._limits.chunks:
                raise self._too_large()
        return b"".join(parts)

    def _too_large(self) -> RefusedError:
        return RefusedError(413, f"a body has at most {self._limits.body:,} bytes in few pieces")

    async def _ask(self, request: h11.Request, body: bytes) -> Response:
        """Let the app answer."""
        scope = {
            **address_of(request.target),
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": request.http_version.decode("ascii"),
            "method": request.method.decode("ascii"),
            "scheme": "http",
            "root_path": "",
            "headers": list(request.headers),
            "client": self._client,
            "server": self._writer.get_extra_info("sockname")[:2],
        }
        return await answered(self._app, scope, body)

    # -- the response -----------------------------------------------------------------------------

    async def _send(self, response: Response, method: str, *, close: bool) -> None:
        try:
            await self._write(response, method, close=close)
            if close and self._http.their_state is not h11.DONE:
                await self._linger()
        except TimeoutError:
            self.drop()
            raise ClientGoneError from None

    async def _write(self, response: Response, method: str, *, close: bool) -> None:
        headers = [*response.headers, (b"content-length", b"%d" % len(response.body))]
        if close:
            headers.append((b"connection", b"close"))
        head = h11.Response(status_code=response.status, headers=headers)
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            raise ClientGoneError
        data = self._http.send(head) or b""
        if method != "HEAD":
            data += self._http.send(h11.Data(data=response.body)) or b""
        data += self._http.send(h11.EndOfMessage()) or b""
        async with asyncio.timeout(self._limits.response):
            self._writer.write(data)
            await self._writer.drain()

    async def _linger(self) -> None:
        """Throw away what still comes, so that the client can read why it was refused."""
        with suppress(OSError, TimeoutError):
            self._writer.write_eof()
            async with asyncio.timeout(self._limits.linger):
                while await self._reader.read(2**16):
                    pass
