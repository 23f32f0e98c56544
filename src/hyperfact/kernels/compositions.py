"""Compositions phi(x, r) of a neighbour and a relation (CompGCN; rotate from StarE), a class each.

A composition says what it is on matching rows (`dense`); that alone makes it work, by the plain
PyTorch sum over edges. Where the fused kernel knows it, it also names the row operations of its sum
and of the two gradients, which have the same form: row t of y += w * op(row u of x, row r of z).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple

import torch
from torch import Tensor

from hyperfact.errors import UnknownNameError
from hyperfact.kernels.jit import Array, part_of_kernels

ADD, SUB, MULT, ROTATE, CONJUGATE = range(5)  # row operations of `add_row`


class RowOperations(NamedTuple):
    """What a kernel does with the rows of an edge (u, r, t)."""

    forward: int  # y_t += w * forward(x_u, z_r)
    back: int  # dx_u += w * back(g_t, z_r)
    negate: bool = False  # dz_r += w * back(g_t, x_u), or -w


class Composition(ABC):
    """One phi."""

    needs_even: ClassVar[bool] = False  # whether it pairs the halves of a vector
    rows: ClassVar[RowOperations | None] = None  # None: the plain sum over edges

    @abstractmethod
    def dense(self, x: Tensor, r: Tensor) -> Tensor:  # (…, dim)
        """phi(x, r) of matching rows."""

    def fold(self, r: Tensor, weight: Tensor) -> tuple[Tensor, Tensor | None]:
        """The matrix M and vector m with phi(x, r) W = x M + m for every x; by default linear.

        Args:
            r: The relation.  # (dim,)
            weight: W.  # (dim, dim_out)
        """
        unit = torch.eye(len(r), dtype=r.dtype, device=r.device)
        return self.dense(unit, r.expand_as(unit)) @ weight, None

    def blocks(self, dim: int, size: int) -> tuple[Tensor, ...]:
        """All coordinates, cut into some that do without the others: `size` of them, if it can."""
        return torch.split(torch.arange(dim), size)

    def enter(self, x: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """The tables on which the row operations work."""
        return x, z

    def leave(self, sums: Tensor, dim: int) -> Tensor:  # (rows, dim)
        """What the sums over rows mean."""
        del dim
        return sums


class Sub(Composition):
    """x - r."""

    rows = RowOperations(SUB, ADD, negate=True)

    def dense(self, x: Tensor, r: Tensor) -> Tensor:
        """Of matching rows."""
        return x - r

    def fold(self, r: Tensor, weight: Tensor) -> tuple[Tensor, Tensor | None]:
        """(x - r) W = x W - r W."""
        return weight, -(r @ weight)


class Mult(Composition):
    """x * r, coordinate by coordinate."""

    rows = RowOperations(MULT, MULT)

    def dense(self, x: Tensor, r: Tensor) -> Tensor:
        """Of matching rows."""
        return x * r


class Rotate(Composition):
    """The product of complex numbers whose parts are the halves; no unit modulus is imposed.

    [x_re r_re - x_im r_im ; x_re r_im + x_im r_re]
    """

    needs_even = True
    rows = RowOperations(ROTATE, CONJUGATE)

    def dense(self, x: Tensor, r: Tensor) -> Tensor:
        """Of matching rows."""
        (a, b), (c, d) = x.chunk(2, dim=-1), r.chunk(2, dim=-1)
        return torch.cat([a * c - b * d, a * d + b * c], dim=-1)

    def blocks(self, dim: int, size: int) -> tuple[Tensor, ...]:
        """A real part stays with its imaginary one."""
        half = dim // 2
        return tuple(
            torch.cat([k, k + half]) for k in torch.split(torch.arange(half), max(1, size // 2))
        )


class Corr(Composition):
    """The circular correlation, out_k = sum_i x_i r_(i+k mod d).

    It is conj(rfft x) * rfft r: a rotation of spectra stored as two halves. The transforms are
    torch's, and may differ in the last bits between numbers of threads.
    """

    rows = RowOperations(ROTATE, CONJUGATE)

    def dense(self, x: Tensor, r: Tensor) -> Tensor:
        """Of matching rows."""
        if not x.numel():  # which MKL's transform refuses
            return x * r
        spectrum = torch.fft.rfft(x).conj() * torch.fft.rfft(r)  # (…, dim // 2 + 1)
        product: Tensor = torch.fft.irfft(spectrum, n=x.shape[-1])
        return product

    def blocks(self, dim: int, size: int) -> tuple[Tensor, ...]:
        """One: each coordinate of the correlation needs all of both vectors."""
        del size
        return (torch.arange(dim),)

    def enter(self, x: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
        """Spectra, x conjugated."""
        x_hat, z_hat = torch.fft.rfft(x), torch.fft.rfft(z)  # (nodes, dim // 2 + 1) complex
        one = torch.cat([x_hat.real, -x_hat.imag], dim=1)
        return one, torch.cat([z_hat.real, z_hat.imag], dim=1)

    def leave(self, sums: Tensor, dim: int) -> Tensor:  # (rows, dim)
        """Back from spectra."""
        if not len(sums):  # which MKL's transform refuses
            return sums[:, :dim]
        y: Tensor = torch.fft.irfft(torch.complex(*sums.chunk(2, dim=1)), n=dim)
        return y


#: Every composition a configuration may name. Adding one: a class above, and a line here.
COMPOSITIONS: Mapping[str, Composition] = {
    "corr": Corr(),
    "mult": Mult(),
    "rotate": Rotate(),
    "sub": Sub(),
}


def composition_of(name: str) -> Composition:
    """The composition of this name.

    Raises:
        UnknownNameError: No such composition.
    """
    if name not in COMPOSITIONS:
        raise UnknownNameError("composition", name, COMPOSITIONS)
    return COMPOSITIONS[name]


@part_of_kernels
def add_row(code: int, w: float, x: Array, u: int, z: Array, r: int, y: Array, t: int) -> None:
    """Row t of y += w * op(row u of x, row r of z)."""
    if code == ADD:
        for k in range(x.shape[1]):
            y[t, k] += w * x[u, k]
    elif code == SUB:
        for k in range(x.shape[1]):
            y[t, k] += w * (x[u, k] - z[r, k])
    elif code == MULT:
        for k in range(x.shape[1]):
            y[t, k] += w * x[u, k] * z[r, k]
    else:
        _add_product(w, w if code == ROTATE else -w, x, u, z, r, y, t)


@part_of_kernels
def _add_product(w: float, v: float, x: Array, u: int, z: Array, r: int, y: Array, t: int) -> None:
    """Complex numbers in halves; v is w, or -w to conjugate z."""
    half = x.shape[1] // 2
    for k in range(half):
        real, imaginary = x[u, k], x[u, k + half]
        y[t, k] += w * real * z[r, k] - v * imaginary * z[r, k + half]
        y[t, k + half] += v * real * z[r, k + half] + w * imaginary * z[r, k]
