"""Processes of one training: started here by torch's own launcher, or found started by torchrun."""

import logging
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import uuid4

from hyperfact.errors import ConfigError, StorageError, UserError
from hyperfact.runs.device import device_of
from hyperfact.system.memory import COMPACT
from hyperfact.system.torchrun import LAUNCHED, attempt, is_launched, members, rank
from hyperfact.training.distributed import Team, check_size, explaining_loss, joined

_TERMINATED = -15  # those that the launcher ends when one has failed


class WorkerError(UserError):
    """A process of the team failed and has said why."""

    def __init__(self, code: int) -> None:
        super().__init__("")
        self.exit_code = code


def launch(words: Sequence[str], processes: int, *, replicas: int = 1) -> None:
    """Run a command of ours in several processes of this machine, and wait for them.

    Args:
        words: The command, as after `hyperfact`.
        processes: How many.
        replicas: Into how many parts they divide batches.

    Raises:
        ConfigError: The numbers do not divide.
        StorageError: A process was killed.
        WorkerError: A process failed.
    """
    check_size(processes, replicas)
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)  # we say it ourselves
    settings = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=processes,
        run_id=uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        local_addr="127.0.0.1",
        max_restarts=0,
        monitor_interval=0.5,
    )
    os.environ[LAUNCHED] = "1"
    os.environ.setdefault(*COMPACT)
    try:
        elastic_launch(settings, sys.executable)("-m", "hyperfact", *words)
    except ChildFailedError as error:
        codes = {rank: failure.exitcode for rank, failure in error.failures.items()}
        killed = [place for place, code in codes.items() if code < 0 and code != _TERMINATED]
        if killed:
            place = killed[0]
            raise StorageError(
                f"process {place} of {processes} was killed by signal {-codes[place]}; "
                "`hyperfact resume` goes on from the last checkpoint"
            ) from None
        said = [code for code in codes.values() if code > 0]
        raise WorkerError(min(said, default=70)) from None


@contextmanager
def as_member(replicas: int, *, device: str = "auto") -> Iterator[Team | None]:
    """In this block the process is one of those that torchrun has started; alone it is nobody's.

    Args:
        replicas: Into how many parts they divide batches.
        device: Where they compute, as settings name it.

    Raises:
        ConfigError: Numbers of processes that do not fit.
        StorageError: The others do not answer, or not any more.
    """
    number, size = rank(), members()
    check_size(size, replicas)
    if size == 1:
        yield None
        return
    if number >= size:
        raise ConfigError(f"RANK is {number} of WORLD_SIZE = {size} processes; they count from 0")
    backend = "nccl" if device_of(device).type == "cuda" else "gloo"
    with (
        joined(number, size, replicas=replicas, backend=backend, attempt=attempt()) as team,
        explaining_loss(is_said=is_launched()),
    ):
        yield team
