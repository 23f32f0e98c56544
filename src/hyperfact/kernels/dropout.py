"""Dropout whose mask is a function of (seed, step, position): nothing is stored, all is repeatable.

Backward computes the mask again. The numbers are the same on any number of threads and in any
process, and drawing them costs less than reading the tensor.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hyperfact.errors import ConfigError
from hyperfact.kernels import reference
from hyperfact.kernels.buffers import array, empty_aligned
from hyperfact.kernels.dispatch import apply, has_kernels
from hyperfact.kernels.jit import Array, kernel, part_of_kernels
from hyperfact.kernels.threads import even_bounds, parallel_rows

_BLOCK = 1024  # elements under one 64-bit key
_GOLDEN = 0x9E3779B97F4A7C15
_MASK = (1 << 64) - 1


def dropout(x: Tensor, p: float, *, seed: int, step: int, first: int = 0) -> Tensor:
    """Set each element to 0 with probability `p` and divide the others by `1 - p`.

    Args:
        x: Any shape.
        p: In [0, 1).
        seed: Which stream of numbers; give each place of a model its own.
        step: Which element of the stream; a new one for each call in training.
        first: The place of the first element, where x is a part of something larger.

    Raises:
        ConfigError: A probability outside [0, 1).
    """
    if not 0 <= p < 1:
        raise ConfigError(f"a dropout probability must be in [0, 1), got {p}")
    if p == 0:
        return x
    key = stream_key(seed, step)
    if not has_kernels(x):
        return reference.dropout(x, p, keep=keep_mask(x.numel(), p, key, first).view(x.shape))
    return apply(_Dropout, x, p, key, first)


def stream_key(seed: int, step: int) -> int:
    """Mix seed and step into 64 bits (splitmix64 twice)."""
    return _splitmix((_splitmix(seed & _MASK) + step) & _MASK)


def keep_mask(count: int, p: float, key: int, first: int = 0) -> Tensor:  # (count,) bool
    """Which of `count` elements from the first on dropout keeps."""
    return apply(_Dropout, torch.ones(count), p, key, first) != 0


def _splitmix(value: int) -> int:
    value = (value + _GOLDEN) & _MASK
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


class _Dropout(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float, key: int, first: int) -> Tensor:
        ctx.p, ctx.key, ctx.first = p, key, first
        return _masked(x, p, key, first)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        return _masked(gradient, ctx.p, ctx.key, ctx.first), None, None, None


def _masked(x: Tensor, p: float, key: int, first: int) -> Tensor:
    """Blocks lie where those of the larger whole do; the part begins anywhere in its first one."""
    skipped = first % _BLOCK
    y = empty_aligned(x, skipped + x.numel())
    values, out = array(x).reshape(-1), array(y)
    if skipped:
        values = np.concatenate([np.zeros(skipped, dtype=values.dtype), values])
    scale = values.dtype.type(1 / (1 - p))
    threshold = np.uint32(min(round(p * 2**32), 2**32 - 1))
    parallel_rows(
        lambda low, high: _drop(
            values, out, np.uint64(key), threshold, scale, first // _BLOCK, low, high
        ),
        even_bounds(-(-len(values) // _BLOCK)),
    )
    return y[skipped:].view(x.shape)


@kernel
def _drop(
    x: Array,
    y: Array,
    key: np.uint64,
    threshold: np.uint32,
    scale: float,
    before: int,
    low: int,
    high: int,
) -> None:
    zero = x.dtype.type(0)
    for block in range(low, high):
        mixed = _mix64(key, before + block)
        first, second = np.uint32(mixed), np.uint32(mixed >> np.uint64(32))
        for k in range(block * _BLOCK, min((block + 1) * _BLOCK, len(x))):
            place = np.uint32(before * _BLOCK + k)
            bits = _mix32(np.uint32(place * np.uint32(0x9E3779B1) + first), second)
            value = x[k] * scale  # outside the choice, for otherwise the loop is not vectorised
            y[k] = value if bits >= threshold else zero


@part_of_kernels
def _mix64(key: np.uint64, block: int) -> np.uint64:
    value = key + np.uint64(block) * np.uint64(_GOLDEN)
    value = (value ^ (value >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    value = (value ^ (value >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(31))


@part_of_kernels
def _mix32(value: np.uint32, key: np.uint32) -> np.uint32:
    """A 32-bit finaliser (lowbias32) with the second half of the key in its middle."""
    value = np.uint32(value ^ (value >> np.uint32(16)))
    value = np.uint32(value * np.uint32(0x7FEB352D))
    value = np.uint32(value ^ key ^ (value >> np.uint32(15)))
    value = np.uint32(value * np.uint32(0x846CA68B))
    return np.uint32(value ^ (value >> np.uint32(16)))
