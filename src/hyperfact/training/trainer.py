"""Training: a generator of reports, one for each step; who watches may stop it.

It knows neither validation nor disk. Random numbers come from the generator that is given.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from hyperfact.config import OptimizerConfig, TrainingConfig
from hyperfact.errors import NumericalError
from hyperfact.graph.ragged import Array
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ
from hyperfact.training.averaging import Average
from hyperfact.training.objective import Objective

HideTargets = Literal["none", "batch"] | float


@dataclass(frozen=True)
class Report:
    """What one step did."""

    epoch: int  # counted from 1
    step: int  # of the epoch, counted from 1
    steps: int  # in an epoch
    items: int  # queries of the step
    loss: float  # mean over them
    lr: float
    gradient_norm: float  # before clipping

    @property
    def ends_epoch(self) -> bool:
        """Whether this was the last step of its epoch."""
        return self.step == self.steps


class Trainer:
    """The state of a training: model, optimizer, place in the epoch.

    Args:
        model: Trained in place.
        objective: What to minimise.
        training: Epochs, batch sizes.
        optimizer: Update rule and learning rate.
        hide_targets: Which facts the encoder must not see.
        generator: Source of order, dropout, negatives and hidden facts.
    """

    def __init__(
        self,
        model: TransEQ,
        objective: Objective,
        *,
        training: TrainingConfig,
        optimizer: OptimizerConfig,
        hide_targets: HideTargets = "none",
        generator: torch.Generator,
    ) -> None:
        self.model, self.objective = model, objective
        self.training, self.settings = training, optimizer
        self.hide_targets, self.generator = hide_targets, generator
        self.optimizer = make_optimizer(model, optimizer)
        self.average = Average(model, training.average) if training.average else None
        self.epoch = 0  # epochs begun
        self.step = 0  # steps done in this epoch
        self.order: Array = np.zeros(0, dtype=np.int64)  # items of the epoch, as drawn
        self.hidden: Tensor | None = None  # edges to keep in this epoch

    @property
    def steps(self) -> int:
        """Steps in an epoch."""
        return -(-len(self.objective) // self.training.batch_size)

    @property
    def rate(self) -> float:
        """The learning rate of the last step."""
        return self._rate(self.step)

    def _rate(self, step: int) -> float:
        return learning_rate(self.settings, self.epoch - 1 + (step - 1) / self.steps)

    def run(self) -> Iterator[Report]:
        """Train from where the state is, yielding after each step."""
        while self.epoch < self.training.epochs or self.step < self.steps:
            if not self.epoch or self.step == self.steps:
                self._begin_epoch()
            yield self._step(self.step + 1)

    def _begin_epoch(self) -> None:
        self.epoch, self.step = self.epoch + 1, 0
        self.order = torch.randperm(len(self.objective), generator=self.generator).numpy()
        if isinstance(self.hide_targets, float):
            facts = len(self.objective.graph)
            share = round(self.hide_targets * facts)
            rows = torch.randperm(facts, generator=self.generator)[:share].numpy()
            self.hidden = self.model.keep_without(rows)

    def _step(self, step: int) -> Report:
        size = self.training.batch_size
        items = self.order[(step - 1) * size : step * size]
        self.model.train()
        rate = self._rate(step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        keep = self.hidden
        if self.hide_targets == "batch":
            keep = self.model.keep_without(self.objective.facts_of(items))
        loss = accumulate(
            self.model,
            self.objective,
            items,
            micro_batch=self.training.micro_batch,
            keep=keep,
            generator=self.generator,
        )
        norm = self._clip()
        report = Report(self.epoch, step, self.steps, len(items), loss, rate, norm)
        if not (np.isfinite(loss) and np.isfinite(norm)):
            raise NumericalError(
                f"epoch {self.epoch}, step {step}: the loss is {loss}, the gradient norm {norm}; "
                "a smaller optimizer.lr or optimizer.clip_norm may help"
            )
        self.optimizer.step()
        if self.average is not None:
            self.average.update()
        self.step = step
        return report

    def averaged(self) -> AbstractContextManager[None]:
        """Meanwhile the model has the weights that are to be judged and kept."""
        return nullcontext() if self.average is None else self.average.in_model()

    def state(self) -> tuple[dict[str, int], dict[str, Tensor]]:
        """All that decides how training goes on: numbers, and tensors that training changes."""
        tensors = {f"model.{name}": t for name, t in self.model.state_dict().items()}
        for index, moments in self.optimizer.state_dict()["state"].items():
            tensors |= {f"optimizer.{index}.{name}": t for name, t in moments.items()}
        tensors["generator"] = self.generator.get_state()
        tensors["order"] = torch.from_numpy(self.order)
        if self.hidden is not None:
            tensors["hidden"] = self.hidden
        numbers = {"epoch": self.epoch, "step": self.step}
        if self.average is not None:
            numbers["averaged"] = self.average.steps
            tensors |= {f"average.{name}": t for name, t in self.average.mean.items()}
        return numbers, tensors

    def restore(self, numbers: Mapping[str, int], tensors: Mapping[str, Tensor]) -> None:
        """Take up a state; nothing of it is shared afterwards."""
        self.epoch, self.step = numbers["epoch"], numbers["step"]
        self.model.load_state_dict(under("model.", tensors))
        moments: dict[int, dict[str, Tensor]] = {}
        for name, tensor in under("optimizer.", tensors).items():
            index, _, moment = name.partition(".")
            moments.setdefault(int(index), {})[moment] = tensor.clone()
        groups = self.optimizer.state_dict()["param_groups"]
        self.optimizer.load_state_dict({"state": moments, "param_groups": groups})
        self.generator.set_state(tensors["generator"])
        self.order = tensors["order"].clone().numpy()
        self.hidden = tensors["hidden"].clone() if "hidden" in tensors else None
        if self.average is not None:
            self.average.restore(under("average.", tensors), numbers["averaged"])

    def _clip(self) -> float:
        """The norm of the gradient, which is scaled down to the limit if there is one."""
        gradients = [p.grad for p in self.model.parameters() if p.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients)
        if self.settings.clip_norm:
            torch.nn.utils.clip_grads_with_norm_(
                self.model.parameters(), self.settings.clip_norm, norm
            )
        return float(norm)


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors whose name begins so, by the rest of their name."""
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


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

    The decoder runs in micro-batches against a detached copy of the representations, whose
    gradients add up; then the encoder's backward runs once. This is exact, and memory does not
    depend on the number of items.
    """
    made = model.encode(keep=keep, generator=generator).tensors()
    leaves = {name: t.detach() for name, t in made.items()}
    for leaf in leaves.values():
        leaf.requires_grad_(leaf.is_floating_point())
    z = Representations.of(leaves)
    arity = objective.graph.arity[objective.queries.fact[items]]
    items = items[np.argsort(arity, kind="stable")]  # less padding
    total = 0.0
    for start in range(0, len(items), micro_batch):
        part = items[start : start + micro_batch]
        loss = objective.loss(model, part, z, generator) / len(items)
        loss.backward()  # type: ignore[no-untyped-call]
        total += float(loss.detach())
    outputs = [(t, leaves[name].grad) for name, t in made.items() if leaves[name].grad is not None]
    torch.autograd.backward([t for t, _ in outputs], [g for _, g in outputs])
    return total


def learning_rate(settings: OptimizerConfig, epochs: float) -> float:
    """The rate after so many epochs: a linear rise, then a factor for each whole epoch."""
    rise = min(1.0, epochs / settings.warmup_epochs) if settings.warmup_epochs else 1.0
    return settings.lr * rise * settings.lr_decay ** int(epochs)


def make_optimizer(model: TransEQ, settings: OptimizerConfig) -> torch.optim.Optimizer:
    """Adam or AdamW over all parameters, in one fused pass."""
    kind = torch.optim.AdamW if settings.name == "adamw" else torch.optim.Adam
    return kind(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay, fused=True)


@dataclass
class EarlyStopping:
    """Stop after `patience` looks without a better score; 0: never."""

    patience: int
    best: float = float("-inf")
    since: int = 0

    def update(self, score: float) -> bool:
        """Take note of a score; whether it is the best so far."""
        better = score > self.best
        self.best, self.since = (score, 0) if better else (self.best, self.since + 1)
        return better

    @property
    def stop(self) -> bool:
        """Whether it is time to stop."""
        return bool(self.patience) and self.since >= self.patience
