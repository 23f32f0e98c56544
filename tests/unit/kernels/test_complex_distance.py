"""Distances of complex points from rows, against the plain formula."""

import pytest
import torch
from torch import Tensor

from hyperfact.kernels import all_complex_distances, complex_distance, reference


def drawn(dtype: torch.dtype) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    points = torch.randn(7, 12, generator=generator, dtype=dtype)
    table = torch.randn(150, 12, generator=generator, dtype=dtype)
    ids = torch.randint(150, (7, 20), generator=generator)
    ids[0] = 3  # the same row again and again
    table[3] = points[0]  # at distance zero
    return points, table, ids


@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 1e-5), (torch.float64, 1e-12)])
def test_values_and_slopes_are_those_of_the_formula(dtype: torch.dtype, near: float) -> None:
    points, table, ids = drawn(dtype)
    weights = torch.randn(ids.shape, generator=torch.Generator().manual_seed(1), dtype=dtype)
    found = []
    for distance in (
        complex_distance,
        lambda p, t, i: reference.complex_distance(p[:, None], t[i]),
    ):
        p, t = points.clone().requires_grad_(), table.clone().requires_grad_()
        values = distance(p, t, ids)
        torch.autograd.backward((values * weights).sum())
        assert p.grad is not None
        assert t.grad is not None
        found.append((values.detach(), p.grad, t.grad))
    for ours, plain in zip(*found, strict=True):
        torch.testing.assert_close(ours, plain, atol=near, rtol=near)
    everyone = all_complex_distances(points, table)
    torch.testing.assert_close(everyone.gather(1, ids), found[1][0], atol=near, rtol=near)


def test_the_number_of_threads_changes_no_bit() -> None:
    points, table, ids = drawn(torch.float32)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            p, t = points.clone().requires_grad_(), table.clone().requires_grad_()
            values = complex_distance(p, t, ids)
            torch.autograd.backward(values.sum())
            results.append((values.detach(), p.grad, t.grad))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
