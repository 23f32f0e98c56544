"""What commands say: results on stdout, messages on stderr, names as visible text."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from hyperfact.cli.visible import in_line, visible

_state = {"hushed": False}


class ReaderGoneError(Exception):
    """Whoever read our output has closed it."""


def hush(*, silent: bool) -> None:
    """Say nothing from now on, or speak again: of several processes the first one speaks."""
    _state["hushed"] = silent


def is_hushed() -> bool:
    """Whether this process keeps silent."""
    return _state["hushed"]


def print_json(value: Any) -> None:
    """One JSON document on stdout."""
    print_text(json.dumps(value, ensure_ascii=False, indent=2, default=_plain))


def print_text(text: str) -> None:
    """Text on stdout; characters that a terminal obeys or cannot show are escaped."""
    if is_hushed():
        return
    encoding = sys.stdout.encoding or "utf-8"
    safe = visible(text).encode(encoding, "backslashreplace").decode(encoding)
    try:
        print(safe, flush=True)  # noqa: T201 -- the command line prints
    except BrokenPipeError:
        raise ReaderGoneError from None


def note(text: str) -> None:
    """A message for the person, one line on stderr; of several processes the first one speaks."""
    if text and not is_hushed():
        print(in_line(text), file=sys.stderr)  # noqa: T201 -- the command line prints


def print_table(columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = "") -> None:
    """A table on stdout: numbers to the right, names as they are."""
    table = Table(title=visible(title) or None, title_justify="left", box=None, pad_edge=False)
    body = [list(row) for row in rows]
    for i, column in enumerate(columns):
        numeric = bool(body) and all(isinstance(row[i], int | float) for row in body)
        table.add_column(_cell(column), justify="right" if numeric else "left", overflow="fold")
    for row in body:
        table.add_row(*(_cell(value) for value in row))
    width = None if sys.stdout.isatty() else 240
    console = Console(markup=False, highlight=False, width=width)
    with console.capture() as text:
        console.print(table)
    lines = text.get().splitlines()
    print_text("\n".join(lines if sys.stdout.isatty() else (line.rstrip() for line in lines)))


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.3f}"
    return in_line(value)


def _plain(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


@contextmanager
def download_bar() -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar on stderr for the files of a download."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def tell(name: str, done: int, size: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=size or None)
            bar.update(tasks[name], completed=done)

        yield tell
