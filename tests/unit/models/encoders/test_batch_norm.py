"""Our batch normalisation is PyTorch's, but for sums whose order no number of threads changes."""

import pytest
import torch
from torch import Tensor, nn

from hyperfact.models.encoders.batch_norm import batch_norm
from hyperfact.models.graph_pass import GraphPass

ROWS, DIM = 37, 6


@pytest.fixture(autouse=True)
def _threads() -> object:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def norm_of(*, affine: bool, dim: int = DIM) -> nn.BatchNorm1d:
    norm = nn.BatchNorm1d(dim, affine=affine).double()
    if affine:
        nn.init.normal_(norm.weight, generator=torch.Generator().manual_seed(1))
        nn.init.normal_(norm.bias, generator=torch.Generator().manual_seed(2))
    return norm


def passed(norm: nn.BatchNorm1d, x: Tensor, *, ours: bool) -> list[Tensor]:
    """Two steps and an evaluation: outputs, gradients, running figures."""
    found = []
    for row in range(2):
        leaf = (x + row * x.square()).requires_grad_()
        out = batch_norm(norm, leaf, GraphPass()) if ours else norm(leaf)
        norm.zero_grad()
        (out * torch.arange(out.numel(), dtype=out.dtype).view_as(out).cos()).sum().backward()
        assert leaf.grad is not None
        found += [
            out.detach(),
            leaf.grad,
            *(p.grad for p in norm.parameters() if p.grad is not None),
        ]
    norm.eval()
    found.append((batch_norm(norm, x, GraphPass()) if ours else norm(x)).detach())
    return [*found, *norm.state_dict().values()]


@pytest.mark.parametrize("affine", [False, True])
def test_it_is_what_pytorch_computes(affine: bool) -> None:
    x = 3 + torch.randn(ROWS, DIM, generator=torch.Generator().manual_seed(0)).double()
    mine, theirs = (passed(norm_of(affine=affine), x, ours=ours) for ours in (True, False))
    assert len(mine) == len(theirs)
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


def test_coordinates_that_are_left_out_stay_as_they_are() -> None:
    norm, kept = norm_of(affine=True), torch.tensor([0, 2, 5])
    x = torch.randn(ROWS, DIM, generator=torch.Generator().manual_seed(0)).double()
    whole = norm_of(affine=True)
    expected = batch_norm(whole, x, GraphPass())
    found = batch_norm(norm, x[:, kept], GraphPass(coordinates=kept))
    torch.testing.assert_close(found, expected[:, kept])
    assert norm.running_mean is not None
    assert whole.running_mean is not None
    torch.testing.assert_close(norm.running_mean[kept], whole.running_mean[kept])
    assert norm.running_mean[[1, 3, 4]].tolist() == [0.0] * 3


@pytest.mark.parametrize(("rows", "dim"), [(3388, 400), (9001, 64), (5000, 7)])
def test_bits_do_not_depend_on_the_number_of_threads(rows: int, dim: int) -> None:
    x = torch.randn(rows, dim, generator=torch.Generator().manual_seed(0))
    found = []
    for threads in (1, 2, 3, 5):
        torch.set_num_threads(threads)
        found.append(passed(norm_of(affine=True, dim=dim).float(), x, ours=True))
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))
