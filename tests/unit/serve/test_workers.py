"""Several processes behind one port, and their change for new ones while clients ask."""

import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from hyperfact.serve.workers import Crew
from tests.support import ROOT
from tests.support.runs import league_run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
_BODY = json.dumps({"question": "player 1 | lives in | ?", "k": 3})


@pytest.fixture
def service() -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A service with two workers, and its port."""
    words = ["serve", f"b={league_run()}", "--port", "0", "--workers", "2", "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "hyperfact", *words], stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    assert "2 workers at 127.0.0.1:" in line, line + process.stderr.read()
    try:
        yield process, int(line.rpartition(":")[2])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def ask_until(port: int, over: threading.Event, seen: "Counter[object]") -> None:
    """Ask again and again, over connections that are kept as long as the server keeps them."""
    while not over.is_set():
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        try:
            for _ in range(20):
                client.request(
                    "POST", "/api/models/b/predict", _BODY, {"Content-Type": "application/json"}
                )
                answer = client.getresponse()
                seen[(answer.status, answer.read())] += 1
                if answer.getheader("connection") == "close" or over.is_set():
                    break
        except (OSError, http.client.HTTPException) as error:
            seen[repr(error)] += 1
        finally:
            client.close()


@pytest.mark.slow
def test_workers_are_changed_without_a_failure(
    service: tuple["subprocess.Popen[str]", int],
) -> None:
    process, port = service
    over, seen = threading.Event(), Counter[object]()
    clients = [threading.Thread(target=ask_until, args=(port, over, seen)) for _ in range(4)]
    for client in clients:
        client.start()
    process.send_signal(signal.SIGHUP)
    assert process.stderr is not None
    assert "2 new workers have taken over" in process.stderr.readline()
    time.sleep(1.0)
    over.set()
    for client in clients:
        client.join()
    assert len(seen) == 1, seen  # everybody got the same answer, always
    assert next(iter(seen))[0] == 200  # type: ignore[index]
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0


def test_a_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    places = tmp_path / "places"

    def answer() -> None:
        with places.open("a") as file:
            file.write(f"{os.getpid()}\n")
        if len(places.read_text().split()) > 1:
            os.kill(os.getppid(), signal.SIGTERM)
            time.sleep(60)

    pid = os.fork()
    if pid == 0:
        Crew(answer, 1).run()
        os._exit(7)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
    assert len(set(places.read_text().split())) == 2
