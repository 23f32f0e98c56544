"""A source in memory, so that many thousand broken files can be read in a second."""

import io
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats import FORMATS
from hyperfact.errors import DataError
from hyperfact.graph.hkg import HKG
from hyperfact.system.source import Source


@dataclass(frozen=True)
class MemorySource(Source):
    """Bytes that look like a file."""

    data: bytes = b""

    def open(self) -> IO[bytes]:
        return io.BytesIO(self.data)


def fill(name: str, data: bytes, folder: Path) -> FactBuilder:
    """The builder after reading a file of a format from memory."""
    format = FORMATS[name]
    builder = FactBuilder()
    builder.begin("train", typed=format.typed)
    format.read(MemorySource(folder / f"facts{format.suffix}", data), builder)
    return builder


def count_or_refuse(name: str, data: bytes, *, folder: Path = Path()) -> int | DataError:
    """How many facts a file holds, repeated ones included; or what is wrong with it."""
    try:
        return fill(name, data, folder).count
    except DataError as error:
        return error


def read_bytes(name: str, data: bytes, *, folder: Path = Path()) -> HKG:
    """Read a file of a format from memory."""
    return fill(name, data, folder).finish("memory")[0].train


def read_or_refuse(name: str, data: bytes, *, folder: Path = Path()) -> HKG | DataError:
    """The facts, or the one kind of error that wrong data may give."""
    try:
        return read_bytes(name, data, folder=folder)
    except DataError as error:
        return error
