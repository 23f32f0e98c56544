"""What a training tells who watches it, and how it is asked to end."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass


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


@dataclass(frozen=True)
class Epoch:
    """What an epoch did; a line of the log."""

    epoch: int
    loss: float
    lr: float
    seconds: float
    queries_per_second: float
    valid_mrr: float | None = None
    best: bool = False  # better than every validation before


Event = Report | Epoch
Watch = Callable[[Event], None]
#: While such a block lasts a signal waits; then it is raised as an Interruption.
Hold = Callable[[], AbstractContextManager[object]]


class Interruption(KeyboardInterrupt):
    """A signal asked us to end, and no step was under way when this was raised."""

    def __init__(self, signal: int) -> None:
        super().__init__(f"signal {signal}")
        self.signal = signal
