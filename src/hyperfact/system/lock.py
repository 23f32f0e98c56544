"""One writer in a run directory at a time.

The system's own lock on `.lock` decides, and ends with its process however that ends; `lock.json`
beside it tells people and programs which process that is. So what a dead process left behind is
simply taken over. Two files, because on Windows nobody else can read what is locked.
"""

import json
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout, lock_descriptor

from hyperfact.errors import DataError, StorageError, UserError
from hyperfact.system.reading import parse_json, read_inside

LOCK = "lock.json"
_LOCKED = ".lock"
LOCK_FILES = frozenset({LOCK, _LOCKED})
_PATIENCE = 0.1  # seconds; a look at the lock, or the end of its owner, is over sooner


class RunLock:
    """Held while a process writes to a run directory; use it with `with`.

    A forked child does not hold it, so it ends with the process that took it.

    Args:
        folder: The run directory; it must exist.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOCK
        self._locked = folder / _LOCKED
        self._lock = FileLock(self._locked, timeout=_PATIENCE, fallback_to_soft=False)

    def __enter__(self) -> Self:
        folder = self.path.parent
        try:
            self._lock.acquire()
            self.path.unlink(missing_ok=True)
            with self.path.open("x", encoding="utf-8") as file:  # new, so that no link is followed
                file.write(json.dumps({"pid": os.getpid()}) + "\n")
        except Timeout:
            raise UserError(
                f"{folder}: the process {_owner(folder)} is writing to this run; "
                "wait for it or stop it"
            ) from None
        except OSError as error:
            self._release()
            raise StorageError(f"{self.path}: {error.strerror or error}") from error
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError):
            self.path.unlink()
        self._release()

    def _release(self) -> None:
        """Remove the locked file while it is ours; on Windows it goes with the lock itself."""
        if self._lock.is_locked:
            with suppress(OSError):
                self._locked.unlink()
        self._lock.release()


def owner_of(folder: Path) -> int | None:
    """The process that writes to this run at the moment, if any; 0 where it cannot be told."""
    try:
        descriptor = os.open(folder / _LOCKED, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            return None if lock_descriptor(descriptor, blocking=False) else _owner(folder)
        finally:
            os.close(descriptor)
    except OSError:
        return None


def _owner(folder: Path) -> int:
    with suppress(DataError, ValueError, TypeError, KeyError):
        return int(parse_json(folder / LOCK, read_inside(folder, LOCK, limit=200))["pid"])
    return 0
