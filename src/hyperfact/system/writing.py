"""Write a file so that a crash at any moment leaves the old one or the new one, never a part.

The order is: a temporary file in the same folder, its content, fsync, the checksum of what reads
back, rename, fsync of the folder.
"""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

from hyperfact.errors import StorageError

_SUFFIX = ".tmp"
_BLOCK = 2**24  # bytes of one write
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
_SAFE = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def write_atomically(path: Path, content: bytes) -> str:
    """Put `content` in the place of `path`.

    Returns:
        Its SHA-256.

    Raises:
        StorageError: The disk is full, broken, or does not give back what was written.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}{_SUFFIX}")
    expected = hashlib.sha256(content).hexdigest()
    try:
        _write(temporary, content)
        if sha256(temporary) != expected:
            raise StorageError(f"{path}: the disk gave back other bytes than were written")
        os.replace(temporary, path)  # noqa: PTH105 -- one name for every call that may be cut short
        sync_folder(path.parent)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise StorageError(f"{path}: cannot be written: {error.strerror or error}") from error
        raise
    return expected


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, _FLAGS | _SAFE, 0o666)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest[:_BLOCK]) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_folder(folder: Path) -> None:
    """Make new, renamed and removed names of a folder last."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sha256(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remove_leftovers(folder: Path) -> list[str]:
    """Delete temporary files that a killed writer has left here; call it as the only writer."""
    found = sorted(folder.glob(f".*{_SUFFIX}"))
    for path in found:
        path.unlink(missing_ok=True)
    return [path.name for path in found]
