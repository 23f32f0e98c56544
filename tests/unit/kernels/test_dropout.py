import pytest
import torch
from torch.autograd import gradcheck

from hyperfact.errors import ConfigError
from hyperfact.kernels import dropout
from hyperfact.kernels.dropout import keep_mask, stream_key

from .graphs import draw, leaf


@pytest.mark.parametrize("p", [0.1, 0.5, 0.9])
def test_elements_are_dropped_at_the_rate_asked_for_and_the_rest_scaled(p: float) -> None:
    x = draw(1000, 203).abs() + 1
    y = dropout(x, p, seed=3, step=5)
    kept = y != 0
    spread = (p * (1 - p) / x.numel()) ** 0.5
    assert abs(float(kept.double().mean()) - (1 - p)) < 4 * spread
    torch.testing.assert_close(y[kept], x[kept] / (1 - p))


def test_neighbours_and_streams_are_independent() -> None:
    count = 2**20

    def signs(seed: int, step: int) -> torch.Tensor:
        return keep_mask(count, 0.5, stream_key(seed, step)).double() * 2 - 1

    one = signs(0, 0)
    for other in (signs(0, 1), signs(1, 0), *(one.roll(lag) for lag in (1, 2, 8, 200, 1024))):
        assert abs(float((one * other).mean())) < 4.5 * count**-0.5


def test_the_mask_is_a_function_of_seed_step_and_position() -> None:
    x = torch.ones(50, 41)
    y = dropout(x, 0.3, seed=1, step=2)
    assert torch.equal(y, dropout(x, 0.3, seed=1, step=2))
    assert torch.equal(y.flatten()[:99], dropout(torch.ones(99), 0.3, seed=1, step=2))
    assert torch.equal(y != 0, dropout(x.double(), 0.3, seed=1, step=2) != 0)
    assert not torch.equal(y, dropout(x, 0.3, seed=1, step=3))
    assert not torch.equal(y, dropout(x, 0.3, seed=2, step=2))


def test_the_mask_never_changes_between_releases() -> None:
    kept = keep_mask(16, 0.5, stream_key(0, 0)).int().tolist()
    assert kept == [0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 1]


def test_same_bits_on_any_number_of_threads() -> None:
    x, before, results = draw(300, 77).float(), torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            results.append(dropout(x, 0.4, seed=1, step=1))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


def test_gradients() -> None:
    assert gradcheck(
        lambda x: dropout(x, 0.4, seed=1, step=2), leaf(9, 5), eps=1e-6, atol=1e-5, rtol=1e-3
    )


def test_backward_uses_the_mask_of_forward() -> None:
    x = torch.ones(64, 33, requires_grad=True)
    y = dropout(x, 0.4, seed=1, step=2)
    (slope,) = torch.autograd.grad(y, x, torch.ones_like(y))
    assert torch.equal(slope, y.detach())


def test_other_dtypes_take_the_plain_path_with_the_same_mask() -> None:
    x = torch.ones(20, 30)
    half = dropout(x.bfloat16(), 0.25, seed=4, step=1)
    assert half.dtype == torch.bfloat16
    assert torch.equal(half != 0, dropout(x, 0.25, seed=4, step=1) != 0)


def test_views_and_empty_tensors() -> None:
    x = draw(6, 8)[:, ::2]
    torch.testing.assert_close(
        dropout(x, 0.5, seed=1, step=1), dropout(x.clone(), 0.5, seed=1, step=1)
    )
    assert dropout(torch.empty(0, 3), 0.5, seed=1, step=1).shape == (0, 3)
    assert dropout(x, 0.0, seed=1, step=1) is x


@pytest.mark.parametrize("p", [-0.1, 1.0, 2.0])
def test_an_impossible_probability_is_refused(p: float) -> None:
    with pytest.raises(ConfigError, match="must be in"):
        dropout(torch.ones(3), p, seed=0, step=0)
