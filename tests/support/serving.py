"""A service in a process of its own, and clients that send exactly the bytes they are told to."""

import atexit
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Self, get_args
from urllib.parse import quote

import psutil

from hyperfact.predict import Predictor
from hyperfact.predict.fitting import Kind
from tests.support.runs import folder, league, league_run

QUESTION = "player 1 | lives in | ?"

#: Starts the command line with a hook that notes what the process does to the world.
_CHILD = """
import json, os, sys
notes = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_APPEND)
watched = {"open", "socket.connect", "subprocess.Popen", "os.system", "os.exec", "os.fork",
           "os.posix_spawn", "pickle.find_class", "os.remove", "os.rename", "os.mkdir"}
def hook(name, args):
    if name in watched:
        os.write(notes, (json.dumps([name, [str(a) for a in args]]) + "\\n").encode())
sys.addaudithook(hook)
from hyperfact.cli import main
main(sys.argv[2:])
"""


@dataclass
class Running:
    """A service that answers."""

    process: subprocess.Popen[bytes]
    port: int
    log_file: Path
    audit_file: Path
    audited: int = field(default=0)  # bytes of notes from before it was ready

    @property
    def log(self) -> str:
        return self.log_file.read_text()

    def events(self) -> list[list[Any]]:
        """What it did to the world since it was ready."""
        noted = self.audit_file.read_bytes()[self.audited :]
        return [json.loads(line) for line in noted.splitlines()]

    def memory(self) -> int:
        """Bytes that it has in memory."""
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def stop(self, number: int = signal.SIGTERM) -> int:
        """End it; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(timeout=60)


@lru_cache
def league_path() -> Path:
    """A trained run that answers from its own directory."""
    predictor = Predictor.load(league_run(), splits=league())
    for kind in get_args(Kind):
        predictor.calibration(kind)
    return league_run()


def start(*options: str, runs: Sequence[str] = (), port: int = 0) -> Running:
    """Start a service and wait until it answers."""
    place = folder()
    log, audit = place / "log", place / "audit"
    words = ["serve", *(runs or [f"league={league_path()}"]), "--port", str(port), *options]
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", _CHILD, str(audit), *words],
            stdout=file,
            stderr=file,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        )
    atexit.register(_end, process)
    for _ in range(1200):
        found = re.search(r"^serving .* at http://\S+:(\d+)/$", log.read_text(), re.MULTILINE)
        if found:
            return Running(process, int(found.group(1)), log, audit, audit.stat().st_size)
        if process.poll() is not None:
            break
        time.sleep(0.05)
    raise AssertionError(f"the service did not start: {log.read_text()}")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


@lru_cache
def shared() -> Running:
    """One service for all tests of this process that do not stop it."""
    return start()


# -- clients --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reply:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        return str(self.json()["error"]["code"])


def connect(port: int, timeout: float = 60.0) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=timeout)


def read_reply(client: socket.socket, *, head: bool = False) -> Reply:
    """One response from a connection; AssertionError if there is none."""
    data = b""
    while b"\r\n\r\n" not in data:
        part = client.recv(65_536)
        assert part, f"closed after {data[:200]!r}"
        data += part
    top, _, body = data.partition(b"\r\n\r\n")
    first, *lines = top.decode("latin-1").split("\r\n")
    pairs = [line.partition(":")[::2] for line in lines]
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    size = 0 if head else int(headers.get("content-length", "0"))
    while len(body) < size:
        part = client.recv(65_536)
        assert part, "closed within a body"
        body += part
    return Reply(int(first.split()[1]), headers, body)


def send(port: int, data: bytes, *, head: bool = False) -> Reply:
    """The response to these bytes on a connection of their own."""
    with connect(port) as client:
        client.sendall(data)
        return read_reply(client, head=head)


def request(
    method: str, target: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> bytes:
    """The bytes of a plain request."""
    given = {"Host": "127.0.0.1", **(headers or {})}
    if body is not None:
        given = {"Content-Type": "application/json", "Content-Length": str(len(body)), **given}
    lines = [f"{method} {target} HTTP/1.1", *(f"{n}: {v}" for n, v in given.items() if v)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1") + (body or b"")


def get(port: int, target: str, headers: dict[str, str] | None = None) -> Reply:
    return send(port, request("GET", target, headers=headers))


def post(port: int, name: str, value: Any, *, model: str = "league") -> Reply:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return send(port, request("POST", f"/api/models/{quote(model)}/{name}", body))


class Kept:
    """A connection for many requests, made again when the service has closed it."""

    def __init__(self, port: int) -> None:
        self._port, self._client = port, connect(port)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._client.close()

    def ask(self, data: bytes) -> Reply:
        """The response to a request."""
        try:
            reply = self._one(data)
        except (OSError, AssertionError):  # it was idle for too long
            self._again()
            reply = self._one(data)
        if reply.headers.get("connection") == "close":
            self._again()
        return reply

    def _one(self, data: bytes) -> Reply:
        self._client.sendall(data)
        return read_reply(self._client)

    def _again(self) -> None:
        self._client.close()
        self._client = connect(self._port)
