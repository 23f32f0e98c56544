"""What stands in the files of a run directory: names, text and tensors, from bytes and back."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hyperfact.errors import DataError
from hyperfact.graph.facts import Derived, Literal, Vocabulary

if TYPE_CHECKING:  # torch takes a second to import, which a look at a run should not pay
    from torch import Tensor

_KINDS: Mapping[str, type[str]] = {"literal": Literal, "derived": Derived}


def lines_of(names: Iterable[str]) -> Iterator[str]:
    """A plain name is a string; the kind of any other is written beside it."""
    for name in names:
        kinds = [key for key, kind in _KINDS.items() if type(name) is kind]
        yield json.dumps({kinds[0]: str(name)} if kinds else str(name))


def vocabulary_of(path: Path, content: bytes) -> Vocabulary:
    """The names of a file with a name a line.

    Raises:
        DataError: A line is no name, or a name stands there twice.
    """
    lines = text_of(path, content).removesuffix("\n").split("\n") if content else []
    names = [_name(f"{path}:{number}", line) for number, line in enumerate(lines, start=1)]
    if len(set(names)) < len(names):
        raise DataError(f"{path}: holds a name twice")
    return Vocabulary(names)


def _name(where: str, line: str) -> str:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = None
    kind: type[str] = str
    if isinstance(value, dict) and len(value) == 1:
        key, value = next(iter(value.items()))
        kind = _KINDS.get(key, str)
    if not isinstance(value, str):
        raise DataError(f"{where}: expected a name, got {ascii(line)[:80]}")
    return kind(value)


def text_of(path: Path, content: bytes) -> str:
    """The text of a file; another encoding than UTF-8 is a `DataError`."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8: {error}") from error


def read_tensors(path: Path, content: bytes) -> "Mapping[str, Tensor]":
    """The tensors of a file; anything but safetensors is a `DataError`."""
    from safetensors import SafetensorError
    from safetensors.torch import load

    try:
        tensors: dict[str, Tensor] = load(content)
    except SafetensorError as error:
        raise DataError(f"{path}: not a safetensors file: {error}") from error
    return tensors
