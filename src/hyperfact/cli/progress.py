"""How training shows itself: a live bar on a terminal, some lines elsewhere, TensorBoard."""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hyperfact.cli.printing import note
from hyperfact.errors import MissingExtraError
from hyperfact.training.events import Epoch, Event, Report, Watch

_EVERY = 10.0  # seconds between two lines


@contextmanager
def progress(epochs: int, *, tensorboard: Path | None = None) -> Iterator[Watch]:
    """Show training on stderr, and write event files where asked for.

    Args:
        epochs: How many there will be at most.
        tensorboard: A folder for event files.
    """
    console = Console(stderr=True)
    with ExitStack() as stack:
        show = bar if console.is_terminal else lines
        watches = [stack.enter_context(show(epochs, console))]
        if tensorboard is not None:
            watches.append(stack.enter_context(event_files(tensorboard)))

        def watch(event: Event) -> None:
            for each in watches:
                each(event)

        yield watch


@contextmanager
def bar(epochs: int, console: Console) -> Iterator[Watch]:
    """A bar with loss, speed, memory, validation and time left."""
    columns = (
        TextColumn("epoch {task.fields[epoch]}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.3f}  {task.fields[speed]:,.0f} queries/s"),
        TextColumn("valid MRR {task.fields[mrr]}  {task.fields[memory]}"),
        TimeRemainingColumn(),
    )
    fields: dict[str, Any] = {"epoch": 0, "loss": float("nan"), "speed": 0.0, "mrr": "-"}
    with Progress(*columns, console=console) as shown:
        task = shown.add_task("", total=None, memory=memory_text(), **fields)

        def watch(event: Event) -> None:
            if isinstance(event, Report):
                done, total = (event.epoch - 1) * event.steps + event.step, epochs * event.steps
                shown.update(task, completed=done, total=total, epoch=event.epoch, loss=event.loss)
                return
            changes: dict[str, Any] = {"speed": event.queries_per_second, "memory": memory_text()}
            if event.valid_mrr is not None:
                changes["mrr"] = f"{event.valid_mrr:.4f}"
            shown.update(task, **changes)

        yield watch


@contextmanager
def lines(epochs: int, _console: Console) -> Iterator[Watch]:
    """Lines of text, one at most every ten seconds, and one for the last epoch."""
    begun: list[tuple[float, float]] = []  # when, and how many epochs were done
    said = time.perf_counter() - _EVERY  # the first epoch is told at once

    def watch(event: Event) -> None:
        nonlocal said
        now, done = time.perf_counter(), _epochs_done(event)
        if not begun:
            begun.append((now, event.epoch - 1))
            said = now if isinstance(event, Report) else said
        start, first = begun[0]
        if now - said < _EVERY and done < epochs:
            return
        if isinstance(event, Report) and done >= epochs:
            return  # the epoch itself is told next
        said = now
        left = (now - start) / max(done - first, 1e-9) * (epochs - done)
        text = step_line(event) if isinstance(event, Report) else epoch_line(event)
        note(f"{text}, {memory_text()}, {left_text(left)}")

    yield watch


def _epochs_done(event: Event) -> float:
    if isinstance(event, Report):
        return event.epoch - 1 + event.step / event.steps
    return event.epoch


def step_line(event: Report) -> str:
    """A step in one line of text."""
    return f"epoch {event.epoch}: step {event.step:,} of {event.steps:,}, loss {event.loss:.4f}"


def epoch_line(event: Epoch) -> str:
    """An epoch in one line of text."""
    text = f"epoch {event.epoch}: loss {event.loss:.4f}, {event.seconds:.1f} s"
    text += f", {event.queries_per_second:,.0f} queries/s"
    if event.valid_mrr is not None:
        text += f", valid MRR {event.valid_mrr:.4f}" + (" (best)" if event.best else "")
    return text


def memory_text() -> str:
    """The most memory that this process has used so far."""
    from hyperfact.system.memory import peak_memory

    return f"{peak_memory() / 1e9:.2f} GB"


def left_text(seconds: float) -> str:
    """A duration, roughly."""
    if seconds < 100:
        return f"{seconds:.0f} s left"
    minutes = round(seconds / 60)
    return f"{minutes} min left" if minutes < 100 else f"{minutes / 60:.1f} h left"


@contextmanager
def event_files(folder: Path) -> Iterator[Watch]:
    """Write scalars that TensorBoard reads.

    Raises:
        MissingExtraError: The package is not installed.
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise MissingExtraError("tensorboard", "tensorboard", "writing event files") from None
    writer: Any = SummaryWriter(str(folder))

    def watch(event: Event) -> None:
        if isinstance(event, Report):
            return
        writer.add_scalar("train/loss", event.loss, event.epoch)
        writer.add_scalar("train/lr", event.lr, event.epoch)
        writer.add_scalar("train/queries_per_second", event.queries_per_second, event.epoch)
        if event.valid_mrr is not None:
            writer.add_scalar("valid/mrr", event.valid_mrr, event.epoch)

    try:
        yield watch
    finally:
        writer.close()
