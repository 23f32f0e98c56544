"""Where facts go: files that appear whole or not at all."""

import bz2
import gzip
import lzma
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from hyperfact.errors import StorageError


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A temporary folder beside the target; its files move into `folder` if nothing failed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stage = Path(tempfile.mkdtemp(prefix=".hyperfact-", dir=folder))
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written ({error.strerror})") from error
    try:
        yield stage
        for file in sorted(p for p in stage.rglob("*") if p.is_file()):
            _sync(file)
            target = folder / file.relative_to(stage)
            target.parent.mkdir(parents=True, exist_ok=True)
            file.replace(target)
        _sync(folder)
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written ({error.strerror or error})") from error
    finally:
        shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """A temporary path; its file becomes `path` if nothing failed."""
    with staged(path.parent) as stage:
        yield stage / path.name


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


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
