"""Products over the other members of a fact, of G-MPNN: what each entity hears from its facts.

A fact f with relation r has members x_1 .. x_n in roles p_1 .. p_n. Member k hears z_r * prod over
j other than k of (p_j * x_j), and adds up what it hears, or takes the largest, coordinate by
coordinate, if that is above 0. No tensor with a row for each member of each fact exists, forward or
backward; threads share the coordinates, so that no two of them write to one place.
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
from hyperfact.kernels.member_index import MemberIndex, Members
from hyperfact.kernels.threads import even_bounds, parallel_rows


def aggregate_members(
    x: Tensor,  # (nodes, dim)
    z: Tensor,  # (relations, dim)
    p: Tensor,  # (roles, dim)
    *,
    index: MemberIndex,
    keep: Tensor,  # (facts,) bool
    largest: bool,
) -> Tensor:  # (nodes, dim)
    """What each node hears from the facts that are kept: the sum, or the largest above 0.

    Raises:
        DataError: Shapes or dtypes that do not fit.
    """
    sizes = index.num_nodes, index.num_relations, index.num_roles
    for tensor, size in zip((x, z, p), sizes, strict=True):
        if tensor.shape != (size, x.shape[-1]) or tensor.dtype != x.dtype:
            raise DataError(f"expected {size} rows like those of x, got {tuple(tensor.shape)}")
    if keep.shape != (len(index),):
        raise DataError(f"keep must be ({len(index)},), got {tuple(keep.shape)}")
    if not has_kernels(x):
        return reference.aggregate_members(
            x, z, p, members=index.members, keep=keep, largest=largest
        )
    return apply(_AggregateMembers, x, z, p, index, array(keep), largest)


class _AggregateMembers(torch.autograd.Function):
    """Keeps the three tables, and of the largest which member's they were."""

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        z: Tensor,
        p: Tensor,
        index: MemberIndex,
        keep: Array,
        largest: bool,  # noqa: FBT001 - torch takes no keywords here
    ) -> Tensor:
        y = empty_aligned(x, *x.shape).zero_()
        winners = np.full(x.shape if largest else (0, 0), -1, dtype=np.int32)
        ctx.save_for_backward(x, z, p)
        ctx.index, ctx.keep, ctx.winners = index, keep, winners
        tables = Tables(array(x), array(z), array(p))
        parallel_rows(
            lambda low, high: _forward(
                tables, array(y), winners, index.members, keep, _rows(x, index, high - low), low
            ),
            even_bounds(x.shape[1], per_thread=1),
        )
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        x, z, p = ctx.saved_tensors
        index: MemberIndex = ctx.index
        found = [empty_aligned(t, *t.shape).zero_() for t in (x, z, p)]
        heard = Heard(array(gradient), ctx.winners)
        tables, gradients = (Tables(*(array(t) for t in ts)) for ts in ((x, z, p), found))

        def work(low: int, high: int) -> None:
            rows = Rows(*(_rows(x, index, high - low) for _ in range(2)))
            _backward(tables, heard, gradients, index.members, ctx.keep, rows, low)

        parallel_rows(work, even_bounds(x.shape[1], per_thread=1))
        return *found, None, None, None


class Tables(NamedTuple):
    """Vectors, or their gradients."""

    x: Array  # (nodes, dim)
    z: Array  # (relations, dim)
    p: Array  # (roles, dim)


class Heard(NamedTuple):
    """The gradient of what nodes heard."""

    gradient: Array  # (nodes, dim)
    winners: Array  # (nodes, dim) which member it came from; empty: from all


class Rows(NamedTuple):
    """Products v + s e of the members before each, and at last of those after it."""

    value: Array  # (members + 2, columns)
    slope: Array  # (members + 2, columns)


def _rows(like: Tensor, index: MemberIndex, columns: int) -> Array:
    """A row for the product before each member, for that of all, and for that after it."""
    return array(like.new_empty(index.widest + 2, columns))


@kernel
def _forward(
    tables: Tables, y: Array, winners: Array, m: Members, keep: Array, before: Array, low: int
) -> None:
    x, z, p = tables
    after, columns = before[-1], before.shape[1]
    for f in range(len(m.relation)):
        if not keep[f]:
            continue
        start, size = m.offsets[f], m.offsets[f + 1] - m.offsets[f]
        for k in range(columns):
            before[0, k] = z[m.relation[f], low + k]
            after[k] = 1
        for j in range(size):
            v, q = m.node[start + j], m.role[start + j]
            for k in range(columns):
                before[j + 1, k] = before[j, k] * p[q, low + k] * x[v, low + k]
        for j in range(size - 1, -1, -1):
            v, q = m.node[start + j], m.role[start + j]
            for k in range(columns):
                heard = before[j, k] * after[k]
                after[k] *= p[q, low + k] * x[v, low + k]
                before[j, k] = heard
            _hear(y, winners, v, start + j, before[j], low)


@part_of_kernels
def _hear(y: Array, winners: Array, v: int, member: int, heard: Array, low: int) -> None:
    if winners.shape[0] == 0:
        for k in range(len(heard)):
            y[v, low + k] += heard[k]
    else:
        for k in range(len(heard)):
            if heard[k] > y[v, low + k]:
                y[v, low + k] = heard[k]
                winners[v, low + k] = member


@kernel
def _backward(
    tables: Tables, heard: Heard, into: Tables, m: Members, keep: Array, rows: Rows, low: int
) -> None:
    """By products of numbers v + s e with e * e = 0, one for each member.

    v is a member's factor and s the gradient that reaches it. Then s of the product of all is the
    gradient of the relation, and s of the product without j, times the relation, that of j's
    factor.
    """
    (x, z, p), (dx, dz, dp), (value, slope) = tables, into, rows
    for f in range(len(m.relation)):
        if not keep[f]:
            continue
        start, size, r = m.offsets[f], m.offsets[f + 1] - m.offsets[f], m.relation[f]
        value[0, :], slope[0, :] = 1, 0
        value[-1, :], slope[-1, :] = 1, 0
        for j in range(size):
            _multiply(tables, heard, m, start + j, rows, j, j + 1, low)
        for k in range(value.shape[1]):
            dz[r, low + k] += slope[size, k]
        for j in range(size - 1, -1, -1):
            v, q = m.node[start + j], m.role[start + j]
            for k in range(value.shape[1]):
                others = value[j, k] * slope[-1, k] + slope[j, k] * value[-1, k]
                dx[v, low + k] += others * z[r, low + k] * p[q, low + k]
                dp[q, low + k] += others * z[r, low + k] * x[v, low + k]
            _multiply(tables, heard, m, start + j, rows, -1, -1, low)


@part_of_kernels
def _multiply(
    tables: Tables, heard: Heard, m: Members, member: int, rows: Rows, a: int, b: int, low: int
) -> None:
    """Row b becomes row a times the number of a member."""
    v, q = m.node[member], m.role[member]
    for k in range(rows.value.shape[1]):
        factor, gradient = tables.p[q, low + k] * tables.x[v, low + k], heard.gradient[v, low + k]
        if heard.winners.shape[0] > 0 and heard.winners[v, low + k] != member:
            gradient *= 0
        rows.slope[b, k] = rows.slope[a, k] * factor + rows.value[a, k] * gradient
        rows.value[b, k] = rows.value[a, k] * factor
