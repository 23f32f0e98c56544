import math

import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck

from hyperfact.errors import ConfigError, DataError
from hyperfact.kernels import (
    SoftmaxOptions,
    Targets,
    cross_entropy,
    has_fast_bfloat16,
    log_masses,
    reference,
    softmax_cross_entropy,
    softmax_loss_,
)

from .graphs import draw, leaf

OPTIONS = [SoftmaxOptions(m, e) for m in (False, True) for e in (0.0, 0.1)]
COUNTS = [1, 0, 2, 11, 3, 1]  # answers of each query; one has none, one has every entity
ENTITIES = 11


def targets(*, weighted: bool = True) -> Targets:
    generator = torch.Generator().manual_seed(3)
    answers = [torch.randperm(ENTITIES, generator=generator)[:count] for count in COUNTS]
    offsets = torch.tensor([0, *COUNTS]).cumsum(0)
    weights = torch.rand(len(COUNTS), generator=generator, dtype=torch.float64)
    return Targets(offsets, torch.cat(answers), weights if weighted else None)


def naive(logits: Tensor, goal: Targets, options: SoftmaxOptions) -> list[float]:
    losses = []
    for i, row in enumerate(logits.tolist()):
        answers = goal.answers[goal.offsets[i] : goal.offsets[i + 1]].tolist()
        loss = 0.0
        for answer in answers:
            others = set(answers) - {answer} if options.mask_others else set()
            candidates = [s for j, s in enumerate(row) if j not in others]
            top = max(candidates)
            log_mass = top + math.log(sum(math.exp(s - top) for s in candidates))
            even = sum(candidates) / len(candidates)
            wanted = (1 - options.smoothing) * row[answer] + options.smoothing * even
            loss += (log_mass - wanted) / len(answers)
        losses.append(loss * (1.0 if goal.weights is None else float(goal.weights[i])))
    return losses


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("scale", [0.0, 1.0, 300.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_and_gradients_agree_with_naive_loops_and_autograd(
    options: SoftmaxOptions, scale: float, weighted: bool
) -> None:
    goal = targets(weighted=weighted)
    logits = (draw(len(COUNTS), ENTITIES) * scale).requires_grad_()
    plain = reference.softmax_loss(logits, goal, options)
    (slope,) = torch.autograd.grad(plain.sum(), logits)
    expected = torch.tensor(naive(logits.detach(), goal, options), dtype=torch.float64)
    for dtype, tolerance in ((torch.float64, 1e-10), (torch.float32, 2e-6)):
        found = logits.detach().clone().to(dtype)
        losses = softmax_loss_(found, goal, options=options)
        atol = tolerance * max(1.0, scale)
        torch.testing.assert_close(losses.double(), expected, rtol=tolerance, atol=atol)
        torch.testing.assert_close(found.double(), slope, rtol=tolerance, atol=tolerance * 10)
    torch.testing.assert_close(plain.detach(), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("options", OPTIONS)
def test_bfloat16_is_the_rounded_float32(options: SoftmaxOptions) -> None:
    goal = targets()
    half = draw(len(COUNTS), ENTITIES).bfloat16()
    full = half.float()
    losses = softmax_loss_(half, goal, options=options)
    assert torch.equal(losses, softmax_loss_(full, goal, options=options))
    assert torch.equal(half, full.bfloat16())


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("bias", [False, True])
def test_gradients_of_queries_entities_and_bias(
    options: SoftmaxOptions, bias: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_entropy, "_BLOCK_BYTES", 4 * ENTITIES * 8)  # blocks of 4 and 2
    monkeypatch.setattr(cross_entropy, "_COLUMNS", ENTITIES // 2 + 1)
    inputs = [leaf(len(COUNTS), 4), leaf(ENTITIES, 4, seed=1)]
    inputs += [leaf(ENTITIES, seed=2)] if bias else []

    def loss(queries: Tensor, entities: Tensor, bias: Tensor | None = None) -> Tensor:
        return softmax_cross_entropy(
            queries, entities, targets=targets(), bias=bias, options=options
        )

    assert gradcheck(loss, inputs, eps=1e-6, atol=1e-5, rtol=1e-3)
    plain = reference.softmax_cross_entropy(
        inputs[0], inputs[1], targets(), inputs[2] if bias else None, options
    )
    torch.testing.assert_close(loss(*inputs), plain.sum(), rtol=1e-10, atol=1e-10)
    tripled = torch.autograd.grad(3 * loss(*inputs), inputs)
    for one, three in zip(torch.autograd.grad(loss(*inputs), inputs), tripled, strict=True):
        torch.testing.assert_close(three, 3 * one)


def test_products_in_bfloat16_are_near() -> None:
    queries, entities, bias = leaf(6, 32), leaf(ENTITIES, 32, seed=1), leaf(ENTITIES, seed=2)
    inputs = [tensor.detach().float().requires_grad_() for tensor in (queries, entities, bias)]
    results = []
    for dtype in (None, torch.bfloat16):
        loss = softmax_cross_entropy(
            inputs[0], inputs[1], targets=targets(), bias=inputs[2], dtype=dtype
        )
        results.append([loss, *torch.autograd.grad(loss, inputs)])
    for exact, rough in zip(*results, strict=True):
        assert rough.dtype == torch.float32
        torch.testing.assert_close(rough, exact, rtol=0.05, atol=0.05)


def test_no_gradient_is_computed_where_none_is_wanted() -> None:
    queries, entities = draw(6, 4), draw(ENTITIES, 4, seed=1)
    loss = softmax_cross_entropy(queries, entities, targets=targets())
    assert not loss.requires_grad
    entities.requires_grad_()
    loss = softmax_cross_entropy(queries, entities, targets=targets())
    assert torch.autograd.grad(loss, entities)[0].shape == (ENTITIES, 4)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_a_logit_that_is_no_number_shows_in_its_loss(options: SoftmaxOptions, bad: float) -> None:
    goal = targets(weighted=False)
    logits = draw(len(COUNTS), ENTITIES).float()
    answers = goal.answers[goal.offsets[2] : goal.offsets[3]].tolist()
    logits[2, next(j for j in range(ENTITIES) if j not in answers)] = bad
    finite = softmax_loss_(logits, goal, options=options).isfinite()
    assert finite.tolist() == [True, True, False, True, True, True]


def test_wide_rows_agree_with_log_softmax_on_any_number_of_threads() -> None:
    logits = draw(40, 3001).float() * 5
    goal = Targets(torch.arange(41), torch.arange(40) * 7)
    expected = -logits.double().log_softmax(dim=1).gather(1, goal.answers[:, None])[:, 0]
    before, results = torch.get_num_threads(), []
    try:
        for threads in (1, 2, 3):
            torch.set_num_threads(threads)
            slope = logits.clone()
            results.append((softmax_loss_(slope, goal, options=SoftmaxOptions()), slope))
    finally:
        torch.set_num_threads(before)
    torch.testing.assert_close(results[0][0].double(), expected, rtol=2e-6, atol=2e-6)
    for losses, slope in results[1:]:
        assert torch.equal(losses, results[0][0])
        assert torch.equal(slope, results[0][1])


def test_the_exponential_is_good_to_two_units_in_the_last_place() -> None:
    logits = torch.linspace(-80, 0, 20001)[None].clone()
    expected = logits.double().exp()
    softmax_loss_(
        logits, Targets(torch.tensor([0, 1]), torch.tensor([0])), options=SoftmaxOptions()
    )
    mass = float(expected.sum())
    error = (logits[0, 1:].double() * mass / expected[0, 1:] - 1).abs().max()
    assert float(error) < 4e-7  # with the rounding of the sum and of the product


def test_what_does_not_fit_is_refused() -> None:
    logits, goal = draw(6, ENTITIES), targets()
    with pytest.raises(DataError, match="ids must be in"):
        softmax_loss_(logits[:, :9].contiguous(), goal, options=OPTIONS[0])
    with pytest.raises(DataError, match="expected 6 offsets"):
        softmax_loss_(logits[:5], goal, options=OPTIONS[0])
    with pytest.raises(DataError, match="expected 6 weights"):
        softmax_loss_(logits, goal._replace(weights=torch.ones(5)), options=OPTIONS[0])
    with pytest.raises(DataError, match="contiguous"):
        softmax_loss_(logits.T, goal, options=OPTIONS[0])
    with pytest.raises(DataError, match="must be alike"):
        softmax_cross_entropy(draw(6, 4), draw(ENTITIES, 5), targets=goal)
    with pytest.raises(ConfigError, match="smoothing"):
        SoftmaxOptions(smoothing=1.0)


def test_fast_bfloat16_is_what_the_processor_says() -> None:
    capabilities = torch.cpu.get_capabilities()
    assert has_fast_bfloat16() == bool(
        capabilities.get("amx_bf16") or capabilities.get("avx512_bf16")
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_log_masses_are_those_of_pytorch_and_so_is_their_gradient(dtype: torch.dtype) -> None:
    scores = 30 * torch.randn(7, 301, generator=torch.Generator().manual_seed(0), dtype=dtype)
    scores[torch.arange(7), torch.arange(7)] = -torch.inf
    slope = torch.arange(7, dtype=dtype)
    one, two = (scores.clone().requires_grad_() for _ in range(2))
    expected, found = torch.logsumexp(one, dim=1), log_masses(two.mul(1.0))
    torch.testing.assert_close(found, expected)
    (wanted,), (got,) = (
        torch.autograd.grad(masses, leaf, slope) for masses, leaf in ((expected, one), (found, two))
    )
    torch.testing.assert_close(got, wanted)


def test_a_row_without_any_mass_has_no_gradient() -> None:
    scores = torch.tensor([[-torch.inf, -torch.inf], [0.0, -torch.inf]], requires_grad=True)
    masses = log_masses(scores.clone())
    assert masses.tolist() == [-math.inf, 0.0]
    (gradient,) = torch.autograd.grad(masses.sum(), scores)
    torch.testing.assert_close(gradient, torch.tensor([[0.0, 0.0], [1.0, 0.0]]))
