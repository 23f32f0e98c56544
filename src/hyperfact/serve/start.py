"""From run directories to a service that answers until it is told to stop."""

import asyncio
import gc
import ipaddress
import socket
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from hyperfact.errors import UserError
from hyperfact.serve.app import create_app
from hyperfact.serve.http.server import Server, listen
from hyperfact.serve.opened import Models
from hyperfact.serve.warm import warm
from hyperfact.serve.workers import Crew, inherited_socket, is_generation, say_ready, supervise
from hyperfact.system.memory import give_back_memory

_CONNECTIONS = 512
_BACKLOG = 1024  # clients that wait until somebody accepts them
_SWITCH = 0.001  # seconds after which the thread that computes lets clients be heard
_FILES = 65_536  # open files that are asked for; each client is one


@dataclass(frozen=True)
class Settings:
    """Where and for whom a service answers."""

    host: str = "127.0.0.1"
    port: int = 8000
    expose: bool = False  # whether other machines may reach it
    allow_hosts: tuple[str, ...] = ()
    at_once: int = 64  # requests in work
    quiet: bool = False
    data_dir: Path | None = None
    labels: Path | None = None  # what names are called, for every run
    workers: int = 1  # processes that answer
    command: tuple[str, ...] = ()  # what each generation of workers runs
    most_facts: int = 0  # that clients may add to each run
    approximate: bool = False  # answers come from an index


def serve(runs: Sequence[str], settings: Settings, tell: Callable[[str], None]) -> None:
    """Load, warm up, listen; returns after a signal.

    Args:
        runs: Directories, each as `PATH` or `NAME=PATH`.
        settings: Where and for whom.
        tell: Takes messages for the person who started it.

    Raises:
        UserError: The address or a run cannot be had.
    """
    _check_host(settings, tell)
    if settings.workers > 1 and not is_generation():
        with listen(settings.host, settings.port) as bound:
            bound.listen(_BACKLOG)
            supervise(settings.command, bound, settings.workers, tell)
        return
    threads = torch.get_num_threads()
    if is_generation():
        torch.set_num_threads(1)  # threads of this process would not be in its forks
    with inherited_socket() if is_generation() else listen(settings.host, settings.port) as bound:
        models = Models.load(
            runs,
            data_dir=settings.data_dir,
            labels=settings.labels,
            most_facts=settings.most_facts,
        )
        if settings.approximate:
            _approximate(models, tell)
        _raise_file_limit()
        sys.setswitchinterval(_SWITCH)
        asyncio.run(_prepare(models))
        if not is_generation():
            asyncio.run(_answer(models, bound, settings, tell))
            return

        def answer() -> None:
            torch.set_num_threads(threads)
            asyncio.run(_answer(models, bound, settings, lambda _: say_ready()))

        gc.freeze()  # to look for garbage among shared objects would write to them
        Crew(answer, settings.workers).run()
        gc.unfreeze()


async def _prepare(models: Models) -> None:
    """Make whatever the first requests would make, once for all workers.

    Free memory is given back: workers would take from it, and each write to a page of its own.
    """
    service = create_app(models)
    try:
        await warm(service)
    finally:
        service.queue.close()
    gc.collect()
    give_back_memory()


def _check_host(settings: Settings, tell: Callable[[str], None]) -> None:
    """Refuse an address that other machines reach, unless that is meant; then warn."""
    if is_loopback(settings.host):
        return
    if not settings.expose:
        raise UserError(
            f"{settings.host} can be reached from other machines, and nobody is asked for a "
            "password; if that is meant, add --expose"
        )
    tell(
        f"warning: everyone who reaches {settings.host}:{settings.port} may ask; "
        "there is no password and no encryption"
    )


def _approximate(models: Models, tell: Callable[[str], None]) -> None:
    """Answer from indexes; made before workers part, so that they share them."""
    for name, served in models.items():
        found = served.predictor.approximate()
        tell(f"{name}: answers are approximate, recall@10 is {found:.3f}")


async def _answer(
    models: Models, bound: socket.socket, settings: Settings, tell: Callable[[str], None]
) -> None:
    hosts = {*settings.allow_hosts, _in_address(settings.host)}
    service = create_app(models, hosts=hosts, at_once=settings.at_once)
    try:
        server = Server(
            service,
            connections=max(_CONNECTIONS, 2 * settings.at_once),
            log=None if settings.quiet else _log,
        )
        address = f"http://{_in_address(settings.host)}:{bound.getsockname()[1]}/"
        await server.run(bound, lambda: tell(f"serving {', '.join(models)} at {address}"))
    finally:
        service.queue.close()


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _in_address(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _raise_file_limit() -> None:
    try:
        import resource  # not on Windows, which has no such limit
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILES if hard == resource.RLIM_INFINITY else min(hard, _FILES)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _log(line: str) -> None:
    sys.stderr.write(line)
    sys.stderr.flush()
