"""Attention inside many short sequences side by side, with vectors of edges between their tokens.

A fact has a handful of tokens: its products are far too small for matrix libraries, which spend
their time on copies. Here each sequence and head is one pass over memory that stays in the cache.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hyperfact.errors import DataError
from hyperfact.kernels import reference
from hyperfact.kernels.buffers import array, empty_aligned
from hyperfact.kernels.dispatch import apply, has_kernels
from hyperfact.kernels.exponential import exp_nonpositive
from hyperfact.kernels.jit import Array, kernel, part_of_kernels, reducing_part
from hyperfact.kernels.threads import even_bounds, parallel_for, parallel_rows

_BLOCK = 64  # sequences whose gradients of edges are summed up in one place


class Layout(NamedTuple):
    """Sequences in groups of one length; the label of each edge by length, 0 for none."""

    sizes: Sequence[tuple[int, int]]  # sequences, and their length
    labels: Sequence[Tensor]  # (length, length) for each group; empty: no edges

    def weights(self, heads: int) -> int:
        """How many weights attention has."""
        return sum(count * heads * length**2 for count, length in self.sizes)


class _Arrays(NamedTuple):
    """What a kernel reads."""

    qkv: Array  # (tokens, 3, heads, width)
    keys: Array  # (labels, width)
    values: Array  # (labels, width)
    noise: Array  # (weights,) or empty
    tokens: Array  # (sequences + 1,) first token of each
    weights: Array  # (sequences,) first weight of each
    edges: Array  # (sequences,) first label of each
    labels: Array  # of each length, row by row


class _Row(NamedTuple):
    """One token and head: where its numbers lie."""

    token: int
    head: int
    first: int  # token of the sequence
    length: int  # of the sequence
    weight: int  # first of its weights
    label: int  # first of its labels


def ragged_attention(
    qkv: Tensor,  # (tokens, 3 * dim)
    keys: Tensor,  # (labels, dim / heads)
    values: Tensor,  # (labels, dim / heads)
    *,
    layout: Layout,
    heads: int,
    noise: Tensor | None = None,  # (layout.weights(heads),)
) -> Tensor:  # (tokens, dim)
    """Let the tokens of each sequence attend to each other, and to the edges between them.

    Token i becomes sum_j a_ij (v_j + values_ij), head by head, with the weights
    a_ij = softmax_j(q_i · (k_j + keys_ij) / sqrt(dim / heads)) noise_ij.

    Args:
        qkv: Queries, keys and values of all tokens, sequence after sequence.
        keys: A vector for each label from 1 on, added to keys.
        values: The same for values.
        layout: Lengths of the sequences, and their labels.
        heads: Parts of each vector that attend on their own.
        noise: A factor of each weight, by sequence, head, i and j; None: 1.

    Raises:
        DataError: Shapes that do not fit.
    """
    tokens = sum(count * length for count, length in layout.sizes)
    if len(qkv) != tokens or qkv.shape[1] != 3 * heads * keys.shape[1]:
        raise DataError(f"expected {tokens} tokens of {heads} heads, got {tuple(qkv.shape)}")
    if noise is not None and noise.shape != (layout.weights(heads),):
        raise DataError(f"expected {layout.weights(heads)} factors, got {tuple(noise.shape)}")
    if not has_kernels(qkv):
        return reference.ragged_attention(qkv, keys, values, layout, noise)
    return apply(_RaggedAttention, qkv, keys, values, layout, heads, noise)


class _RaggedAttention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        qkv: Tensor,
        keys: Tensor,
        values: Tensor,
        layout: Layout,
        heads: int,
        noise: Tensor | None,
    ) -> Tensor:
        arrays = _arrays(qkv, keys, values, layout, heads, noise)
        weights = np.empty(layout.weights(heads), dtype=arrays.qkv.dtype)
        out = empty_aligned(qkv, len(qkv), qkv.shape[1] // 3)
        found = array(out).reshape(len(out), heads, keys.shape[1])
        parallel_rows(
            lambda low, high: _forward(arrays, weights, found, low, high),
            even_bounds(len(arrays.weights)),
        )
        ctx.save_for_backward(qkv, keys, values)
        ctx.arrays, ctx.weights = arrays, weights
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        qkv, keys, _ = ctx.saved_tensors
        arrays, weights = ctx.arrays, ctx.weights
        passed = empty_aligned(qkv, *qkv.shape)
        out = array(passed).reshape(arrays.qkv.shape)
        slope = array(gradient).reshape(len(out), *out.shape[2:])
        count = len(arrays.weights)
        blocks = -(-count // _BLOCK)
        edges = np.zeros((blocks, 2, *keys.shape), dtype=out.dtype)  # of keys, of values

        def run(block: int) -> None:
            low = block * _BLOCK
            _backward(arrays, weights, slope, (out, edges[block]), low, min(low + _BLOCK, count))

        parallel_for(run, blocks)
        of_keys, of_values = torch.from_numpy(edges).sum(dim=0).unbind()
        return passed, of_keys, of_values, None, None, None


def _arrays(
    qkv: Tensor, keys: Tensor, values: Tensor, layout: Layout, heads: int, noise: Tensor | None
) -> _Arrays:
    counts, lengths = (np.array(side, dtype=np.int64) for side in zip(*layout.sizes, strict=True))
    length = np.repeat(lengths, counts)
    tokens = np.concatenate(([0], np.cumsum(length)))
    starts = np.concatenate(([0], np.cumsum(lengths**2)))[:-1]
    if layout.labels:
        labels = np.concatenate([array(one).ravel() for one in layout.labels])
    else:
        labels = np.zeros(0, dtype=np.int64)
    squares = heads * length**2
    vectors = array(qkv).reshape(len(qkv), 3, heads, keys.shape[1])
    return _Arrays(
        vectors,
        array(keys),
        array(values),
        np.empty(0, dtype=vectors.dtype) if noise is None else array(noise),
        tokens,
        np.cumsum(squares) - squares,
        np.repeat(starts, counts),
        labels.astype(np.int64),
    )


@kernel
def _forward(a: _Arrays, weights: Array, out: Array, low: int, high: int) -> None:
    by_kind = np.zeros(len(a.keys) + 1, dtype=out.dtype)
    for n in range(low, high):
        first, length = a.tokens[n], a.tokens[n + 1] - a.tokens[n]
        for h in range(out.shape[1]):
            for i in range(length):
                at = a.weights[n] + (h * length + i) * length
                row = _Row(first + i, h, first, length, at, a.edges[n] + i * length)
                _weigh(a, row, weights, by_kind)
                _mix(a, row, weights, out[first + i, h])


@part_of_kernels
def _weigh(a: _Arrays, row: _Row, weights: Array, by_kind: Array) -> None:
    """The weights of one token."""
    q = a.qkv[row.token, 0, row.head]
    for c in range(len(a.keys)):
        by_kind[c + 1] = _dot(q, a.keys[c])
    for j in range(row.length):
        score = _dot(q, a.qkv[row.first + j, 1, row.head])
        if len(a.keys):
            score += by_kind[a.labels[row.label + j]]
        weights[row.weight + j] = score
    _softmax(weights, row.weight, row.length, weights.dtype.type(1 / math.sqrt(len(q))))


@part_of_kernels
def _mix(a: _Arrays, row: _Row, weights: Array, y: Array) -> None:
    """The sum of values by these weights."""
    for k in range(len(y)):
        y[k] = 0
    for j in range(row.length):
        weight = weights[row.weight + j]
        if len(a.noise):
            weight *= a.noise[row.weight + j]
        _add(y, weight, a.qkv[row.first + j, 2, row.head])
        label = a.labels[row.label + j] if len(a.keys) else 0
        if label:
            _add(y, weight, a.values[label - 1])


@kernel
def _backward(
    a: _Arrays, weights: Array, slope: Array, out: tuple[Array, Array], low: int, high: int
) -> None:
    """Gradients of q, k and v over `out[0]`, those of edges' keys and values added to `out[1]`."""
    longest = 0
    for n in range(low, high):
        longest = max(longest, a.tokens[n + 1] - a.tokens[n])
    change = np.empty(longest, dtype=weights.dtype)  # of the weights of one token
    for n in range(low, high):
        first, length = a.tokens[n], a.tokens[n + 1] - a.tokens[n]
        out[0][first : first + length] = 0
        for h in range(slope.shape[1]):
            for i in range(length):
                at = a.weights[n] + (h * length + i) * length
                row = _Row(first + i, h, first, length, at, a.edges[n] + i * length)
                _through_values(a, row, weights, slope[first + i, h], change, out)
                _through_keys(a, row, weights, change, out)


@part_of_kernels
def _through_values(
    a: _Arrays, row: _Row, weights: Array, g: Array, change: Array, out: tuple[Array, Array]
) -> None:
    """From the sum of values to the values, and to the weights before noise."""
    for j in range(row.length):
        noise = a.noise[row.weight + j] if len(a.noise) else weights.dtype.type(1)
        weight = weights[row.weight + j] * noise
        given = _dot(g, a.qkv[row.first + j, 2, row.head])
        _add(out[0][row.first + j, 2, row.head], weight, g)
        label = a.labels[row.label + j] if len(a.keys) else 0
        if label:
            given += _dot(g, a.values[label - 1])
            _add(out[1][1, label - 1], weight, g)
        change[j] = given * noise


@part_of_kernels
def _through_keys(
    a: _Arrays, row: _Row, weights: Array, change: Array, out: tuple[Array, Array]
) -> None:
    """From the weights through the softmax to queries and keys."""
    q, passed = a.qkv[row.token, 0, row.head], out[0][row.token, 0, row.head]
    scale, mean = weights.dtype.type(1 / math.sqrt(len(q))), weights.dtype.type(0)
    for j in range(row.length):
        mean += weights[row.weight + j] * change[j]
    for j in range(row.length):
        steep = weights[row.weight + j] * (change[j] - mean) * scale
        _add(passed, steep, a.qkv[row.first + j, 1, row.head])
        _add(out[0][row.first + j, 1, row.head], steep, q)
        label = a.labels[row.label + j] if len(a.keys) else 0
        if label:
            _add(passed, steep, a.keys[label - 1])
            _add(out[1][0, label - 1], steep, q)


@part_of_kernels
def _softmax(weights: Array, start: int, length: int, scale: float) -> None:
    top = weights[start]
    for j in range(start, start + length):
        top = max(top, weights[j])
    mass = weights.dtype.type(0)
    for j in range(start, start + length):
        weights[j] = exp_nonpositive((weights[j] - top) * scale)
        mass += weights[j]
    for j in range(start, start + length):
        weights[j] /= mass


@reducing_part
def _dot(x: Array, y: Array) -> float:
    total: float = x.dtype.type(0)
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@part_of_kernels
def _add(y: Array, weight: float, x: Array) -> None:
    for k in range(len(y)):
        y[k] += weight * x[k]
