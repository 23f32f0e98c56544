"""What differentiable operations on edges share: their checks, and when a kernel serves them."""

from typing import Any

import torch
from torch import Tensor

from hyperfact.errors import DataError
from hyperfact.kernels.edges import EdgeIndex


def has_kernels(tensor: Tensor) -> bool:
    """Whether compiled kernels take this tensor; the plain PyTorch reference takes the others."""
    return tensor.device.type == "cpu" and tensor.dtype in (torch.float32, torch.float64)


def apply(function: type[torch.autograd.Function], *arguments: Any) -> Tensor:
    """Call a custom function; torch gives `apply` no type."""
    result: Tensor = function.apply(*arguments)  # type: ignore[no-untyped-call]
    return result


def check_graph(
    x: Tensor, parameters: Tensor, *, edges: EdgeIndex, weights: Tensor, rows: int
) -> None:
    """Refuse nodes, relations, weights or rows that are not those of the graph: kernels trust them.

    Raises:
        DataError: Shapes, dtypes or devices that do not fit.
    """
    if x.ndim != 2 or x.shape[0] != edges.num_nodes:
        raise DataError(f"x must be ({edges.num_nodes}, dim), got {tuple(x.shape)}")
    if parameters.ndim < 2 or parameters.shape[0] != edges.num_relations:
        shape = tuple(parameters.shape)
        raise DataError(f"expected a row for each of {edges.num_relations} relations, got {shape}")
    if weights.shape != (len(edges),):
        raise DataError(f"weights must be ({len(edges)},), got {tuple(weights.shape)}")
    if not 0 <= rows <= edges.num_targets:
        raise DataError(f"rows must be in 0..{edges.num_targets}, got {rows}")
    if x.dtype != parameters.dtype or x.device != parameters.device:
        here, there = (f"{tensor.dtype} on {tensor.device}" for tensor in (x, parameters))
        raise DataError(f"nodes and relations must be alike, got {here} and {there}")
