"""Compositions phi(x, r) of a neighbour and a relation (CompGCN; rotate from StarE).

Sums of compositions over edges are fused in `hyperfact.kernels.compose`; here is the dense side:
the self-loop, for which phi(x, r) W = x A W + b W needs no row per node beyond the product.
"""

from typing import Literal

import torch
from torch import Tensor

Composition = Literal["sub", "mult", "corr", "rotate"]


def compose(x: Tensor, r: Tensor, composition: Composition) -> Tensor:  # (…, dim)
    """phi(x, r) of matching rows.

    sub: x - r. mult: x * r. corr: out_k = sum_i x_i r_(i+k mod d). rotate: the halves are real and
    imaginary parts, out = [x_re r_re - x_im r_im ; x_re r_im + x_im r_re].
    """
    if composition == "sub":
        return x - r
    if composition == "mult":
        return x * r
    if composition == "corr":
        spectrum = torch.fft.rfft(x).conj() * torch.fft.rfft(r)  # (…, dim // 2 + 1)
        product: Tensor = torch.fft.irfft(spectrum, n=x.shape[-1])
        return product
    (a, b), (c, d) = x.chunk(2, dim=-1), r.chunk(2, dim=-1)
    return torch.cat([a * c - b * d, a * d + b * c], dim=-1)


def fold(r: Tensor, weight: Tensor, composition: Composition) -> tuple[Tensor, Tensor | None]:
    """The matrix M and vector m with phi(x, r) W = x M + m for every x.

    Args:
        r: The relation.  # (dim,)
        weight: W.  # (dim, dim_out)
        composition: The name of phi.
    """
    if composition == "sub":
        return weight, -(r @ weight)
    unit = torch.eye(len(r), dtype=r.dtype, device=r.device)
    return compose(unit, r.expand_as(unit), composition) @ weight, None
