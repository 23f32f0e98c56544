"""Listen, accept up to a bound of clients, and stop when told to, with everything answered."""

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress

from hyperfact.errors import UserError
from hyperfact.serve.http.connection import Connection
from hyperfact.serve.http.limits import Limits
from hyperfact.serve.http.messages import App
from hyperfact.serve.http.refusals import RefusedError

_SENT = 2**18  # bytes that the system keeps for a client who reads slowly
_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_RETIRE = getattr(signal, "SIGUSR1", None)  # Windows has none, and no workers


class Server:
    """A listening socket and its clients.

    Args:
        app: What answers.
        connections: Clients at once; others are refused at once.
        limits: What each client may take.
        log: Takes a line for each request; by default none is kept.
        patience: Seconds in which requests in work may end after a stop.
    """

    def __init__(
        self,
        app: App,
        *,
        connections: int = 512,
        limits: Limits | None = None,
        log: Callable[[str], None] | None = None,
        patience: float = 9.0,
    ) -> None:
        self._app, self._most, self._limits = app, connections, limits or Limits()
        self._log, self._patience = log or _ignore, patience
        self._clients: dict[asyncio.Task[None], Connection] = {}
        self._stop, self._lingers = asyncio.Event(), False

    async def run(self, listening: socket.socket, ready: Callable[[], None]) -> None:
        """Serve until a signal comes, or `stop` is called.

        Args:
            listening: A bound socket.
            ready: Called when clients are accepted.
        """
        loop = asyncio.get_running_loop()
        acts = dict.fromkeys(_SIGNALS, self.stop)
        if _RETIRE is not None:
            acts[_RETIRE] = self.retire
        for number, act in acts.items():
            try:
                loop.add_signal_handler(number, act)
            except NotImplementedError:  # Windows, whose loop wakes up for plain handlers
                signal.signal(number, lambda *_, act=act: loop.call_soon_threadsafe(act))
        try:
            server = await asyncio.start_server(
                self._accept, sock=listening, limit=2**16, backlog=1024
            )
            ready()
            await self._stop.wait()
            server.close()
            await self._finish()
        finally:
            for number in acts:
                with suppress(NotImplementedError):
                    loop.remove_signal_handler(number)

    def stop(self) -> None:
        """Take no more clients, and let `run` return when requests in work have been answered."""
        self._stop.set()

    def retire(self) -> None:
        """The same, but who is connected may ask once more: somebody else takes new clients."""
        self._lingers = True
        self._stop.set()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.set_write_buffer_limits(high=0)  # a drain waits for every byte
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SENT)
        client = Connection(self._app, reader, writer, limits=self._limits, log=self._log)
        if len(self._clients) >= self._most:
            await client.refuse(RefusedError(503, f"{self._most} clients are connected; try again"))
            return
        task = asyncio.current_task()
        assert task is not None, "a callback of the server runs as a task"
        self._clients[task] = client
        try:
            await client.serve()
        except asyncio.CancelledError:
            client.drop()
        finally:
            del self._clients[task]

    async def _finish(self) -> None:
        """Let requests in work end; connections without one end now."""
        for task, client in list(self._clients.items()):
            client.closing = True
            if not (client.busy or self._lingers):
                task.cancel()
        left = list(self._clients)
        if left:
            _, late = await asyncio.wait(left, timeout=self._patience)
            for task in late:
                task.cancel()
            with suppress(TimeoutError):
                async with asyncio.timeout(0.5):
                    await asyncio.gather(*late, return_exceptions=True)


def _ignore(line: str) -> None:
    del line


def listen(host: str, port: int) -> socket.socket:
    """A bound socket.

    Raises:
        UserError: The address cannot be had.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, socket.SOCK_STREAM)
    except (OSError, OverflowError) as error:
        raise UserError(f"port {port} of {host} cannot be had: {error}") from error
    try:
        if os.name == "posix":  # elsewhere it would let two services share a port
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.settimeout(0)
    except OSError as error:
        bound.close()
        taken = error.errno == errno.EADDRINUSE
        reason = "is taken; choose another with --port" if taken else f"cannot be had: {error}"
        raise UserError(f"port {port} of {host} {reason}") from error
    return bound
