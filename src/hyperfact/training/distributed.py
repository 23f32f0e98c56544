"""Several processes as one training: they join, and sum what each has a part of.

Processes are started by torchrun and talk through torch.distributed. Tables of entities and
mediators are divided, the rest is the same everywhere and stays so: all processes draw the same
random numbers and add the same gradients (docs/adr/0010).
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from hyperfact.errors import ConfigError, StorageError
from hyperfact.models.shard import Shard
from hyperfact.models.transeq import TransEQ

_SILENCE = 1800.0  # seconds after which a process that does not answer is given up


@dataclass(frozen=True)
class Team:
    """All processes of one training, as one of them sees them."""

    rank: int
    size: int
    group: Any  # all of them
    shard: Shard

    @property
    def is_first(self) -> bool:
        """Whether this is the one that writes and speaks."""
        return self.rank == 0

    def agree(self, value: Any) -> Any:
        """What the first process says; anything that JSON holds."""
        content = json.dumps(value).encode() if self.is_first else b""
        length = torch.tensor([len(content)])
        dist.broadcast(length, src=0, group=self.group)
        buffer = torch.zeros(int(length), dtype=torch.uint8)
        if self.is_first:
            buffer = torch.frombuffer(bytearray(content), dtype=torch.uint8)
        dist.broadcast(buffer, src=0, group=self.group)
        return json.loads(bytes(buffer.tolist()))

    def hear(self, text: str) -> list[str]:
        """What each process says, in their order; texts of one length."""
        own = torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8)
        parts = [torch.empty_like(own) for _ in range(self.size)]
        dist.all_gather(parts, own, group=self.group)
        return [bytes(part.tolist()).decode() for part in parts]

    def most(self, value: int) -> int:
        """The largest number that any process has."""
        number = torch.tensor([value])
        dist.all_reduce(number, dist.ReduceOp.MAX, group=self.group)
        return int(number)

    def wait(self) -> None:
        """Until all are here."""
        self.most(0)


_joined: list[Team] = []  # torch.distributed has one world in a process, and so have we


def team() -> Team | None:
    """The team that this process has joined; None: it works alone."""
    return _joined[0] if _joined else None


def check_size(processes: int, replicas: int) -> None:
    """Refuse numbers of processes that do not divide.

    Raises:
        ConfigError: With both numbers.
    """
    if processes < 1 or replicas < 1 or processes % replicas:
        raise ConfigError(
            f"{processes} processes cannot hold {replicas} replicas: the number of processes must "
            "be a multiple of that of replicas"
        )


@contextmanager
def joined(
    rank: int,
    size: int,
    *,
    replicas: int = 1,
    backend: str = "gloo",
    attempt: int = 0,
    seconds: float = 60.0,
) -> Iterator[Team]:
    """In this block the process is one of a team; its address is where torchrun has put it.

    Args:
        rank: The number of this process, from 0.
        size: How many there are.
        replicas: Into how many parts batches are divided; each holds all rows.
        backend: Of torch.distributed: gloo on the CPU, nccl on CUDA.
        attempt: How often the team was begun before; what it left at the meeting point is not read.
        seconds: To wait for the others.

    Raises:
        ConfigError: The numbers do not divide.
        StorageError: The others did not answer.
    """
    check_size(size, replicas)
    try:
        wait = timedelta(seconds=seconds)
        store, _, _ = next(rendezvous("env://", rank, size, timeout=wait))
        fresh = PrefixStore(f"attempt {attempt}", store)
        dist.init_process_group(backend, store=fresh, rank=rank, world_size=size, timeout=wait)
        groups = _groups(rank, size, replicas)
    except (RuntimeError, ValueError) as error:
        raise StorageError(
            f"process {rank} of {size} found no team: {_first_line(error)}; MASTER_ADDR and "
            "MASTER_PORT must name a machine that answers"
        ) from error
    _joined.append(groups)
    try:
        yield groups
    finally:
        _joined.clear()
        dist.destroy_process_group()


def _groups(rank: int, size: int, replicas: int) -> Team:
    """Processes of a replica follow each other; every process makes every group."""
    shards, silence = size // replicas, timedelta(seconds=_SILENCE)
    rows = [range(r * shards, (r + 1) * shards) for r in range(replicas)]
    columns = [range(s, size, shards) for s in range(shards)]
    world = dist.new_group(list(range(size)), timeout=silence)
    row, column = (
        {i: dist.new_group(list(ranks), timeout=silence) for i, ranks in enumerate(several)}
        for several in (rows, columns)
    )
    replica, place = divmod(rank, shards)
    shard = Shard(place, shards, row[replica], replica, replicas, column[place])
    return Team(rank, size, world, shard)


@contextmanager
def explaining_loss(*, is_said: bool = False) -> Iterator[None]:
    """Say in a line that another process is gone, where torch.distributed says it in many.

    Args:
        is_said: Whether somebody else says so; then the error has no words.

    Raises:
        StorageError: Somebody does not answer any more.
    """
    try:
        yield
    except RuntimeError as error:
        if team() is None or not _is_of_network(error):
            raise
        text = "another process of this training is gone; `hyperfact resume` goes on from the last "
        raise StorageError("" if is_said else f"{text}checkpoint") from error


def _is_of_network(error: RuntimeError) -> bool:
    words = ("gloo", "nccl", "connection", "socket", "timed out", "store")
    text = str(error).casefold()
    return isinstance(error, dist.DistError) or any(word in text for word in words)


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200]


def sum_gradients(model: TransEQ, loss: float) -> float:
    """Give every process the gradients of all, and the loss; alone there is nothing to do.

    Gradients of divided tables are whole already in the shard that owns the rows, but for the part
    of the batch that other replicas have.
    """
    everybody = team()
    if everybody is None or model.shard is None:
        return loss
    total = torch.tensor([loss], dtype=torch.float64)
    dist.all_reduce(total, group=everybody.group)
    found = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    if model.shard.replicas > 1:
        for name in model.divided:
            dist.all_reduce(found[name], group=model.shard.copies)
    _sum([g for name, g in found.items() if name not in model.divided], everybody.group)
    return float(total)


def _sum(gradients: list[Tensor], group: Any) -> None:
    """All in one message."""
    if not gradients:
        return
    flat = torch.cat([g.flatten() for g in gradients])
    dist.all_reduce(flat, group=group)
    sizes = [gradient.numel() for gradient in gradients]
    for gradient, part in zip(gradients, torch.split(flat, sizes), strict=True):
        gradient.copy_(part.view_as(gradient))
