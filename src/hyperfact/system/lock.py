"""One writer in a run directory at a time.

The system's own lock on the file decides, and ends with its process however that ends; the process
id in the file is for people. So a lock that a dead process left behind is simply taken over.
"""

import fcntl
import json
import os
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from hyperfact.errors import StorageError, UserError

LOCK = "lock.json"
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


class RunLock:
    """Held while a process writes to a run directory; use it with `with`.

    Args:
        folder: The run directory; it must exist.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / LOCK
        self._descriptor: int | None = None

    def __enter__(self) -> Self:
        try:
            self._descriptor = self._take()
            os.ftruncate(self._descriptor, 0)
            os.write(self._descriptor, json.dumps({"pid": os.getpid()}).encode() + b"\n")
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
            self.path.unlink(missing_ok=True)
        self._release()

    def _take(self) -> int:
        """The descriptor of the locked file, which is still the one of this name."""
        while True:
            descriptor = os.open(self.path, _FLAGS, 0o666)
            if not _lock(descriptor):
                owner = _owner(descriptor)
                os.close(descriptor)
                raise UserError(
                    f"{self.path.parent}: the process {owner} is writing to this run; "
                    "wait for it or stop it"
                )
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), self.path.stat()):
                    return descriptor
            os.close(descriptor)  # its owner removed it in this moment

    def _release(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def owner_of(folder: Path) -> int | None:
    """The process that writes to this run at the moment, if any; 0 where it cannot be told."""
    try:
        descriptor = os.open(folder / LOCK, _FLAGS & ~os.O_CREAT)
    except OSError:
        return None
    try:
        return None if _lock(descriptor) else _owner(descriptor)
    finally:
        os.close(descriptor)


def _lock(descriptor: int) -> bool:
    """Whether the lock is ours now; it ends with the descriptor."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _owner(descriptor: int) -> int:
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        return int(json.loads(os.pread(descriptor, 200, 0))["pid"])
    return 0
