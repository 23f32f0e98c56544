"""Several processes behind one port, and their change for new ones while clients ask."""

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hyperfact.data import write
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.predict import Predictor
from hyperfact.serve.workers import Crew
from tests.support import ROOT
from tests.support.runs import league, league_run, stored, untrained

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
_BODY = json.dumps({"question": "player 1 | lives in | ?", "k": 3})


@pytest.fixture
def service() -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A service with two workers, and its port."""
    Predictor.load(league_run(), splits=league())  # its cache has the facts from now on
    with serving(f"b={league_run()}", 2) as found:
        yield found


@contextmanager
def serving(run: str, workers: int) -> Iterator[tuple["subprocess.Popen[str]", int]]:
    """A service, and its port."""
    words = ["serve", run, "--port", "0", "--workers", str(workers), "--quiet"]
    process = subprocess.Popen(
        [sys.executable, "-m", "hyperfact", *words], stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stderr is not None
    line = process.stderr.readline()
    found = re.search(r"127\.0\.0\.1:(\d+)", line)
    assert found is not None, line + process.stderr.read()
    try:
        yield process, int(found[1])
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stderr.close()


def family(pid: int) -> list[int]:
    """A process, its children and theirs, in the order of their birth."""
    found = [pid]
    for one in found:
        for children in Path(f"/proc/{one}/task").glob("*/children"):
            found += map(int, children.read_text().split())
    return found


def held(pid: int) -> int:
    """Kilobytes of a process; shared ones divided by those who share them."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def large_run(folder: Path) -> Path:
    """40 MB of entities, and the vectors that the encoder made of them."""
    names = [f"entity {i}" for i in range(40_000)]
    facts = [Fact(names[i], "r", names[7 * i + 1], (("a", names[3 * i]),)) for i in range(900)]
    parts = {"train": facts[:800], "valid": facts[800:850], "test": facts[850:]}
    graphs = {
        split: HKG.from_facts(some, entities=names, relations=["a", "r"])
        for split, some in parts.items()
    }
    write(Splits(graphs), folder / "large", format="parts")
    training = {"dim": 256, "precision": "float32"}
    data = {"dataset": str(folder / "large")}
    return stored(untrained(Splits(graphs, "large"), data=data, training=training))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="only Linux tells")
def test_workers_hold_one_copy_of_the_weights(tmp_path: Path) -> None:
    run, sums = large_run(tmp_path), {}
    for workers in (1, 2):
        with serving(f"b={run}", workers) as (process, port):
            for path, body in REQUESTS:
                for _ in range(8):
                    assert post(port, f"/api{path}", body) == 200, path
            pids = family(process.pid)
            assert len(pids) == {1: 1, 2: 4}[workers]
            sums[workers] = sum(held(pid) for pid in pids[-workers:])
            process.send_signal(signal.SIGTERM)
            assert process.communicate(timeout=60)[1] == ""  # nobody complains at the end
    assert sums[2] < 1.4 * sums[1], sums


REQUESTS: tuple[tuple[str, dict[str, object]], ...] = (
    ("/models/b/predict", {"question": "entity 1 | r | ?"}),
    ("/models/b/explain", {"question": "entity 1 | r | ?", "answer": "entity 8"}),
    ("/models/b/what-if", {"question": "entity 1 | r | ?", "changes": ["+ a = entity 9"]}),
    ("/ask", {"query": "?y : entity 1 | r | ?x and ?x | r | ?y", "model": "b"}),
)


def post(port: int, path: str, body: dict[str, object]) -> int:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    client.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
    status = client.getresponse().status
    client.close()
    return status


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
