"""Half an hour of questions on eight connections: no error, and memory that does not grow."""

import json
import os
import random
import threading
import time
from statistics import median

import psutil
import pytest

from tests.support.runs import CITIES, CLUBS
from tests.support.serving import Kept, Running, request, start

MINUTES = float(os.environ.get("SOAK_MINUTES", "30"))
CONNECTIONS = 8
GROWTH = 0.05


def question(rng: random.Random) -> bytes:
    """One of some thousands, so that no cache holds them all at first."""
    player = f"player {rng.randrange(64)}"
    text = rng.choice(
        (
            f"{player} | lives in | ?",
            f"? | lives in | {rng.choice(CITIES)} | since = {2000 + rng.randrange(4)}",
            f"{player} | plays for | ? | position = {rng.choice(('goal', 'wing', 'centre'))}",
            f"{rng.choice(CLUBS)} | in | ?",
        )
    )
    body = json.dumps({"question": text, "k": rng.randint(1, 20)}).encode()
    return request("POST", "/api/models/league/predict", body)


def ask(service: Running, until: float, seed: int, found: list[int]) -> None:
    """Questions one after the other; the statuses that are no 200, and the number of questions."""
    rng, count = random.Random(seed), 0
    with Kept(service.port) as client:
        while time.monotonic() < until:
            reply = client.ask(question(rng))
            count += 1
            if reply.status not in (200, 503):  # 503: told to come back later
                found.append(reply.status)
    found.append(-count)


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_memory_is_flat_under_questions() -> None:
    service = start()
    begun = time.monotonic()
    end, found, memory = begun + 60 * MINUTES, list[int](), list[tuple[float, int]]()
    clients = [
        threading.Thread(target=ask, args=(service, end, seed, found))
        for seed in range(CONNECTIONS)
    ]
    for client in clients:
        client.start()
    process, files = psutil.Process(service.process.pid), list[int]()
    while time.monotonic() < end:
        time.sleep(min(5.0, 2 * MINUTES))
        memory.append((time.monotonic() - begun, service.memory()))
        files.append(process.num_fds())
    for client in clients:
        client.join()
    span = 60 * MINUTES
    early = median(m for at, m in memory if span / 6 <= at <= span / 3)  # caches are full by then
    late = median(m for at, m in memory if at >= span * 5 / 6)
    questions = -sum(n for n in found if n < 0)
    print(f"{questions:,} questions, {early / 1e6:.1f} MB early, {late / 1e6:.1f} MB late")
    assert [status for status in found if status > 0] == []
    assert questions > 100 * MINUTES
    assert late <= (1 + GROWTH) * early
    assert max(files) - min(files) <= 2 * CONNECTIONS
    assert service.stop() == 0
