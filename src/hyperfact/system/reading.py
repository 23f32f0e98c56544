"""Read files that may be damaged or hostile: inside their folder, plain, and of the stated size.

Everything that can be known before reading is checked before memory is taken for it.
"""

import hashlib
import json
import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hyperfact.errors import DataError

_FLAGS = os.O_RDONLY
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    _FLAGS |= getattr(os, _name, 0)
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,120}")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def check_name(name: object, where: Path) -> str:
    """A name that can only mean a file directly in its folder, on any system.

    Raises:
        DataError: A path, a hidden name, a character that some system treats specially.
    """
    if isinstance(name, str) and _PLAIN.fullmatch(name) and not name.endswith("."):
        return name
    raise DataError(f"{where}: {ascii(name)[:80]} is not the plain name of a file")


def read_inside(folder: Path, name: str, *, limit: int, size: int | None = None) -> bytes:
    """The content of a plain file of this folder.

    Args:
        folder: Where it lies.
        name: Without any folder.
        limit: Bytes that it may have at most.
        size: Bytes that it must have, if known.

    Raises:
        DataError: A link, pipe, device or folder; too large; not of the right size.
    """
    path = folder / check_name(name, folder)
    try:
        descriptor = os.open(path, _FLAGS)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise DataError(f"{path}: not a plain file")
        if size is not None and found.st_size != size:
            raise DataError(f"{path}: damaged; it has {found.st_size} bytes, expected {size}")
        if found.st_size > limit:
            raise DataError(f"{path}: {found.st_size} bytes, more than the {limit} allowed")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(found.st_size)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or error}") from error
    finally:
        os.close(descriptor)


def read_checked(folder: Path, name: str, entry: object, *, limit: int) -> bytes:
    """The content of a file whose size and SHA-256 a manifest states.

    Args:
        folder: Where it lies.
        name: Without any folder.
        entry: `{"sha256": …, "bytes": …}`.
        limit: Bytes that it may have at most.

    Raises:
        DataError: An entry of another form, or a file that is not the one meant.
    """
    stated = entry if isinstance(entry, Mapping) else {}
    size, digest = stated.get("bytes"), stated.get("sha256")
    well_formed = isinstance(size, int) and not isinstance(size, bool) and size >= 0
    if not well_formed or not isinstance(digest, str) or not _SHA256.fullmatch(digest):
        raise DataError(f"{folder}: size or SHA-256 of {name} is not stated")
    content = read_inside(folder, name, limit=limit, size=size)
    if hashlib.sha256(content).hexdigest() != digest:
        raise DataError(f"{folder / name}: damaged; its SHA-256 is not the one stated")
    return content


def parse_json(path: Path, content: bytes) -> dict[str, Any]:
    """A JSON object.

    Raises:
        DataError: Not UTF-8, not JSON, nested too deeply, or not an object.
    """
    try:
        value = json.loads(content.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise DataError(f"{path}: expected an object, got {type(value).__name__}")
    return value
