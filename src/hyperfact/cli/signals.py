"""Ctrl-C and SIGTERM while training: the step is finished and stored, then the process ends."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

import typer

from hyperfact.cli.printing import note
from hyperfact.errors import HyperfactError
from hyperfact.training.events import Interruption

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Signals:
    """Turns the first signal into an Interruption between two steps; the second ends at once."""

    def __init__(self) -> None:
        self._arrived = 0
        self._held = 0
        self.raised = 0  # the signal that became an Interruption
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        self._before = {number: signal.signal(number, self._arrive) for number in _SIGNALS}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _arrive(self, number: int, _frame: FrameType | None) -> None:
        if self._arrived:  # files appear whole or not at all, so that nothing needs tidying
            os._exit(128 + number)
        self._arrived = number
        if not self._held:
            self._raise()

    def _raise(self) -> None:
        self.raised = self._arrived
        raise Interruption(self._arrived)

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Let a signal wait until this block ends."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self._arrived and not self._held and not self.raised:
            self._raise()


@contextmanager
def interruptible(run: Path | None, again: str = "") -> Iterator[Signals]:
    """Train in this block; an interruption ends the command with 128 plus the signal's number.

    Args:
        run: The run directory, if there is one.
        again: The command that goes on, if not `resume` of that directory.
    """
    signals = Signals()
    try:
        with signals:
            yield signals
    except HyperfactError:
        raise
    except BaseException:  # a compiler that was interrupted raises whatever it likes
        if not signals.raised:
            raise
        if again:
            note(f"interrupted; {again} goes on")
        elif run is None:
            note("interrupted; without --out nothing is stored")
        else:
            note(f"interrupted; `hyperfact resume {run}` goes on")
        raise typer.Exit(128 + signals.raised) from None
