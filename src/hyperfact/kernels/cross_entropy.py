"""Softmax cross-entropy of queries against every entity, without a matrix of all logits.

Logits exist for a block of queries only; there the gradient takes their place and is multiplied
back at once, so that the backward pass has nothing left to do but to scale.
"""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from hyperfact.errors import DataError
from hyperfact.kernels import reference
from hyperfact.kernels.added_scores import add_to, gather_from
from hyperfact.kernels.buffers import empty_aligned
from hyperfact.kernels.dispatch import apply, has_kernels
from hyperfact.kernels.divided_softmax import divided_softmax_loss_
from hyperfact.kernels.softmax import SoftmaxOptions, Targets, softmax_loss_
from hyperfact.kernels.sparse_rows import AddedScores

_BLOCK_BYTES = 128 * 2**20  # of logits: products of many rows are faster by a fifth
_COLUMNS = 2048  # of logits at a time in float32: faster by a third than all in one product


def softmax_cross_entropy(
    queries: Tensor,  # (batch, dim)
    entities: Tensor,  # (entities, dim)
    *,
    targets: Targets,
    bias: Tensor | None = None,  # (entities,)
    added: AddedScores | None = None,
    options: SoftmaxOptions | None = None,
    dtype: torch.dtype | None = None,
) -> Tensor:  # ()
    """Sum the losses of all queries, where `queries @ entities.T + bias` are the logits.

    Args:
        queries: A vector for each query.
        entities: A vector for each candidate.
        targets: The answers, and the weight of each query.
        bias: A number for each candidate.
        added: Sparse scores that come on top.
        options: How a query is judged.
        dtype: Of the products and logits, torch.bfloat16 to halve them; sums stay in that of the
            queries, which is the default.

    Raises:
        DataError: Shapes or dtypes that do not fit.
    """
    options = options or SoftmaxOptions()
    if queries.dtype != entities.dtype or queries.shape[1:] != entities.shape[1:]:
        here, there = (f"{t.dtype} {tuple(t.shape)}" for t in (queries, entities))
        raise DataError(f"queries and entities must be alike, got {here} and {there}")
    targets.check(len(queries), len(entities) if options.part is None else options.part.candidates)
    if queries.device.type == "cpu" and not has_kernels(queries):
        losses = reference.softmax_cross_entropy(queries, entities, targets, bias, options, added)
        return losses.sum()
    weights = None if added is None else added.weights
    task = _Task(targets, options, added, dtype or queries.dtype)
    return apply(_CrossEntropy, queries, entities, bias, weights, task)


def scores_cross_entropy(
    scores: Tensor,  # (batch, candidates)
    targets: Targets,
    options: SoftmaxOptions,
) -> Tensor:  # ()
    """The same sum where the scores exist already, of all candidates or of a part of them."""
    if options.part is None and not has_kernels(scores):
        return reference.softmax_loss(scores, targets, options).sum()
    return apply(_OfScores, scores, targets, options)


def has_fast_bfloat16() -> bool:
    """Whether this CPU multiplies bfloat16 in hardware; without that it is slower than float32."""
    capabilities = torch.cpu.get_capabilities()
    return any(capabilities.get(name, False) for name in ("amx_bf16", "avx512_bf16"))


class _Task(NamedTuple):
    """What is computed beside products."""

    targets: Targets
    options: SoftmaxOptions
    added: AddedScores | None
    dtype: torch.dtype  # of products and logits


class _Gradients(NamedTuple):
    """Sums over blocks, in the order of the inputs; None where no gradient is wanted."""

    queries: Tensor | None
    entities: Tensor | None
    bias: Tensor | None
    weights: Tensor | None  # of added scores


class _CrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        entities: Tensor,
        bias: Tensor | None,
        weights: Tensor | None,
        task: _Task,
    ) -> Tensor:
        gradients = _Gradients(
            *(
                _room_for(tensor) if tensor is not None and needed else None
                for tensor, needed in zip(
                    (queries, entities, bias, weights), ctx.needs_input_grad, strict=False
                )
            )
        )
        inputs = (queries.detach(), entities.detach(), None if bias is None else bias.detach())
        loss = _blocks(inputs, task, gradients)
        ctx.save_for_backward(*gradients)
        return loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        gradients = (None if g is None else g * scale for g in ctx.saved_tensors)
        return (*gradients, None)


def _room_for(tensor: Tensor) -> Tensor:
    on_cpu = tensor.device.type == "cpu"
    return empty_aligned(tensor, *tensor.shape) if on_cpu else torch.empty_like(tensor)


class _OfScores(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, scores: Tensor, targets: Targets, options: SoftmaxOptions) -> Tensor:
        slope = scores.detach().clone(memory_format=torch.contiguous_format)
        judge = softmax_loss_ if options.part is None else divided_softmax_loss_
        losses = judge(slope, targets, options=options)
        ctx.save_for_backward(slope)
        return losses.sum()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, scale: Tensor) -> tuple[Tensor | None, ...]:
        return ctx.saved_tensors[0] * scale, None, None


def _blocks(
    inputs: tuple[Tensor, Tensor, Tensor | None],
    task: _Task,
    gradients: _Gradients,
) -> Tensor:
    queries, entities, bias = inputs
    for total in (gradients.entities, gradients.bias):
        if total is not None:
            total.zero_()
    left, right, options = queries.to(task.dtype), entities.to(task.dtype), task.options
    widest = len(entities) if options.part is None else options.part.widest  # as in other parts
    size = max(1, _BLOCK_BYTES // max(1, widest * left.element_size()))
    size = min(size, max(1, len(queries)))
    buffer = left.new_empty(size, len(entities))
    losses = []
    has_kernel = options.part is None and left.device.type == "cpu"
    judge = softmax_loss_ if has_kernel else divided_softmax_loss_
    for start in range(0, len(queries), size):
        part = slice(start, min(start + size, len(queries)))
        logits = _products(left[part], right, out=buffer[: part.stop - start])
        if bias is not None:
            logits += bias.to(logits.dtype)  # a sum of two types is slow
        if task.added is not None:
            add_to(logits, task.added, first=start)
        needs_gradient = any(total is not None for total in gradients)
        targets = task.targets.rows(part)
        losses.append(judge(logits, targets, options=options, gradient=needs_gradient))
        if task.added is not None and gradients.weights is not None:
            gather_from(logits, task.added, gradients.weights, first=start)
        _multiply_back(logits, left[part], right, gradients, part)
    return torch.cat(losses).sum().to(queries.dtype) if losses else queries.new_zeros(())


def _products(left: Tensor, right: Tensor, *, out: Tensor) -> Tensor:
    """Every row of one with every row of the other."""
    whole = left.dtype == torch.bfloat16 or left.device.type != "cpu"
    size = max(1, len(right)) if whole else _COLUMNS
    for start in range(0, len(right), size):
        columns = slice(start, start + size)
        torch.mm(left, right[columns].T, out=out[:, columns])
    return out


def _multiply_back(
    slope: Tensor, left: Tensor, right: Tensor, gradients: _Gradients, part: slice
) -> None:
    """Pass the gradient of a block of logits on to what they were made of."""
    if gradients.queries is not None:
        gradients.queries[part] = torch.mm(slope, right)
    if gradients.entities is not None:
        if slope.dtype == gradients.entities.dtype:
            gradients.entities.addmm_(slope.T, left)
        else:  # products in bfloat16, their sum over blocks in full
            gradients.entities.add_(torch.mm(slope.T, left))
    if gradients.bias is not None:
        gradients.bias.add_(slope.sum(dim=0, dtype=gradients.bias.dtype))
