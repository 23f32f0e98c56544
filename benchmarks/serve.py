"""The service under load: 28,645 entities, dimension 200, 8 connections on loopback."""

import asyncio
import json
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any, get_args

import psutil
import torch

from benchmarks import predict
from benchmarks.measure import row
from hyperfact.predict import Predictor
from hyperfact.predict.fitting import Kind
from hyperfact.serve.batching import to_json

JF17K = predict.Size(28_645, 501, {"train": 61_104, "valid": 15_275, "test": 24_568})
CONNECTIONS, SECONDS = 8, 60.0


def stored_run(folder: Path) -> Path:
    """An untrained run of JF17K's size."""
    path = predict.stored_run(folder, "mdistmult", JF17K)
    predictor = Predictor.load(path)
    for kind in get_args(Kind):
        predictor.calibration(kind)
    return path


class Service:
    """`hyperfact serve` in a process of its own."""

    def __init__(self, run: Path, log: Path, port: int = 0, *, workers: int = 1) -> None:
        words = ["-m", "hyperfact", "serve", f"run={run}", "--port", str(port), "--threads", "1"]
        words += ["--workers", str(workers)]
        begin = time.perf_counter()
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [sys.executable, *words, "--quiet"], stdout=file, stderr=file
            )
        while not (found := re.search(r"at http://[^:]+:(\d+)/", log.read_text())):
            if self.process.poll() is not None or time.perf_counter() - begin > 120:
                raise RuntimeError(f"the service did not start: {log.read_text()}")
            time.sleep(0.02)
        self.seconds, self.port = time.perf_counter() - begin, int(found.group(1))

    def stop(self, number: int = signal.SIGTERM) -> float:
        """Seconds until it has ended."""
        begin = time.perf_counter()
        self.process.send_signal(number)
        self.process.wait(timeout=60)
        return time.perf_counter() - begin


async def load(
    port: int, questions: list[str], seconds: float, *, model: str = "run"
) -> tuple[list[float], int]:
    """The seconds of each request, and how many were not answered."""
    times: list[float] = []
    errors = 0
    end = time.perf_counter() + seconds

    async def client(number: int) -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        place = number
        while time.perf_counter() < end:
            data = _request(questions[place % len(questions)], model)
            place += CONNECTIONS
            begin = time.perf_counter()
            writer.write(data)
            status, _ = await _reply(reader)
            times.append(time.perf_counter() - begin)
            errors += status != 200
        writer.close()

    await asyncio.gather(*(client(number) for number in range(CONNECTIONS)))
    return times, errors


async def same(port: int, question: str, count: int) -> set[bytes]:
    """The different bodies of many equal questions at once."""

    async def client(many: int) -> list[bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        found = []
        for _ in range(many):
            writer.write(_request(question))
            found.append((await _reply(reader))[1])
        writer.close()
        return found

    parts = await asyncio.gather(*(client(count // 50) for _ in range(50)))
    return {body for part in parts for body in part}


def _request(question: str, model: str = "run") -> bytes:
    body = json.dumps({"question": question}).encode()
    head = (
        f"POST /api/models/{model}/predict HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _reply(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    size = re.search(r"content-length: (\d+)", head)
    return int(head.split()[1]), await reader.readexactly(int(size.group(1)) if size else 0)


def in_process(predictor: Predictor, questions: list[str]) -> float:
    """The median seconds of one question without a service."""
    times = []
    for question in questions:
        begin = time.perf_counter()
        to_json(predictor.ask(question).as_dict())
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def service_rows(run: Path, folder: Path) -> Iterator[dict[str, Any]]:
    predictor = Predictor.load(run)
    questions = predict.questions(predictor)[:2000]
    in_process(predictor, questions[:20])
    alone = in_process(predictor, questions[:200])
    first = Service(run, folder / "log-1")
    times, errors = asyncio.run(load(first.port, questions, SECONDS))
    alone = statistics.median([alone, in_process(predictor, questions[200:400])])
    p99 = sorted(times)[int(0.99 * (len(times) - 1))]
    rate = len(times) / SECONDS
    yield row("one question in process, median", alone * 1e3, "ms")
    yield row(
        f"{CONNECTIONS} connections, {SECONDS:.0f} s", rate, "1/s", bound=">= 50 1/s", ok=rate >= 50
    )
    yield row("  requests that failed", errors, "", bound="0", ok=errors == 0)
    yield row("  median", statistics.median(times) * 1e3, "ms")
    ok = p99 <= min(10 * alone, 0.25)
    yield row("  p99", p99 * 1e3, "ms", ratio=p99 / alone, bound="<= 10x, <= 250 ms", ok=ok)
    bodies = asyncio.run(same(first.port, questions[0], 1000))
    ok = bodies == {to_json(predictor.ask(questions[0]).as_dict())}
    yield row(
        "1,000 equal questions: different bodies", len(bodies), "", bound="1, the library's", ok=ok
    )
    first.stop(signal.SIGKILL)
    second = Service(run, folder / "log-2", first.port)
    ok = second.seconds <= 5
    yield row("ready again after kill -9", second.seconds, "s", bound="<= 5 s", ok=ok)
    seconds = second.stop()
    yield row("stopped by SIGTERM", seconds, "s", bound="<= 10 s", ok=seconds <= 10)


async def anew(port: int, questions: list[str], seconds: float, at: float, act: Any) -> int:
    """How many requests, each on a connection of its own, fail while `act` is done at a time."""
    failed = 0
    begin = time.perf_counter()

    async def client(number: int) -> None:
        nonlocal failed
        place = number
        while time.perf_counter() - begin < seconds:
            place += CONNECTIONS
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(_request(questions[place % len(questions)]))
                status, _ = await _reply(reader)
                writer.close()
                failed += status != 200
            except (OSError, asyncio.IncompleteReadError):
                failed += 1

    async def change() -> None:
        await asyncio.sleep(at)
        act()

    await asyncio.gather(change(), *(client(number) for number in range(CONNECTIONS)))
    return failed


def memory_of(pid: int) -> float:
    """Gigabytes of a process and all below it, shared pages counted once."""
    total = 0
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        rollup = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
        found = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)
        total += int(found[1]) if found else 0
    return total * 1024 / 1e9


def worker_rows(run: Path, folder: Path) -> Iterator[dict[str, Any]]:
    """One and two workers: requests a second, memory together, a change of generations."""
    questions = predict.questions(Predictor.load(run))[:2000]
    alone = 0.0
    for workers in (1, 2):
        service = Service(run, folder / f"log-w{workers}", workers=workers)
        times, errors = asyncio.run(load(service.port, questions, SECONDS / 3))
        rate = len(times) / (SECONDS / 3)
        p99 = sorted(times)[int(0.99 * (len(times) - 1))]
        alone = alone or rate
        yield row(f"{workers} workers", rate, "1/s", ratio=rate / alone)
        yield row("  requests that failed", errors, "", bound="0", ok=errors == 0)
        yield row("  p99", p99 * 1e3, "ms")
        yield row("  memory of all processes", memory_of(service.process.pid), "GB")
        if workers > 1:
            again = partial(service.process.send_signal, signal.SIGHUP)
            failed = asyncio.run(anew(service.port, questions, SECONDS / 3, 2.0, again))
            yield row("  failed while SIGHUP changes them", failed, "", bound="0", ok=failed == 0)
        service.stop()


def rows() -> Iterator[dict[str, Any]]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with tempfile.TemporaryDirectory() as folder:
            run = stored_run(Path(folder))
            yield from service_rows(run, Path(folder))
            if sys.platform == "linux":
                yield from worker_rows(run, Path(folder))
    finally:
        torch.set_num_threads(before)
