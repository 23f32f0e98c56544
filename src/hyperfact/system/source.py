"""Where facts come from: a file, plain or compressed, read by lines with honest numbers."""

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any, cast

from hyperfact.errors import FormatError, MissingExtraError, UserError


class _ZstStream(io.RawIOBase):
    """A file compressed by zstd, frame after frame; one that is cut off ends with EOFError."""

    def __init__(self, path: Path):
        try:
            import zstandard
        except ImportError:
            raise MissingExtraError("zstandard", "scale", "reading .zst files") from None
        self._damage = zstandard.ZstdError
        self._new = zstandard.ZstdDecompressor().decompressobj
        self._file = path.open("rb")
        self._frame: Any = None
        self._waiting = b""  # decompressed, not yet asked for

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Some bytes; none at the end."""
        while not self._waiting:
            chunk = self._file.read(2**18)
            if not chunk:
                if self._frame is not None:
                    raise EOFError("a frame has no end")
                return 0
            self._waiting = self._decompressed(chunk)
        size = min(len(buffer), len(self._waiting))
        buffer[:size], self._waiting = self._waiting[:size], self._waiting[size:]
        return size

    def _decompressed(self, chunk: bytes) -> bytes:
        found = []
        try:
            while chunk:
                self._frame = self._frame or self._new()
                found.append(self._frame.decompress(chunk))
                chunk = self._frame.unused_data if self._frame.eof else b""
                self._frame = None if self._frame.eof else self._frame
        except self._damage as error:
            raise EOFError(str(error)) from error
        return b"".join(found)

    def close(self) -> None:
        """Close the file, too."""
        if not self.closed:
            self._file.close()
        super().close()


_OPENERS: dict[str, Callable[[Path], object]] = {
    ".gz": gzip.GzipFile,
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
    ".zst": lambda path: io.BufferedReader(_ZstStream(path), 2**20),
}
_DAMAGE = (EOFError, gzip.BadGzipFile, lzma.LZMAError, zlib.error)
_BOM = b"\xef\xbb\xbf"
SAMPLE_BYTES = 262_144


class Fault(Exception):  # noqa: N818 -- not an error of the library: the reader turns it into one
    """What is wrong with the line at hand; the reader adds file and line."""


@dataclass(frozen=True)
class Source:
    """One file of facts."""

    path: Path

    @property
    def suffix(self) -> str:
        """The ending that tells the format, without that of the compression."""
        suffixes = [s.lower() for s in self.path.suffixes]
        return next((s for s in reversed(suffixes) if s not in _OPENERS), "")

    def open(self) -> IO[bytes]:
        """The bytes of the file, decompressed."""
        opener = _OPENERS.get(self.path.suffix.lower())
        try:
            return cast(IO[bytes], opener(self.path)) if opener else self.path.open("rb")
        except FileNotFoundError:
            raise UserError(f"{self.path}: no such file") from None
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read ({error.strerror})") from error

    def lines(self) -> Iterator[tuple[int, str]]:
        """Number and text of each line. Only a line feed ends a line, and space is data.

        A byte order mark and carriage returns of a file that has them throughout are not text.
        """
        number = 0
        try:
            with self.open() as stream:
                ending = b"\n"
                for number, raw in enumerate(stream, start=1):
                    if number == 1:
                        raw = raw.removeprefix(_BOM)
                        ending = b"\r\n" if raw.endswith(b"\r\n") else b"\n"
                    yield number, raw.removesuffix(ending).decode()
        except UnicodeDecodeError as error:
            reason = f"not UTF-8 (byte 0x{error.object[error.start]:02x} at {error.start + 1})"
            raise FormatError(self.path, number, reason) from None
        except _DAMAGE as error:
            raise FormatError(
                self.path, number + 1, f"the compressed file is damaged or cut off ({error})"
            ) from error
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read ({error.strerror or error})") from error

    def text(self) -> str:
        """The whole file as text, for formats that are one document."""
        return "\n".join(line for _, line in self.lines())

    @cached_property
    def head(self) -> bytes:
        """The first bytes, to recognise the format by."""
        try:
            with self.open() as stream:
                return stream.read(SAMPLE_BYTES)
        except _DAMAGE as error:
            raise FormatError(
                self.path, 1, f"the compressed file is damaged or cut off ({error})"
            ) from error
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read ({error.strerror or error})") from error

    @cached_property
    def sample(self) -> list[str]:
        """The first whole lines, decoded as far as they can be."""
        text = self.head.removeprefix(_BOM).decode("utf-8", "replace")
        lines = text.split("\n")
        if len(self.head) == SAMPLE_BYTES and len(lines) > 1:
            lines.pop()  # may be cut
        return [line.removesuffix("\r") for line in lines if line.removesuffix("\r")][:2000]


def each_line(source: Source, handle: Callable[[str], None], *, skip: int = 0) -> None:
    """Give every line to `handle`; what it finds wrong is reported with file and line.

    Empty lines are allowed at the end of the file only.
    """
    number = empty = 0
    try:
        for number, line in source.lines():
            if not line:
                empty = empty or number
                continue
            if empty:
                number = empty
                raise Fault("an empty line between facts")
            if number > skip:
                handle(line)
    except Fault as fault:
        raise FormatError(source.path, number, str(fault)) from None
