"""Training with validation as one state, which can be stored after any step and taken up again.

`Fit` is what happens; `Keeper` writes it down now and then. Neither knows where facts come from.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from hyperfact.errors import CheckpointError, NumericalError
from hyperfact.models.transeq import TransEQ
from hyperfact.system.clock import seconds
from hyperfact.training.checkpoints import Checkpoint, Checkpoints, Schedule
from hyperfact.training.trainer import EarlyStopping, Report, Trainer, under

_FIRST_SAVE = 0.01, 1 / 200e6  # seconds, and seconds a byte: a guess until one is measured


@dataclass(frozen=True)
class Epoch:
    """What an epoch did; a line of the log."""

    epoch: int
    loss: float
    lr: float
    seconds: float
    queries_per_second: float
    valid_mrr: float | None = None
    best: bool = False


Event = Report | Epoch
Watch = Callable[[Event], None]


class Interruption(KeyboardInterrupt):
    """A signal asked us to end, and no step was under way when this was raised."""

    def __init__(self, signal: int) -> None:
        super().__init__(f"signal {signal}")
        self.signal = signal


class Guard(Protocol):
    """Keeps signals from arriving in the middle of a step."""

    def hold(self) -> AbstractContextManager[object]:
        """Until this ends, a signal waits; then it is raised as an Interruption."""


class Open:
    """A guard that guards nothing."""

    def hold(self) -> AbstractContextManager[object]:
        """Let everything through."""
        return nullcontext()


class Fit:
    """Train, validate, remember the best.

    Args:
        trainer: At its beginning, or wherever its state is.
        validate: Gives the MRR to choose by; None: never.
        guard: Keeps steps whole.
    """

    def __init__(
        self,
        trainer: Trainer,
        *,
        validate: Callable[[], float] | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.trainer, self.validate = trainer, validate
        self.guard: Guard = guard or Open()
        self.stopping = EarlyStopping(trainer.training.patience)
        self.epochs: list[Epoch] = []
        self.best_epoch = 0
        self.best: dict[str, Tensor] = {}  # the weights of that epoch; empty: none
        self._loss = self._seconds = 0.0  # of this epoch so far
        self._items = 0
        self._warm = False  # whether a step was done in this process
        self.is_whole = True  # whether no step was cut off in the middle
        self._start = seconds()

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning, without those between an interruption and its resume."""
        return seconds() - self._start

    def run(self) -> Iterator[Event]:
        """Go on to the end, yielding after each step and each epoch; the state is whole there."""
        steps = self.trainer.run()
        while not self.stopping.stop:
            if self._epoch_is_open and self.trainer.step == self.trainer.steps:
                yield self._close_epoch()
                continue
            # The first step may compile kernels for long, and there is nothing to store yet.
            with self.guard.hold() if self._warm else nullcontext():
                self.is_whole = self._warm
                start = seconds()
                report = next(steps, None)
                if report is None:
                    return
                self._loss += report.loss * report.items
                self._items += report.items
                self._seconds += seconds() - start
                self._warm = self.is_whole = True
            yield report

    @property
    def _epoch_is_open(self) -> bool:
        return self.trainer.epoch > len(self.epochs)

    def _close_epoch(self) -> Epoch:
        number = self.trainer.epoch
        score = None
        if self.validate is not None and self._is_due(number):
            with self.trainer.averaged():
                score = self.validate()
        with self.guard.hold():
            better = score is not None and self.stopping.update(score)
            if better:
                with self.trainer.averaged():
                    self.best_epoch, self.best = number, snapshot(self.trainer.model)
            epoch = Epoch(
                number,
                self._loss / self._items,
                self.trainer.rate,
                self._seconds,
                self._items / self._seconds,
                score,
                better,
            )
            self.epochs.append(epoch)
            self._loss, self._seconds, self._items = 0.0, 0.0, 0
        return epoch

    def _is_due(self, epoch: int) -> bool:
        every, last = self.trainer.training.validate_every, self.trainer.training.epochs
        return bool(every) and (epoch % every == 0 or epoch == last)

    def choose_best(self) -> None:
        """Give the model the weights to keep, the best at validation; the end of a training."""
        if self.best:
            self.trainer.model.load_state_dict(self.best)
        elif self.trainer.average is not None:
            self.trainer.model.load_state_dict(self.trainer.average.mean)

    def state(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        """Everything that decides how it goes on, as JSON and as tensors."""
        numbers, tensors = self.trainer.state()
        best = self.stopping.best
        state = {
            "trainer": numbers,
            "epochs": [asdict(epoch) for epoch in self.epochs],
            "stopping": {
                "best": None if best == float("-inf") else best,
                "since": self.stopping.since,
            },
            "open": {"loss": self._loss, "seconds": self._seconds, "items": self._items},
            "best_epoch": self.best_epoch,
            "elapsed": self.elapsed,
        }
        return state, tensors | {f"best.{name}": t for name, t in self.best.items()}

    def restore(self, state: Mapping[str, Any], tensors: Mapping[str, Tensor]) -> None:
        """Take up a state."""
        self.trainer.restore(state["trainer"], tensors)
        self.epochs = [Epoch(**row) for row in state["epochs"]]
        stopping, rest = state["stopping"], state["open"]
        best = float("-inf") if stopping["best"] is None else stopping["best"]
        self.stopping.best, self.stopping.since = best, stopping["since"]
        self._loss, self._seconds, self._items = rest["loss"], rest["seconds"], rest["items"]
        self.best_epoch = state["best_epoch"]
        self._start = seconds() - state["elapsed"]
        self.best = {name: t.clone() for name, t in under("best.", tensors).items()}


def snapshot(model: TransEQ) -> dict[str, Tensor]:
    """A copy of all weights that later training does not change."""
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


class Keeper:
    """Writes checkpoints of a fit when they are due.

    Args:
        fit: Whose state.
        checkpoints: Where to.
        schedule: When.
        passport: What must be the same when it is taken up again.
    """

    def __init__(
        self, fit: Fit, checkpoints: Checkpoints, schedule: Schedule, passport: Mapping[str, Any]
    ) -> None:
        self.fit, self.checkpoints, self.schedule = fit, checkpoints, schedule
        self.passport = passport
        weights = sum(t.nbytes for t in fit.trainer.model.state_dict().values())
        schedule.expected = _FIRST_SAVE[0] + 4 * weights * _FIRST_SAVE[1]
        self._saved: tuple[int, int, int] | None = None

    def look(self, event: Event) -> None:
        """After each event: save if it is time."""
        if self.schedule.is_due(ends_epoch=isinstance(event, Epoch)):
            self.save()

    def save(self) -> None:
        """Write the state, unless it was written already or a step was cut off.

        Raises:
            NumericalError: A weight is not finite; the checkpoints before stay as they are.
        """
        with self.fit.guard.hold():
            trainer = self.fit.trainer
            where = trainer.epoch, trainer.step, len(self.fit.epochs)
            if where == self._saved or not self.fit.is_whole:
                return
            start = seconds()
            check_finite(trainer.model)
            state, tensors = self.fit.state()
            self.checkpoints.save({"passport": self.passport, "fit": state}, tensors)
            self.schedule.note(seconds() - start)
            self._saved = where

    def take_up(self, checkpoint: Checkpoint) -> None:
        """Go on from a checkpoint, whose passport was compared already."""
        try:
            self.fit.restore(checkpoint.state["fit"], checkpoint.tensors)
        except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
            raise CheckpointError(
                f"{self.checkpoints.folder}: the checkpoint {checkpoint.number} does not fit this "
                f"model: {error}"
            ) from error


def check_finite(model: TransEQ) -> None:
    """Refuse weights that are not numbers.

    Raises:
        NumericalError: By the name of the tensor.
    """
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise NumericalError(f"the weights {name} are not finite; no checkpoint is written")
