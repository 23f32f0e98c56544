"""Several processes on this machine, each one of a team; what each returns, in their order."""

import os
import socket
from collections.abc import Callable
from multiprocessing import get_context
from typing import Any

import torch

from hyperfact.training.distributed import joined

_PATIENCE = 900.0  # seconds for all of them, on a machine that does other work too


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def _member(task: Callable[..., Any], arguments: tuple[Any, ...], place: dict[str, Any]) -> None:
    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(place["port"]))
    try:
        with joined(place["rank"], place["size"], replicas=place["replicas"]):
            place["results"].put((place["rank"], task(*arguments)))
    except BaseException as error:
        place["results"].put((place["rank"], error))
        raise


def together(size: int, task: Callable[..., Any], *arguments: Any, replicas: int = 1) -> list[Any]:
    """Call the same function in `size` new processes that form a team."""
    spawn = get_context("spawn")
    results = spawn.Queue()
    shared = {"port": free_port(), "size": size, "replicas": replicas, "results": results}
    members = [
        spawn.Process(target=_member, args=(task, arguments, {**shared, "rank": rank}))
        for rank in range(size)
    ]
    for member in members:
        member.start()
    found = dict(results.get(timeout=_PATIENCE) for _ in members)
    for member in members:
        member.join(timeout=30)
        if member.is_alive():
            member.kill()
    for outcome in found.values():
        if isinstance(outcome, BaseException):
            raise outcome
    return [found[rank] for rank in range(size)]
