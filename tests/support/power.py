"""A disk that loses its power: what may be left of a traced sequence of changes.

The model is weaker than any common filesystem. A name (created, renamed, removed) lasts when its
folder was flushed afterwards, the bytes of a file last when the file was; of everything else any
part may have reached the disk, in any order, and of bytes any beginning.
"""

import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Change:
    """One thing that the system was asked for."""

    kind: str  # name, bytes, flush, flush folder
    folder: Path | None = None  # whose names change, or which is flushed
    names: tuple[tuple[Path, int | None], ...] = ()  # a name and its file; None: there is none
    file: int = -1
    content: bytes = b""


@dataclass
class Trace:
    """Everything below a folder, in order; files are numbered, -1 is a folder."""

    root: Path
    changes: list[Change] = field(default_factory=list)
    files: dict[Path, int] = field(default_factory=dict)  # names of now
    open: dict[int, tuple[Path, int]] = field(default_factory=dict)  # descriptors
    count: int = 0

    def name(self, *names: tuple[Path, int | None]) -> None:
        for path, file in names:
            if file is None:
                self.files.pop(path, None)
            else:
                self.files[path] = file
        self.changes.append(Change("name", names[-1][0].parent, names))

    def note(self, call: str, arguments: tuple[Any, ...], result: Any) -> None:
        """After a call that succeeded."""
        if call in ("write", "fsync", "close"):
            if arguments[0] in self.open:
                self._note_open(call, arguments, result)
            return
        path = Path(os.fspath(arguments[0]))
        if self.root not in path.parents and path != self.root:
            return
        if call == "open":
            self._open(path, arguments[1], result)
        elif call == "replace":
            target = Path(arguments[1])
            file = self.files[path] if path in self.files else self._foreign(target)
            self.name((path, None), (target, file))
        else:
            self.name((path, None if call == "unlink" else -1))

    def _note_open(self, call: str, arguments: tuple[Any, ...], result: Any) -> None:
        path, file = self.open[arguments[0]]
        if call == "close":
            del self.open[arguments[0]]
        elif call == "write":
            self.changes.append(Change("bytes", file=file, content=bytes(arguments[1][:result])))
        else:
            folder = path if file < 0 else None
            self.changes.append(Change("flush folder" if folder else "flush", folder, file=file))

    def _foreign(self, path: Path) -> int:
        """A file that other software has written; it was flushed before it got its name."""
        self.count += 1
        self.changes.append(Change("bytes", file=self.count, content=path.read_bytes()))
        self.changes.append(Change("flush", file=self.count))
        return self.count

    def _open(self, path: Path, flags: int, descriptor: int) -> None:
        if flags & os.O_CREAT:
            self.count += 1
            self.name((path, self.count))
        self.open[descriptor] = (path, self.files.get(path, -1))


@contextmanager
def traced(monkeypatch: pytest.MonkeyPatch, root: Path) -> Iterator[Trace]:
    """Meanwhile every change below `root` is noted."""
    trace = Trace(root)

    def wrap(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            result = real(*arguments, **more)
            trace.note(name, arguments, result)
            return result

        return call

    with monkeypatch.context() as patch:
        for name in ("open", "write", "fsync", "replace", "unlink", "mkdir", "close"):
            patch.setattr(os, name, wrap(name, getattr(os, name)))
        yield trace


def left_over(
    changes: list[Change], rng: random.Random, share: float
) -> tuple[dict[Path, int], dict[int, bytes]]:
    """Names and bytes after a power failure; of what may be lost a share is there."""
    names: dict[Path, int] = {}
    contents: dict[int, bytes] = {}
    for at, change in enumerate(changes):
        later = changes[at + 1 :]
        if change.kind == "name":
            if _lasts(later, "flush folder", folder=change.folder) or rng.random() < share:
                for path, file in change.names:
                    if file is None:
                        names.pop(path, None)
                    else:
                        names[path] = file
        elif change.kind == "bytes":
            whole = _lasts(later, "flush", file=change.file) or rng.random() < share
            part = len(change.content) if whole else rng.randrange(len(change.content) + 1)
            contents[change.file] = contents.get(change.file, b"") + change.content[:part]
    return names, contents


def _lasts(later: list[Change], kind: str, **what: Any) -> bool:
    return any(
        change.kind == kind and all(getattr(change, key) == value for key, value in what.items())
        for change in later
    )


def materialise(
    names: dict[Path, int], contents: dict[int, bytes], root: Path, place: Path
) -> None:
    """Write what is left of `root` to another place; files in folders that are lost are lost."""
    place.mkdir(parents=True)
    for path in sorted(names, key=lambda path: len(path.parts)):
        target = place / path.relative_to(root)
        if not target.parent.is_dir():
            continue
        if names[path] < 0:
            target.mkdir(exist_ok=True)
        else:
            target.write_bytes(contents.get(names[path], b""))
