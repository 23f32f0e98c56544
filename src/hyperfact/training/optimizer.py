"""The update rule: its rate at any time, its limit, and its memory as tensors with names."""

from collections.abc import Mapping

import torch
from torch import Tensor

from hyperfact.config import OptimizerConfig
from hyperfact.models.transeq import TransEQ

_FUSED = ("cpu", "cuda", "mps")  # devices on which one pass updates all


def make_optimizer(model: TransEQ, settings: OptimizerConfig) -> torch.optim.Optimizer:
    """Adam or AdamW over all parameters, in one fused pass."""
    kind = torch.optim.AdamW if settings.name == "adamw" else torch.optim.Adam
    fused = next(model.parameters()).device.type in _FUSED
    return kind(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay, fused=fused)


def learning_rate(settings: OptimizerConfig, epochs: float) -> float:
    """The rate after so many epochs: a linear rise, then a factor for each whole epoch."""
    rise = min(1.0, epochs / settings.warmup_epochs) if settings.warmup_epochs else 1.0
    return settings.lr * rise * settings.lr_decay ** int(epochs)


def clip(model: TransEQ, limit: float) -> float:
    """The norm of the gradient, which is scaled down to the limit; 0: there is none."""
    found = {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    if model.shard is None:
        norm = torch.nn.utils.get_total_norm(found.values())
    else:
        own = [found.pop(name) for name in model.divided]
        squares = (torch.nn.utils.get_total_norm(some).square() for some in (own, found.values()))
        norm = (model.shard.sum(next(squares)) + next(squares)).sqrt()
    if limit:
        torch.nn.utils.clip_grads_with_norm_(model.parameters(), limit, norm)
    return float(norm)


def moments_of(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """What the rule remembers, by number of the parameter and name."""
    moments = optimizer.state_dict()["state"]
    return {f"{i}.{name}": t for i, own in moments.items() for name, t in own.items()}


def restore_moments(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Take up what `moments_of` gave; nothing of it is shared afterwards."""
    moments: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        index, _, name = key.partition(".")
        moments.setdefault(int(index), {})[name] = tensor.clone()
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": moments, "param_groups": groups})
