"""Write files so that a crash at any moment leaves the old ones or the new ones, never a part.

The order is always: temporary files beside the target, their content, fsync, rename, fsync of the
folder. One file whose content is known (`write_atomically`) is also read back and compared before
the rename; many files, or one that somebody else fills, go through a folder (`staged`). A link
stays: what it points to is replaced. What is no plain file, such as /dev/stdout, is written to.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from hyperfact.errors import StorageError

_SUFFIX = ".tmp"
_BLOCK = 2**24  # bytes of one write
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
for _name in ("O_NOFOLLOW", "O_CLOEXEC", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)
_FOLDERS_OPEN = os.name == "posix"  # elsewhere a folder has no descriptor, and needs no fsync


def write_atomically(path: Path, content: bytes) -> str:
    """Put `content` in the place of `path`.

    Returns:
        Its SHA-256.

    Raises:
        StorageError: The disk is full, broken, or does not give back what was written.
    """
    expected = hashlib.sha256(content).hexdigest()
    if is_special(path):
        _pour(io.BytesIO(content), path)
        return expected
    path = _behind_links(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}{_SUFFIX}")
    try:
        _write(temporary, content)
        if sha256(temporary) != expected:
            raise StorageError(f"{path}: the disk gave back other bytes than were written")
        _commit({temporary: path})
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise _refused(path, error) from error
        raise
    return expected


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A temporary folder in the target; its files move into `folder` if nothing failed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=".", suffix=_SUFFIX, dir=folder))
    except OSError as error:
        raise _refused(folder, error) from error
    try:
        yield stage
        files = sorted(path for path in stage.rglob("*") if path.is_file())
        names = {file: _behind_links(folder / file.relative_to(stage)) for file in files}
        for file, target in names.items():
            _sync(file)
            target.parent.mkdir(parents=True, exist_ok=True)
        _commit(names)
    except OSError as error:
        raise _refused(folder, error) from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """A temporary path; its file becomes `path` if nothing failed."""
    if not is_special(path):
        path = _behind_links(path)
        with staged(path.parent) as stage:
            yield stage / path.name
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / path.name
        yield file
        with file.open("rb") as source:
            _pour(source, path)


def is_special(path: Path) -> bool:
    """Whether this is there and no plain file or folder: a device, a pipe, a socket."""
    return path.exists() and not path.is_file() and not path.is_dir()


def _behind_links(path: Path) -> Path:
    """The file itself; other paths stay as they were written."""
    return path.resolve() if path.is_symlink() else path


def _pour(source: IO[bytes], path: Path) -> None:
    """Write to something that nothing could take the place of."""
    try:
        with path.open("wb") as target:
            shutil.copyfileobj(source, target)
    except OSError as error:
        raise _refused(path, error) from error


def _commit(names: Mapping[Path, Path]) -> None:
    """Give flushed files the names they are for, and make the names last."""
    for temporary, path in names.items():
        os.replace(temporary, path)  # noqa: PTH105 -- one name for every call that may be cut short
    for folder in dict.fromkeys(path.parent for path in names.values()):
        sync_folder(folder)


def _refused(path: Path, error: OSError) -> StorageError:
    return StorageError(f"{path}: cannot be written: {error.strerror or error}")


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, _FLAGS, 0o666)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest[:_BLOCK]) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _sync(path: Path) -> None:
    """Flush what somebody has written and closed; Windows wants to write where it flushes."""
    with path.open("r+b") as file:
        os.fsync(file.fileno())


def sync_folder(folder: Path) -> None:
    """Make new, renamed and removed names of a folder last, where folders can be flushed."""
    if not _FOLDERS_OPEN:
        return
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
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    return [path.name for path in found]


@contextmanager
def writing(path: Path) -> Iterator[IO[bytes]]:
    """Bytes to a file, compressed if its name says so; equal input gives equal bytes."""
    with path.open("wb") as raw:
        if path.suffix == ".gz":
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as stream:
                yield cast(IO[bytes], stream)
        elif path.suffix == ".bz2":
            with bz2.open(raw, "wb") as stream:
                yield cast(IO[bytes], stream)
        elif path.suffix == ".xz":
            with lzma.open(raw, "wb") as stream:
                yield cast(IO[bytes], stream)
        else:
            yield raw


def write_lines(path: Path, lines: Iterator[str]) -> None:
    """Lines of text, each ended by a line feed."""
    with writing(path) as stream:
        block: list[str] = []
        for line in lines:
            block.append(line)
            if len(block) == 8192:
                stream.write(("\n".join(block) + "\n").encode())
                block.clear()
        if block:
            stream.write(("\n".join(block) + "\n").encode())


def write_texts(folder: Path, texts: Mapping[str, str]) -> None:
    """A few small text files, all or none."""
    with staged(folder) as stage:
        for name, text in texts.items():
            (stage / name).write_text(text, encoding="utf-8", newline="")


def copy_file(source: Path, target: Path) -> None:
    """Copy a plain file into a folder that may not exist yet; what is no plain file is left."""
    if source.is_file():
        target.parent.mkdir(exist_ok=True)
        shutil.copyfile(source, target)
