"""A run directory while its run goes on: log and checkpoints, in the end everything.

Whatever kills the process, the last checkpoint is whole, and a resume finds the log and the state
that belong together.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import torch

from hyperfact.errors import CheckpointError, HyperfactError, NumericalError
from hyperfact.models.transeq import TransEQ
from hyperfact.runs import artifacts
from hyperfact.runs.provenance import passport, refuse_other
from hyperfact.runs.run import Run, save
from hyperfact.runs.setup import Setup
from hyperfact.system.clock import seconds
from hyperfact.training.checkpoints import Checkpoint, Checkpoints, Schedule
from hyperfact.training.distributed import team
from hyperfact.training.events import Epoch, Event, Hold

_FIRST_SAVE = 0.01, 1 / 200e6  # seconds, and seconds a byte: a guess until one is measured


class Record:
    """What a run leaves on disk; without a directory nothing."""

    def note(self, event: Event) -> None:
        """After each event: write what is due."""

    def save(self) -> None:
        """Store where the training is."""

    def finish(self, result: Run) -> None:
        """Store the run; there is nothing to resume any more."""


class Directory(Record):
    """The directory of one run.

    Args:
        writer: Of the directory, as its only writer; None in a process that is not the first.
        checkpoints: Of the directory too; they know which of them were found damaged.
        setup: Whose state.
        hold: Keeps signals waiting while files are written.
    """

    def __init__(
        self,
        writer: artifacts.RunWriter | None,
        checkpoints: Checkpoints,
        setup: Setup,
        hold: Hold,
    ) -> None:
        self.writer, self.checkpoints, self.team = writer, checkpoints, team()
        self.trainer, self.hold = setup.trainer, hold
        self.settings = setup.config.checkpoint
        self.passport = passport(setup.config, setup.splits, setup.train, setup.model)
        size = sum(tensor.nbytes for tensor in setup.model.state_dict().values())
        guess = _FIRST_SAVE[0] + 4 * size * _FIRST_SAVE[1]
        self.schedule = Schedule(self.settings.every_seconds, self.settings.budget, guess)
        self._saved: tuple[int, int, int] | None = None  # the place of the last save

    def begin(self, stored: Checkpoint | None = None, *, any_version: bool = False) -> None:
        """Go on from a checkpoint, or from the beginning; the log is written to match.

        Args:
            stored: Where the run was.
            any_version: Accept other versions of code and other threads.

        Raises:
            ConfigError: Something is not as it was when the run began, by name.
            CheckpointError: The state is not one of this model.
        """
        if stored is not None:
            ignore = ("versions", "threads") if any_version else ()
            if self.team is not None or "processes" in stored.state:
                ignore = (*ignore, "threads")  # their number is free, and so is that of threads
            then = stored.state.get("passport")
            refuse_other(self.passport, then, self.checkpoints.folder.parent, ignore=ignore)
            self._take_up(stored)
        if self.writer is not None:
            self.writer.rewrite_log(asdict(epoch) for epoch in self.trainer.log)

    def _take_up(self, stored: Checkpoint) -> None:
        try:
            self.trainer.restore(stored.state["fit"], stored.tensors)
        except (KeyError, TypeError, ValueError, RuntimeError, AttributeError) as error:
            raise CheckpointError(
                f"{self.checkpoints.folder}: the checkpoint {stored.number} does not fit this "
                f"model: {error}"
            ) from error

    def note(self, event: Event) -> None:
        """Write a line for an epoch, and a checkpoint if it is time."""
        if isinstance(event, Epoch) and self.writer is not None:
            self.writer.log(asdict(event))
        due = self.schedule.is_due(ends_epoch=isinstance(event, Epoch))
        if self.team is not None:
            due = self.team.agree(due)
        if due:
            self.save()

    def save(self) -> None:
        """Write the state, unless it was written already or a step was cut off.

        Raises:
            NumericalError: A weight is not finite; the checkpoints before stay as they are.
        """
        with self.hold():
            trainer = self.trainer
            place = trainer.epoch, trainer.step, len(trainer.log)
            if place == self._saved or not trainer.is_whole:
                return
            start = seconds()
            check_weights(trainer.model)
            state, tensors = trainer.state()
            whole: dict[str, Any] = {"passport": self.passport, "fit": state}
            if self.team is not None:
                whole["processes"] = self.team.size
            divided = trainer.divided.keys() & tensors.keys()
            self.checkpoints.save(whole, tensors, divided=divided)
            self.schedule.note(seconds() - start)
            self._saved = place

    def finish(self, result: Run) -> None:
        """Write the results, then let the checkpoints go."""
        if self.writer is None:
            return
        with self.hold():
            save(result, self.writer)
            if not self.settings.keep:
                self.checkpoints.remove()


@contextmanager
def noting_failure(writer: artifacts.RunWriter, checkpoints: Checkpoints) -> Iterator[None]:
    """Leave a word in the directory where the run fails."""
    try:
        yield
    except HyperfactError as error:
        writer.fail(error, checkpoints=len(checkpoints.numbers()))
        raise


def check_weights(model: TransEQ) -> None:
    """Refuse weights that are not numbers.

    Raises:
        NumericalError: By the name of the tensor.
    """
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise NumericalError(f"the weights {name} are not finite; no checkpoint is written")
