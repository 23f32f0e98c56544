"""Shard: the rows of the large tables that this process owns, and how it hears of the others.

Entities and mediators are cut into as many ranges as there are shards. A process holds the vectors
of its own range, computes and scores them, and asks the others by collective operations of
torch.distributed, which all processes call in the same order. Gradients of what everybody computes
alike (relations, matrices, the known part of a query) are partial in each process: what follows
from its own rows. Whoever needs them sums them up.
"""

from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import functional

_BLOCK = 192  # rows: the blocks of `even_products`, so that scores of a range keep their bits
_BLOCKS = 8  # ranges smaller than this are cut anywhere


@dataclass(frozen=True)
class Shard:
    """One of several processes that divide the rows, and perhaps one of several such teams."""

    rank: int  # among those that divide the rows
    size: int  # how many they are
    group: Any  # they, as torch.distributed knows them
    replica: int = 0  # which part of a batch is scored here
    replicas: int = 1  # in how many parts a batch is scored
    copies: Any = None  # who holds the same rows, one of each replica

    def rows(self, count: int) -> slice:
        """The own ones of so many."""
        step = self.step(count)
        return slice(min(self.rank * step, count), min((self.rank + 1) * step, count))

    def step(self, count: int) -> int:
        """How many rows a range has, but for the last one."""
        step = -(-count // self.size)
        even = -(-step // _BLOCK) * _BLOCK
        is_large = step >= _BLOCK * _BLOCKS and even * (self.size - 1) < count
        return max(1, even if is_large else step)

    def part(self, count: int) -> slice:
        """The queries of a batch that this replica scores."""
        return slice(
            count * self.replica // self.replicas, count * (self.replica + 1) // self.replicas
        )

    def turn(self, count: int) -> slice:
        """The items of a batch that this process accounts for, where all of them score them."""
        place, of = self.replica * self.size + self.rank, self.size * self.replicas
        return slice(count * place // of, count * (place + 1) // of)

    def whole(self, own: Tensor, count: int) -> Tensor:  # (count, …)
        """All rows of a table of which every process gives its own; gradients come back summed."""
        result: Tensor = _Whole.apply(own, self, count)  # type: ignore[no-untyped-call]
        return result

    def sum(self, x: Tensor) -> Tensor:
        """The sum over shards; gradients are summed likewise."""
        result: Tensor = _Sum.apply(x, self.group)  # type: ignore[no-untyped-call]
        return result

    def fetch(self, own: Tensor, ids: Tensor, count: int) -> Tensor:  # (ids, …)
        """Rows of a divided table, whoever owns them; all shards ask for the same ids."""
        rows = self.rows(count)
        if rows.stop == rows.start:
            return self.sum(own.new_zeros(len(ids), *own.shape[1:]))
        is_own = (ids >= rows.start) & (ids < rows.stop)
        found = functional.embedding(torch.where(is_own, ids - rows.start, 0), own)
        return self.sum(torch.where(is_own[:, None], found, 0.0))

    def combine(self, x: Tensor) -> Tensor:  # (shards, …)
        """What every shard says, in their order; without gradients."""
        parts = [torch.empty_like(x) for _ in range(self.size)]
        dist.all_gather(parts, x.contiguous(), group=self.group)
        return torch.stack(parts)


class _Whole(torch.autograd.Function):
    """Forward all parts are gathered; backward the gradients of the own part are summed."""

    @staticmethod
    def forward(ctx: Any, own: Tensor, shard: Shard, count: int) -> Tensor:
        ctx.shard, ctx.count = shard, count
        made = own.new_empty(count, *own.shape[1:])
        made[shard.rows(count)] = own
        for rank in range(shard.size):  # each range from its owner, to where it belongs
            part = made[replace(shard, rank=rank).rows(count)]
            if len(part):
                dist.broadcast(part, group_src=rank, group=shard.group)
        return made

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None, None]:
        slope, shard = slopes[0].contiguous(), ctx.shard
        own = slope[:0]
        for rank in range(shard.size):  # each range to its owner: a copy of one range at a time
            part = slope[replace(shard, rank=rank).rows(ctx.count)].clone()
            dist.reduce(part, group_dst=rank, group=shard.group)
            own = part if rank == shard.rank else own
        return own, None, None


class _Sum(torch.autograd.Function):
    """Both ways a sum over processes."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, group: Any) -> Tensor:
        ctx.group = group
        total = x.contiguous().clone()
        dist.all_reduce(total, group=group)
        return total

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor, None]:
        slope = slopes[0].contiguous().clone()
        dist.all_reduce(slope, group=ctx.group)
        return slope, None


def whole(shard: Shard | None, table: Tensor, count: int) -> Tensor:  # (count, …)
    """All rows of a table, which may be divided."""
    return table if shard is None else shard.whole(table, count)
