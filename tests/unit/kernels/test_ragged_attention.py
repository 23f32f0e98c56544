"""Attention in short sequences against its plain reference."""

import pytest
import torch
from torch import Tensor

from hyperfact.errors import DataError
from hyperfact.kernels import reference
from hyperfact.kernels.ragged_attention import Layout, ragged_attention

HEADS, WIDTH, KINDS = 2, 5, 3


def inputs(
    sizes: list[tuple[int, int]], kinds: int, *, noisy: bool
) -> tuple[tuple[Tensor, Tensor, Tensor], Layout, Tensor | None]:
    generator = torch.Generator().manual_seed(len(sizes) + kinds)
    tokens = sum(count * length for count, length in sizes)
    shapes = ((tokens, 3 * HEADS * WIDTH), (kinds, WIDTH), (kinds, WIDTH))
    tensors = tuple(
        torch.randn(shape, generator=generator).double().requires_grad_() for shape in shapes
    )
    labels = [torch.randint(kinds + 1, (n, n), generator=generator) for _, n in sizes]
    layout = Layout(sizes, labels if kinds else [])
    noise = torch.rand(layout.weights(HEADS), generator=generator).double() if noisy else None
    return tensors, layout, noise  # type: ignore[return-value]  # a tuple of three


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("kinds", [0, KINDS])
@pytest.mark.parametrize("sizes", [[(1, 1)], [(2, 1), (70, 3), (5, 7)], [(1, 40)]])
def test_kernel_is_reference(sizes: list[tuple[int, int]], kinds: int, noisy: bool) -> None:
    tensors, layout, noise = inputs(sizes, kinds, noisy=noisy)
    found = ragged_attention(*tensors, layout=layout, heads=HEADS, noise=noise)
    expected = reference.ragged_attention(*tensors, layout, noise)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)
    slope = torch.randn(found.shape, generator=torch.Generator().manual_seed(1)).double()
    wanted = tensors if kinds else tensors[:1]
    mine, theirs = (torch.autograd.grad(y, wanted, slope) for y in (found, expected))
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


def test_gradients_are_true() -> None:
    tensors, layout, noise = inputs([(2, 2), (1, 3)], KINDS, noisy=True)
    call = lambda *t: ragged_attention(*t, layout=layout, heads=HEADS, noise=noise)  # noqa: E731 - short
    assert torch.autograd.gradcheck(call, tensors)


def test_threads_do_not_matter_and_float32_is_near() -> None:
    tensors, layout, noise = inputs([(150, 3), (90, 9)], KINDS, noisy=True)
    exact = ragged_attention(*tensors, layout=layout, heads=HEADS, noise=noise)
    assert noise is not None
    found = []
    before = torch.get_num_threads()
    for threads in (1, 2):
        torch.set_num_threads(threads)
        leaves = [t.detach().float().requires_grad_() for t in tensors]
        out = ragged_attention(*leaves, layout=layout, heads=HEADS, noise=noise.float())
        torch.testing.assert_close(out.double(), exact, rtol=1e-4, atol=1e-5)
        found.append([out, *torch.autograd.grad(out, leaves, torch.ones_like(out))])
    torch.set_num_threads(before)
    assert all(torch.equal(one, two) for one, two in zip(*found, strict=True))


def test_what_does_not_fit_is_refused() -> None:
    tensors, layout, _ = inputs([(2, 2)], KINDS, noisy=False)
    with pytest.raises(DataError, match="expected 4 tokens of 3 heads"):
        ragged_attention(*tensors, layout=layout, heads=3)
    with pytest.raises(DataError, match="expected 16 factors"):
        ragged_attention(*tensors, layout=layout, heads=HEADS, noise=torch.ones(3))
