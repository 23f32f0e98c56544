"""Training as one state, which can be stored after any event and taken up again.

`Trainer.run` is the whole of it: begin an epoch, its steps, validate, keep the best, stop. It knows
neither facts nor disk. Random numbers come from the generator that is given.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

from hyperfact.config import OptimizerConfig, TrainingConfig
from hyperfact.errors import NumericalError
from hyperfact.graph.ragged import Array
from hyperfact.models.transeq import TransEQ
from hyperfact.system.clock import seconds
from hyperfact.training.averaging import Average, snapshot
from hyperfact.training.compiled import CompiledDecoder
from hyperfact.training.distributed import sum_gradients
from hyperfact.training.events import Epoch, Event, Hold, Report
from hyperfact.training.gradients import accumulate
from hyperfact.training.objective import Objective
from hyperfact.training.optimizer import (
    clip,
    learning_rate,
    make_optimizer,
    moments_of,
    restore_moments,
)

HideTargets = Literal["none", "batch"] | float


@dataclass
class Sums:
    """Over the steps of an epoch that is not finished."""

    loss: float = 0.0
    seconds: float = 0.0
    items: int = 0


class Trainer:
    """The state of a training: model, optimizer, place in the epoch, the best so far, the log.

    Args:
        model: Trained in place.
        objective: What to minimise.
        training: Epochs, batch sizes, when to validate and when to give up.
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
        self.compiled = CompiledDecoder.of(model.decoder) if training.compile else None
        self.epoch = 0  # epochs begun
        self.step = 0  # steps done in this epoch
        self.sums = Sums()  # of them
        self.order: Array = np.zeros(0, dtype=np.int64)  # of the items of the epoch, as drawn
        self.hidden: Tensor | None = None  # edges to keep in this epoch
        self.log: list[Epoch] = []  # epochs finished
        self.best: dict[str, Tensor] = {}  # the weights of the best of them; empty: none
        self._in_step = False
        self._is_warm = False  # whether a step was done in this process
        self._start = seconds()

    def run(
        self, *, validate: Callable[[], float] | None = None, hold: Hold = nullcontext
    ) -> Iterator[Event]:
        """Go on to the end, yielding after each step and each epoch; the state is whole there.

        Args:
            validate: Gives the MRR to choose by; None: never.
            hold: Keeps signals out of steps.
        """
        while not self.is_over:
            if self.epoch == len(self.log):
                with hold():
                    self._begin_epoch()
            while self.step < self.steps:
                # The first step may compile kernels for long, and there is nothing to store yet.
                with hold() if self._is_warm else nullcontext():
                    report = self._step()
                yield report
            score = None
            if validate is not None and self._is_due():
                with self.averaged():
                    score = validate()
            with hold():
                epoch = self._end_epoch(score)
            yield epoch

    @property
    def steps(self) -> int:
        """Steps in an epoch."""
        return -(-len(self.objective) // self.training.batch_size)

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning, without those between an interruption and its resume."""
        return seconds() - self._start

    @property
    def is_whole(self) -> bool:
        """Whether nothing was cut off in the middle: no step, no exchange of weights."""
        return not (self._in_step or (self.average is not None and self.average.is_in_model))

    @property
    def best_epoch(self) -> int:
        """The epoch with the best validation so far; 0: there was none."""
        return max((epoch.epoch for epoch in self.log if epoch.best), default=0)

    @property
    def is_over(self) -> bool:
        """Whether all epochs are done, or the last validations brought nothing better."""
        patience = self.training.patience
        looks = [epoch.best for epoch in self.log if epoch.valid_mrr is not None]
        has_stalled = bool(patience) and len(looks) >= patience and not any(looks[-patience:])
        return has_stalled or len(self.log) == self.training.epochs

    def _is_due(self) -> bool:
        """Whether this epoch ends with a validation."""
        every, last = self.training.validate_every, self.training.epochs
        return bool(every) and (self.epoch % every == 0 or self.epoch == last)

    def _begin_epoch(self) -> None:
        self.epoch, self.step, self.sums = self.epoch + 1, 0, Sums()
        self.order = self.objective.shuffled(self.generator)
        if isinstance(self.hide_targets, float):
            facts = len(self.objective.graph)
            share = round(self.hide_targets * facts)
            rows = torch.randperm(facts, generator=self.generator)[:share].numpy()
            self.hidden = self.model.keep_without(rows)

    def _step(self) -> Report:
        self._in_step, start = True, seconds()
        size = self.training.batch_size
        start_item = self.step * size
        stop_item = min(start_item + size, len(self.objective))
        objective, items = self.objective.part(self.order, start_item, stop_item)
        self.model.train()
        rate = self._rate(self.step)
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        keep = self.hidden
        if self.hide_targets == "batch":
            keep = self.model.keep_without(objective.facts_of(items))
        with nullcontext() if self.compiled is None else self.compiled.in_use():
            loss = accumulate(
                self.model,
                objective,
                items,
                micro_batch=self.training.micro_batch,
                keep=keep,
                generator=self.generator,
            )
        loss = sum_gradients(self.model, loss)
        norm = clip(self.model, self.settings.clip_norm)
        report = Report(self.epoch, self.step + 1, self.steps, len(items), loss, rate, norm)
        check_finite(report)
        self.optimizer.step()
        if self.average is not None:
            self.average.update()
        self.step += 1
        self.sums.loss += loss * len(items)
        self.sums.items += len(items)
        self.sums.seconds += seconds() - start
        self._in_step, self._is_warm = False, True
        return report

    def _rate(self, done: int) -> float:
        """The learning rate of the step after so many of this epoch."""
        return learning_rate(self.settings, self.epoch - 1 + done / self.steps)

    def _end_epoch(self, score: float | None) -> Epoch:
        """Write the log; where the score is the best so far, remember the weights."""
        scores = [epoch.valid_mrr for epoch in self.log if epoch.valid_mrr is not None]
        is_best = score is not None and score > max(scores, default=float("-inf"))
        if is_best:
            with self.averaged():
                self.best = snapshot(self.model)
        sums, rate = self.sums, self._rate(self.step - 1)
        loss, speed = sums.loss / sums.items, sums.items / sums.seconds
        self.log.append(Epoch(self.epoch, loss, rate, sums.seconds, speed, score, is_best))
        return self.log[-1]

    def averaged(self) -> AbstractContextManager[None]:
        """Meanwhile the model has the weights that are to be judged and kept."""
        return nullcontext() if self.average is None else self.average.in_model()

    def choose_best(self) -> None:
        """Give the model the weights to keep, the best at validation; the end of a training."""
        if self.best:
            self.model.load_state_dict(self.best)
        elif self.average is not None:
            self.model.load_state_dict(self.average.mean)

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """All that decides how training goes on, as JSON, and as tensors that training changes."""
        tensors = {f"model.{name}": t for name, t in self.model.state_dict().items()}
        tensors |= {f"best.{name}": t for name, t in self.best.items()}
        tensors |= {f"optimizer.{name}": t for name, t in moments_of(self.optimizer).items()}
        tensors["generator"] = self.generator.get_state()
        tensors["order"] = torch.from_numpy(self.order)
        if self.hidden is not None:
            tensors["hidden"] = self.hidden
        place = {"epoch": self.epoch, "step": self.step}
        if self.average is not None:
            place["averaged"] = self.average.steps
            tensors |= {f"average.{name}": t for name, t in self.average.mean.items()}
        log = [asdict(epoch) for epoch in self.log]
        numbers = {"trainer": place, "open": asdict(self.sums), "epochs": log}
        return {**numbers, "elapsed": self.elapsed}, tensors

    @property
    def divided(self) -> dict[str, int]:
        """Names of tensors of the state of which this process has a part; rows in all processes."""
        found, numbers = self.model.divided, range(len(list(self.model.parameters())))
        names = {n: p for p, (n, _) in zip(numbers, self.model.named_parameters(), strict=True)}
        kinds = ["model.{0}", "best.{0}", "average.{0}"]
        kinds += ["optimizer.{1}.exp_avg", "optimizer.{1}.exp_avg_sq"]
        return {kind.format(n, names[n]): rows for n, rows in found.items() for kind in kinds}

    def restore(self, state: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Take up a state of any number of processes; nothing of it is shared afterwards."""
        shard, place = self.model.shard, state["trainer"]
        if shard is not None:
            own = {n: t[shard.rows(len(t))] for n, t in tensors.items() if n in self.divided}
            tensors = {**tensors, **own}
        self.epoch, self.step, self.sums = place["epoch"], place["step"], Sums(**state["open"])
        self.log = [Epoch(**row) for row in state["epochs"]]
        self._start = seconds() - state["elapsed"]
        self.model.load_state_dict(under("model.", tensors))
        self.best = {name: t.clone() for name, t in under("best.", tensors).items()}
        restore_moments(self.optimizer, under("optimizer.", tensors))
        self.generator.set_state(tensors["generator"])
        self.order = tensors["order"].clone().numpy()
        self.hidden = tensors["hidden"].clone() if "hidden" in tensors else None
        if self.average is not None:
            self.average.restore(under("average.", tensors), place["averaged"])


def check_finite(report: Report) -> None:
    """Stop before a number that is none spreads.

    Raises:
        NumericalError: With the place and the number.
    """
    if not (np.isfinite(report.loss) and np.isfinite(report.gradient_norm)):
        raise NumericalError(
            f"epoch {report.epoch}, step {report.step}: the loss is {report.loss}, the gradient "
            f"norm {report.gradient_norm}; a smaller optimizer.lr or optimizer.clip_norm may help"
        )


def under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors whose name begins so, by the rest of their name."""
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
