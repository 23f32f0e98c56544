"""Every kernel in plain PyTorch: the oracle of the tests, and the path of tensors on other devices.

Written to be read: each function materialises whatever is convenient, a row per edge included.
"""

import torch
from torch import Tensor

from hyperfact.kernels.graph import EdgeIndex


def compose(x: Tensor, z: Tensor, composition: str) -> Tensor:  # (…, dim)
    """phi(x, z) for matching rows."""
    if composition == "sub":
        return x - z
    if composition == "mult":
        return x * z
    if composition == "corr":
        spectrum = torch.fft.rfft(x).conj() * torch.fft.rfft(z)
        correlation: Tensor = torch.fft.irfft(spectrum, n=x.shape[-1])
        return correlation
    (a, b), (c, d) = x.chunk(2, dim=-1), z.chunk(2, dim=-1)
    return torch.cat([a * c - b * d, a * d + b * c], dim=-1)


def compose_aggregate(
    x: Tensor, z: Tensor, *, edges: EdgeIndex, weights: Tensor, composition: str, rows: int
) -> Tensor:  # (rows, dim)
    """See `compose.compose_aggregate`."""
    source, relation, target = edges.columns(x.device)
    messages = compose(x.index_select(0, source), z.index_select(0, relation), composition)
    messages = messages * weights[:, None]  # (edges, dim)
    return x.new_zeros(edges.num_nodes, x.shape[1]).index_add(0, target, messages)[:rows]


def aggregate_weighted(
    x: Tensor, coefficients: Tensor, *, edges: EdgeIndex, weights: Tensor, rows: int
) -> Tensor:  # (rows, bases, dim)
    """See `basis.aggregate_weighted`."""
    source, relation, target = edges.columns(x.device)
    scales = weights[:, None] * coefficients.index_select(0, relation)  # (edges, bases)
    messages = scales[:, :, None] * x.index_select(0, source)[:, None, :]  # (edges, bases, dim)
    return x.new_zeros(edges.num_nodes, *messages.shape[1:]).index_add(0, target, messages)[:rows]


def block_aggregate(
    x: Tensor, matrices: Tensor, *, edges: EdgeIndex, weights: Tensor, rows: int
) -> Tensor:  # (rows, blocks * size_out)
    """See `blocks.block_aggregate`."""
    source, relation, target = edges.columns(x.device)
    parts = x.index_select(0, source).view(-1, *matrices.shape[1:3])  # (edges, blocks, in)
    messages = torch.einsum("ebi,ebio->ebo", parts, matrices.index_select(0, relation))
    messages = messages.flatten(1) * weights[:, None]  # (edges, blocks * size_out)
    return x.new_zeros(edges.num_nodes, messages.shape[1]).index_add(0, target, messages)[:rows]
