"""Attention over edges, of InGram: y_t = sum over edges (u, r, t) of softmax(score) * value.

score = p . LeakyReLU(a_t + b_u + c_r) + d_r and value = x_u + v_r, for each head over its own
coordinates; the softmax runs over what t receives. Matrices are applied before, once per node and
relation. Kept are the shares of the edges, a number for each head; no tensor with a vector for each
edge exists, forward or backward. Threads share the heads: no two of them write to one place.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hyperfact.errors import DataError
from hyperfact.kernels import reference
from hyperfact.kernels.attention_tables import SLOPE, AttentionTables
from hyperfact.kernels.buffers import array, empty_aligned
from hyperfact.kernels.dispatch import apply, check_graph, has_kernels
from hyperfact.kernels.edges import EdgeIndex, Grouping
from hyperfact.kernels.jit import Array, reducing_kernel, reducing_part
from hyperfact.kernels.threads import even_bounds, parallel_rows


def attend(
    tables: AttentionTables, *, edges: EdgeIndex, keep: Tensor, rows: int | None = None
) -> Tensor:  # (rows, dim)
    """What each node receives, by attention; nothing if no edge to it is kept.

    Args:
        tables: Of nodes and relations; the number of columns of `bias` is that of the heads.
        edges: The graph.
        keep: Which edges exist.  # (edges,) bool
        rows: Compute the targets below this only; by default all nodes.

    Raises:
        DataError: Shapes or dtypes that do not fit.
    """
    rows = edges.num_targets if rows is None else rows
    check_graph(tables.sender, tables.relation, edges=edges, weights=keep, rows=rows)
    dim, heads = tables.sender.shape[1], tables.bias.shape[1]
    nodes, relations = (edges.num_nodes, dim), (edges.num_relations, dim)
    shapes = (nodes, nodes, relations, nodes, relations, (1, dim), (edges.num_relations, heads))
    for name, table, shape in zip(AttentionTables._fields, tables, shapes, strict=True):
        if table.shape != shape or table.dtype != tables.sender.dtype:
            raise DataError(f"{name} must be {shape}, got {tuple(table.shape)} {table.dtype}")
    if dim % heads:
        raise DataError(f"{heads} heads do not divide {dim} columns")
    if not has_kernels(tables.sender):
        return reference.attend(tables, edges=edges, keep=keep, rows=rows)
    return apply(_Attend, edges, array(keep), rows, *tables)


class _Attend(torch.autograd.Function):
    """Keeps the tables, the result, and the share of each edge in it."""

    @staticmethod
    def forward(ctx: Any, edges: EdgeIndex, keep: Array, rows: int, *tables: Tensor) -> Tensor:
        inputs = Arrays(*(array(t) for t in tables))
        y = empty_aligned(tables[0], rows, tables[0].shape[1]).zero_()
        shares = np.zeros((inputs.bias.shape[1], len(edges)), dtype=inputs.bias.dtype)
        side, out = edges.by_target, array(y)
        parallel_rows(
            lambda low, high: _forward(inputs, out, shares, side, keep, low, high),
            even_bounds(len(shares), per_thread=1),
        )
        ctx.save_for_backward(*tables, y)
        ctx.side, ctx.shares = side, shares
        return y

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        *tables, y = ctx.saved_tensors
        found = [empty_aligned(t, *t.shape).zero_() for t in tables]
        inputs, into = (Arrays(*(array(t) for t in ts)) for ts in (tables, found))
        out, g, shares, side = array(y), array(gradient), ctx.shares, ctx.side
        parallel_rows(
            lambda low, high: _backward(inputs, into, out, g, shares, side, low, high),
            even_bounds(len(shares), per_thread=1),
        )
        return None, None, None, *found


class Arrays(NamedTuple):
    """`AttentionTables` as kernels see them."""

    receiver: Array
    sender: Array
    relation: Array
    values: Array
    relation_values: Array
    vector: Array
    bias: Array


@reducing_kernel
def _forward(
    tables: Arrays, y: Array, shares: Array, side: Grouping, keep: Array, low: int, high: int
) -> None:
    width = y.shape[1] // shares.shape[0]
    for head in range(low, high):
        share, first = shares[head], head * width
        for t in range(len(y)):
            begin, end = side.offsets[t], side.offsets[t + 1]
            for j in range(begin, end):
                share[j] = -np.inf
                if keep[side.edges[j]]:
                    share[j] = _score(tables, t, side.first[j], side.second[j], head, width)
            _softmax(share[begin:end])
            for j in range(begin, end):
                u, r = side.first[j], side.second[j]
                if share[j] != 0:
                    for k in range(first, first + width):
                        y[t, k] += share[j] * (tables.values[u, k] + tables.relation_values[r, k])


@reducing_part
def _softmax(scores: Array) -> None:
    """In place; all 0 where nobody has a score."""
    top, total = -np.inf, 0.0
    for score in scores:
        top = max(top, score)
    for j in range(len(scores)):
        scores[j] = math.exp(scores[j] - top) if scores[j] > -np.inf else 0
        total += scores[j]
    for j in range(len(scores)):
        scores[j] /= max(total, 1.0)  # the largest score counts 1


@reducing_part
def _score(tables: Arrays, t: int, u: int, r: int, head: int, width: int) -> float:
    score: float = tables.bias[r, head]
    for k in range(head * width, (head + 1) * width):
        x = tables.receiver[t, k] + tables.sender[u, k] + tables.relation[r, k]
        score += tables.vector[0, k] * (x if x > 0 else x * tables.bias.dtype.type(SLOPE))
    return score


@reducing_kernel
def _backward(
    tables: Arrays,
    into: Arrays,
    y: Array,
    g: Array,
    shares: Array,
    side: Grouping,
    low: int,
    high: int,
) -> None:
    width = y.shape[1] // shares.shape[0]
    for head in range(low, high):
        first = head * width
        for t in range(len(y)):
            mean = y.dtype.type(0)
            for k in range(first, first + width):
                mean += g[t, k] * y[t, k]
            for j in range(side.offsets[t], side.offsets[t + 1]):
                if shares[head, j] != 0:
                    _edge_back(
                        tables,
                        into,
                        g,
                        shares[head, j],
                        mean,
                        t,
                        side.first[j],
                        side.second[j],
                        head,
                        width,
                    )


@reducing_part
def _edge_back(
    tables: Arrays,
    into: Arrays,
    g: Array,
    share: float,
    mean: float,
    t: int,
    u: int,
    r: int,
    head: int,
    width: int,
) -> None:
    """Add what one edge passes back; `mean` is what the values of t pass back on average."""
    own = g.dtype.type(0)
    for k in range(head * width, (head + 1) * width):
        own += g[t, k] * (tables.values[u, k] + tables.relation_values[r, k])
        into.values[u, k] += share * g[t, k]
        into.relation_values[r, k] += share * g[t, k]
    score = share * (own - mean)
    into.bias[r, head] += score
    for k in range(head * width, (head + 1) * width):
        x = tables.receiver[t, k] + tables.sender[u, k] + tables.relation[r, k]
        slope = score if x > 0 else score * g.dtype.type(SLOPE)
        into.vector[0, k] += slope * x
        into.receiver[t, k] += slope * tables.vector[0, k]
        into.sender[u, k] += slope * tables.vector[0, k]
        into.relation[r, k] += slope * tables.vector[0, k]
