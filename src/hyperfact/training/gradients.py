"""The gradient of a batch, in pieces that fit."""

import numpy as np
import torch
from torch import Tensor

from hyperfact.graph.ragged import Array
from hyperfact.models.nearby import nearby
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ
from hyperfact.training.objective import Objective


def accumulate(
    model: TransEQ,
    objective: Objective,
    items: Array,
    *,
    micro_batch: int,
    keep: Tensor | None,
    generator: torch.Generator | None,
) -> float:
    """Add the gradient of the mean loss of these items; returns the loss.

    Where the model is divided, both are this process's share.

    The decoder runs in micro-batches against a detached copy of the representations, whose
    gradients add up; then the encoder's backward runs once. This is exact, and memory does not
    depend on the number of items.
    """
    arity = objective.graph.arity[objective.queries.fact[items]]
    items = items[np.argsort(arity, kind="stable")]  # less padding
    if model.sample:
        return _nearby(model, objective, items, micro_batch, keep, generator)
    made = model.encode(keep=keep, generator=generator).tensors()
    leaves = {name: t.detach() for name, t in made.items()}
    for name, leaf in leaves.items():
        leaf.requires_grad_(made[name].requires_grad)
    z = Representations.of(leaves)
    total = 0.0
    for start in range(0, len(items), micro_batch):
        part = items[start : start + micro_batch]
        loss = objective.loss(model, part, z, generator) / len(items)
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach())
    outputs = [(t, leaves[name].grad) for name, t in made.items() if leaves[name].grad is not None]
    torch.autograd.backward([t for t, _ in outputs], [g for _, g in outputs])
    return total


def _nearby(
    model: TransEQ,
    objective: Objective,
    items: Array,
    micro_batch: int,
    keep: Tensor | None,
    generator: torch.Generator | None,
) -> float:
    """The same where each micro-batch has a neighbourhood of its own, and a pass over it."""
    total = 0.0
    for start in range(0, len(items), micro_batch):
        z = nearby(model, keep=keep, generator=generator)
        part = items[start : start + micro_batch]
        loss = objective.loss(model, part, z, generator) / len(items)
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach())
    return total
