"""Two machines on one: network namespaces joined by a cable that leads nowhere else."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_NETWORK = "10.213.77"


def why_not() -> str:
    """Why namespaces cannot be made here; empty: they can."""
    if shutil.which("ip") is None:
        return "there is no `ip` command"
    if os.geteuid() != 0:
        return "namespaces need root"
    made = subprocess.run(["ip", "netns", "add", "hf-try"], capture_output=True, text=True)
    subprocess.run(["ip", "netns", "del", "hf-try"], capture_output=True)
    return f"namespaces are refused: {made.stderr.strip()}" if made.returncode else ""


@dataclass(frozen=True)
class Machine:
    """One of the two."""

    name: str
    address: str
    cable: str

    def start(self, *words: str, log: Path, cwd: Path) -> "subprocess.Popen[bytes]":
        """Run a command there."""
        own = {"GLOO_SOCKET_IFNAME": self.cable, "OMP_NUM_THREADS": "1"}
        again = {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}  # see docs/howto/cluster.md
        environment = {**os.environ, **own, **again}
        with log.open("ab") as file:
            return subprocess.Popen(
                ["ip", "netns", "exec", self.name, *words],
                stdout=file,
                stderr=file,
                cwd=cwd,
                env=environment,
            )

    def kill(self) -> None:
        """End everything that runs there, as a power cut does."""
        found = subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True)
        for pid in found.stdout.split():
            try:
                os.kill(int(pid), signal.SIGKILL)
            except ProcessLookupError:
                continue


@contextmanager
def two_machines() -> Iterator[tuple[Machine, Machine]]:
    """Both, with nothing left of them afterwards."""
    tag = f"{os.getpid() % 100000}"
    first, second = (
        Machine(f"hf-{side}-{tag}", f"{_NETWORK}.{number}", f"hf{side}{tag}")
        for number, side in ((1, "a"), (2, "b"))
    )
    try:
        for machine in (first, second):
            _ip("netns", "add", machine.name)
        _ip("link", "add", first.cable, "type", "veth", "peer", "name", second.cable)
        for machine in (first, second):
            _ip("link", "set", machine.cable, "netns", machine.name)
            inside: tuple[Any, ...] = ("-n", machine.name)
            _ip(*inside, "addr", "add", f"{machine.address}/24", "dev", machine.cable)
            _ip(*inside, "link", "set", machine.cable, "up")
            _ip(*inside, "link", "set", "lo", "up")
        yield first, second
    finally:
        for machine in (first, second):
            machine.kill()
            subprocess.run(["ip", "netns", "del", machine.name], capture_output=True)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)
