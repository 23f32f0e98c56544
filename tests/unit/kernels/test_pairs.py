"""Kernels that walk pairs of a question and a row: values and slopes are those of the formula."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from hyperfact.kernels import (
    Boxes,
    Units,
    all_box_distances,
    all_unit_scores,
    all_window_sums,
    box_distance,
    expanded_box_distance,
    reference,
    unit_scores,
    window_sums,
)

ROWS, BATCH, SLOTS, DIM = 40, 7, 4, 10
Scores = Callable[..., Tensor]


def drawn(dtype: torch.dtype) -> tuple[Callable[..., Tensor], Tensor]:
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=dtype)

    ids = torch.randint(ROWS, (BATCH, 20), generator=generator)
    ids[0] = 3  # the same row again and again
    return normal, ids


def boxes(dtype: torch.dtype) -> tuple[list[Tensor], Tensor, list[Scores]]:
    normal, ids = drawn(dtype)
    sides = torch.cat([0.3 * normal(BATCH, SLOTS, DIM), 1 + normal(BATCH, SLOTS, DIM).abs()], -1)
    asked = torch.arange(BATCH) % 2
    mask = torch.arange(SLOTS) < torch.tensor([[2], [4], [3], [2], [4], [4], [3]])

    def known(points: Tensor, sides: Tensor) -> Boxes:
        return Boxes(points, sides, asked, mask)

    ways: list[Scores] = [
        lambda p, b, t: box_distance(known(p, b), t, ids),
        lambda p, b, t: expanded_box_distance(known(p, b), t[ids]),
        lambda p, b, t: all_box_distances(known(p, b), t),
    ]
    return [normal(BATCH, SLOTS, DIM), sides, normal(ROWS, 2 * DIM)], ids, ways


def windows(dtype: torch.dtype) -> tuple[list[Tensor], Tensor, list[Scores]]:
    normal, ids = drawn(dtype)
    ways: list[Scores] = [
        lambda s, w, t: window_sums(s, w, t, ids),
        lambda s, w, t: reference.window_sums(s[:, None], w[:, None], t[ids]),
        all_window_sums,
    ]
    return [normal(BATCH, DIM), normal(BATCH, 2, DIM), normal(ROWS, 2, DIM)], ids, ways


def units(dtype: torch.dtype) -> tuple[list[Tensor], Tensor, list[Scores]]:
    normal, ids = drawn(dtype)
    shapes = ((BATCH, 2, DIM), (BATCH, 6), (DIM,), (ROWS, 8, DIM))
    inputs = [normal(*shape) for shape in shapes]
    ways: list[Scores] = [
        lambda s, z, w, t: unit_scores(Units(s, z, w), t, ids),
        lambda s, z, w, t: reference.unit_scores(s[:, None], z[:, None], t[ids], w),
        lambda s, z, w, t: all_unit_scores(Units(s, z, w), t),
    ]
    return inputs, ids, ways


def least_units(dtype: torch.dtype) -> tuple[list[Tensor], Tensor, list[Scores]]:
    normal, ids = drawn(dtype)
    shapes = ((BATCH, 2, DIM), (DIM,), (ROWS, 2, DIM))
    inputs, none = [normal(*shape) for shape in shapes], normal(BATCH, 0)
    inputs[0][0, 0] = float("inf")  # a part that does not exist

    ways: list[Scores] = [
        lambda s, w, t: unit_scores(Units(s, none, w, least=True), t, ids),
        lambda s, w, t: reference.unit_scores(s[:, None], none[:, None], t[ids], w, least=True),
        lambda s, w, t: all_unit_scores(Units(s, none, w, least=True), t),
    ]
    return inputs, ids, ways


FAMILY = pytest.mark.parametrize("family", [boxes, windows, units, least_units])
Family = Callable[[torch.dtype], tuple[list[Tensor], Tensor, list[Scores]]]


@FAMILY
@pytest.mark.parametrize(("dtype", "near"), [(torch.float32, 2e-5), (torch.float64, 1e-12)])
def test_values_and_slopes_are_those_of_the_formula(
    family: Family, dtype: torch.dtype, near: float
) -> None:
    inputs, ids, (ours, plain, everyone) = family(dtype)
    weights = torch.randn(ids.shape, generator=torch.Generator().manual_seed(1), dtype=dtype)
    found = []
    for way in (ours, plain):
        leaves = [tensor.clone().requires_grad_() for tensor in inputs]
        values = way(*leaves)
        found.append((values.detach(), *torch.autograd.grad((values * weights).sum(), leaves)))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, atol=near, rtol=near)
    torch.testing.assert_close(everyone(*inputs).gather(1, ids), found[1][0], atol=near, rtol=near)


@FAMILY
def test_the_number_of_threads_changes_no_bit(family: Family) -> None:
    inputs, _, (ours, *_) = family(torch.float32)
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            leaves = [tensor.clone().requires_grad_() for tensor in inputs]
            values = ours(*leaves)
            results.append((values.detach(), *torch.autograd.grad(values.sum(), leaves)))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))
