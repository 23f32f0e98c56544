"""Fuzzy logic: what `and` and `or` make of two truth values between 0 and 1; `not t` is 1 - t."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

Combine = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class TNorm:
    """A t-norm with its dual: never more than the lesser truth, never less than the greater."""

    both: Combine
    either: Combine


def _either(a: Tensor, b: Tensor) -> Tensor:
    return a + b - a * b


#: Every logic a query may be answered in.
TNORMS: Mapping[str, TNorm] = {
    "product": TNorm(torch.mul, _either),
    "godel": TNorm(torch.minimum, torch.maximum),
}
