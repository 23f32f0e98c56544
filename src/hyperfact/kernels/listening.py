"""Products over the other members of a fact, for many questions at once, of HCNet.

A question marks few nodes, and after l steps only who is l facts away from them has a state of its
own; everybody else is as if nothing had been asked. So there is one row for each node as nobody
asks about it, and further ones for (question, node) that differ. A listener (such a row of the next
step) hears of each fact of its node z_r * prod over the other members j of (x_j + p_j), and adds up
what it hears. Nothing with a row for each member of each fact exists, forward or backward.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hyperfact.errors import DataError
from hyperfact.kernels import reference
from hyperfact.kernels.buffers import array, empty_aligned
from hyperfact.kernels.dispatch import apply, has_kernels
from hyperfact.kernels.jit import Array, kernel, part_of_kernels
from hyperfact.kernels.neighbours import LIMIT, Listeners, Neighbours
from hyperfact.kernels.threads import even_bounds, parallel_rows


def hear_others(
    x: Tensor,  # (rows, dim) first a row for each node, as nobody asks
    z: Tensor,  # (relations, dim)
    p: Tensor,  # (roles, dim)
    *,
    around: Neighbours,
    listeners: Listeners,
) -> Tensor:  # (listeners, dim)
    """What each listener hears from the facts of its node that are kept.

    Raises:
        DataError: Shapes or dtypes that do not fit.
    """
    if len(x) < around.num_nodes or listeners.place.shape[1:] != (around.num_nodes,):
        raise DataError(f"expected rows and places for {around.num_nodes} nodes, got {len(x)} rows")
    if {z.shape[1:], p.shape[1:]} != {x.shape[1:]} or {z.dtype, p.dtype} != {x.dtype}:
        raise DataError("rows, relations and roles must be of one width and dtype")
    if not has_kernels(x):
        return reference.hear_others(x, z, p, around=around, listeners=listeners)
    return apply(_HearOthers, x, z, p, around, listeners)


class _HearOthers(torch.autograd.Function):
    """Keeps the three tables; products are computed again."""

    @staticmethod
    def forward(
        ctx: Any, x: Tensor, z: Tensor, p: Tensor, around: Neighbours, listeners: Listeners
    ) -> Tensor:
        y = empty_aligned(x, len(listeners.node), x.shape[1]).zero_()
        ctx.save_for_backward(x, z, p)
        ctx.around, ctx.listeners = around, listeners
        tables = Tables(array(x), array(z), array(p))
        parallel_rows(
            lambda low, high: _forward(tables, array(y), around, listeners, low, high),
            even_bounds(len(y)),
        )
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        tensors = ctx.saved_tensors
        found = [empty_aligned(t, *t.shape).zero_() for t in tensors]
        tables, into = (Tables(*(array(t) for t in ts)) for ts in (tensors, found))
        around: Neighbours = ctx.around

        def work(low: int, high: int) -> None:
            tall, flat = (around.widest + 1, high - low), (high - low,)
            rows = Rows(*(array(gradient.new_empty(n)) for n in (tall, tall, flat, flat)))
            _backward(tables, into, array(gradient), around, ctx.listeners, rows, low)

        parallel_rows(work, even_bounds(gradient.shape[1], per_thread=1))
        return *found, None, None


class Tables(NamedTuple):
    """Vectors, or their gradients."""

    x: Array  # (rows, dim)
    z: Array  # (relations, dim)
    p: Array  # (roles, dim)


class Rows(NamedTuple):
    """Room for one fact."""

    before: Array  # (members, columns) product of the relation and of the factors before each
    factor: Array  # (members, columns)
    after: Array  # (columns,) what comes back, times the factors after it
    slope: Array  # (columns,)


@part_of_kernels
def _row(listeners: Listeners, question: int, node: int, rows: int) -> int:
    """Where the state of a node is, as a question sees it."""
    if question < 0:
        return node
    row = listeners.place[question, node]
    return row if 0 <= row < rows else node


@kernel
def _forward(
    tables: Tables, y: Array, around: Neighbours, listeners: Listeners, low: int, high: int
) -> None:
    message = np.empty(y.shape[1], dtype=y.dtype)
    for t in range(low, high):
        v = listeners.node[t]
        for place in range(around.at[v], around.at[v + 1]):
            own = around.member[place]
            if around.keep[around.fact[own]]:
                _tell(tables, around, listeners, t, own, message)
                _add(y[t], y[t], message)


@part_of_kernels
def _tell(
    tables: Tables, around: Neighbours, listeners: Listeners, t: int, own: int, message: Array
) -> None:
    """What a listener hears of one fact, in which it is the member `own`."""
    x, z, p = tables
    m, f = around.members, around.fact[own]
    message[:] = z[m.relation[f]]
    for j in range(m.offsets[f], m.offsets[f + 1]):
        if j != own:
            row, role = _row(listeners, listeners.question[t], m.node[j], len(x)), m.role[j]
            for k in range(len(message)):
                message[k] = _bounded(message[k] * (x[row, k] + p[role, k]))


@kernel
def _backward(
    tables: Tables,
    into: Tables,
    gradient: Array,
    around: Neighbours,
    listeners: Listeners,
    rows: Rows,
    low: int,
) -> None:
    """For each listener whose gradient is not 0, as that of most is after the last step."""
    high = low + rows.after.shape[0]
    for t in range(len(listeners.node)):
        v = listeners.node[t]
        if not gradient[t, low:high].any():
            continue
        for place in range(around.at[v], around.at[v + 1]):
            own = around.member[place]
            if around.keep[around.fact[own]]:
                rows.after[:] = gradient[t, low:high]
                _tell_back(tables, into, around, listeners, t, own, rows, low)


@part_of_kernels
def _tell_back(
    tables: Tables,
    into: Tables,
    around: Neighbours,
    listeners: Listeners,
    t: int,
    own: int,
    rows: Rows,
    low: int,
) -> None:
    """The product before each factor, times what comes back from those after it."""
    (x, z, p), (dx, dz, dp), (before, factor, after, slope) = tables, into, rows
    m, f, q, high = around.members, around.fact[own], listeners.question[t], low + len(after)
    r, count = m.relation[f], 0
    before[0] = z[r, low:high]
    for j in range(m.offsets[f], m.offsets[f + 1]):
        if j != own:
            row = _row(listeners, q, m.node[j], len(x))
            _add(factor[count], x[row, low:high], p[m.role[j], low:high])
            _multiply(before[count + 1], before[count], factor[count])
            count += 1
    for j in range(m.offsets[f + 1] - 1, m.offsets[f] - 1, -1):
        if j != own:
            count -= 1
            _multiply(slope, before[count], after)
            _multiply(after, after, factor[count])
            row = _row(listeners, q, m.node[j], len(x))
            _add(dx[row, low:high], dx[row, low:high], slope)
            _add(dp[m.role[j], low:high], dp[m.role[j], low:high], slope)
    _add(dz[r, low:high], dz[r, low:high], after)


@part_of_kernels
def _bounded(number: float) -> float:
    return min(max(number, -LIMIT), LIMIT)


# One loop for each operation: with more tables in one, the compiler would not prove them apart.
@part_of_kernels
def _multiply(out: Array, one: Array, two: Array) -> None:
    for k in range(len(out)):
        out[k] = _bounded(one[k] * two[k])


@part_of_kernels
def _add(out: Array, one: Array, two: Array) -> None:
    for k in range(len(out)):
        out[k] = one[k] + two[k]
