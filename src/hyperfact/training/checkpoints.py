"""Checkpoints: the whole state of a training, in generations that a crash cannot spoil.

A generation is two files, `000007.safetensors` with every tensor and `000007.json` with everything
else, among it the SHA-256 of the tensors and its own. The JSON is written last and removed first:
a generation exists when its JSON does. The generation before stays until a newer one is safe. In a
team each process writes the rows that it owns to a file of its own, which the JSON names.
"""

import hashlib
import json
import logging
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load as tensors_of
from torch import Tensor

from hyperfact.errors import CheckpointError, DataError, StorageError
from hyperfact.system.clock import seconds as clock_seconds
from hyperfact.system.reading import parse_json, read_checked, read_inside
from hyperfact.system.writing import remove_leftovers, sync_folder, write_atomically
from hyperfact.training.distributed import team
from hyperfact.training.pieces import TENSOR_LIMIT, read_pieces, tensor_bytes, write_pieces

FOLDER = "checkpoints"
FORMAT = 1
_IN_PIECES = 2  # the format where each process of a team has written its own rows
_GENERATIONS = 2
_JSON_LIMIT = 2**28
_NAME = re.compile(r"(\d{6,})\.json")
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Checkpoint:
    """One generation, checked."""

    number: int
    state: Mapping[str, Any]
    tensors: Mapping[str, Tensor]


class Checkpoints:
    """The generations of one run; at least two good ones are kept once there are two.

    Args:
        run: The run directory.
    """

    def __init__(self, run: Path) -> None:
        self.folder = run / FOLDER
        self._bad: set[int] = set()

    def numbers(self) -> list[int]:
        """Generations that were written, oldest first; good or not."""
        if not self.folder.is_dir():
            return []
        found = (_NAME.fullmatch(path.name) for path in self.folder.iterdir())
        return sorted(int(match[1]) for match in found if match)

    def clean(self) -> None:
        """Remove what a killed writer has left; call it as the only writer."""
        if not self.folder.is_dir():
            return
        remove_leftovers(self.folder)
        numbers = set(self.numbers())
        for path in self.folder.glob("*.safetensors"):
            stem = path.name.partition(".")[0]
            if stem.isdecimal() and int(stem) not in numbers:
                path.unlink()

    def save(
        self,
        state: Mapping[str, Any],
        tensors: Mapping[str, Tensor],
        *,
        divided: Collection[str] = (),
    ) -> int:
        """Write a new generation, then forget the oldest; every process of a team calls it.

        Args:
            state: What JSON holds.
            tensors: All others.
            divided: Names of those of which each shard of a team has its own rows.

        Returns:
            The bytes written.

        Raises:
            StorageError: It could not be written; the generations before are untouched.
        """
        number = max(self.numbers(), default=0) + 1
        stated: dict[str, Any] = {"format": FORMAT, "number": number, "state": dict(state)}
        together = team()
        try:
            if together is None or together.is_first:
                self._make_folder()
            if together is not None:
                stated["number"] = number = together.agree(number)
                some = {name: tensors[name] for name in divided}
                pieces = write_pieces(self.folder, f"{number:06}", some, together)
                stated |= {"format": _IN_PIECES, "pieces": pieces, "divided": sorted(divided)}
            written = 0
            if together is None or together.is_first:
                written = self._write(stated, tensors)
        except OSError as error:
            raise StorageError(f"{self.folder}: {error.strerror or error}") from error
        if together is not None:
            together.wait()
        return written

    def _make_folder(self) -> None:
        if not self.folder.is_dir():
            self.folder.mkdir()
            sync_folder(self.folder.parent)  # a folder whose name is lost is lost with all

    def _write(self, stated: dict[str, Any], tensors: Mapping[str, Tensor]) -> int:
        """The tensors, then the document that says that they are all there."""
        name = f"{stated['number']:06}"
        content = tensor_bytes(tensors)
        digest = write_atomically(self.folder / f"{name}.safetensors", content)
        text = _document({**stated, "tensors": {"sha256": digest, "bytes": len(content)}})
        write_atomically(self.folder / f"{name}.json", text)
        self._forget_old()
        return len(content) + len(text)

    def _forget_old(self) -> None:
        good = [number for number in self.numbers() if number not in self._bad]
        old = [*good[:-_GENERATIONS], *self._bad]
        for number in old:
            (self.folder / f"{number:06}.json").unlink(missing_ok=True)
            for path in self.folder.glob(f"{number:06}.*safetensors"):
                path.unlink(missing_ok=True)
        self._bad.clear()
        if old:
            sync_folder(self.folder)

    def latest(self) -> Checkpoint:
        """The newest generation that is whole; damaged ones are skipped with a warning.

        Raises:
            CheckpointError: There is none.
        """
        for number in reversed(self.numbers()):
            try:
                return self._read(number)
            except DataError as error:
                self._bad.add(number)
                _log.warning("warning: %s; trying the checkpoint before it", error)
        raise CheckpointError(
            f"{self.folder}: no usable checkpoint among {len(self._bad)}; to train from the "
            "beginning, start a new run"
        )

    def _read(self, number: int) -> Checkpoint:
        path = self.folder / f"{number:06}.json"
        content = read_inside(self.folder, path.name, limit=_JSON_LIMIT)
        document = parse_json(path, content)
        stated = {key: value for key, value in document.items() if key != "sha256"}
        if not _is_document(stated, content) or stated.get("number") != number:
            raise DataError(f"{path}: damaged; its SHA-256 is not the one stated")
        if stated.get("format") not in (FORMAT, _IN_PIECES):
            raise DataError(f"{path}: format {stated.get('format')!r}, expected {FORMAT}")
        name, state = f"{number:06}.safetensors", stated.get("state")
        tensors = read_checked(self.folder, name, stated.get("tensors"), limit=TENSOR_LIMIT)
        if not isinstance(state, dict):
            raise DataError(f"{path}: holds no state")
        try:
            found = tensors_of(tensors)
            if stated["format"] == _IN_PIECES:
                found |= read_pieces(self.folder, found, stated)
            return Checkpoint(number, state, found)
        except SafetensorError as error:
            raise DataError(f"{self.folder / name}: not a safetensors file: {error}") from error

    def remove(self) -> None:
        """Delete all generations; a finished run has no use for them."""
        if not self.folder.is_dir():
            return
        for number in self.numbers():
            (self.folder / f"{number:06}.json").unlink(missing_ok=True)
        self.clean()
        self.folder.rmdir()


def _is_document(stated: Mapping[str, Any], content: bytes) -> bool:
    """Whether these are the bytes that the contents have; nothing that JSON lacks has any."""
    try:
        return _document(stated) == content
    except (ValueError, RecursionError):
        return False


def _document(stated: Mapping[str, Any]) -> bytes:
    """The only bytes that these contents may have in a file."""
    text = json.dumps(stated, sort_keys=True, allow_nan=False)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return (json.dumps({**stated, "sha256": digest}, sort_keys=True) + "\n").encode()


@dataclass
class Schedule:
    """When to save: after some time and at the end of epochs, within a share of all time.

    Attributes:
        every_seconds: Inside an epoch; 0: after each step.
        budget: The share of the time that saving may take; 1: no limit.
        expected: Seconds that the next save may take.
    """

    every_seconds: float
    budget: float
    expected: float = 0.0
    clock: Callable[[], float] = clock_seconds
    spent: float = 0.0
    start: float = field(init=False)
    last: float = field(init=False)

    def __post_init__(self) -> None:
        self.start = self.last = self.clock()

    def is_due(self, *, ends_epoch: bool) -> bool:
        """Whether to save now."""
        now = self.clock()
        if not ends_epoch and now - self.last < self.every_seconds:
            return False
        return self.budget >= 1 or self.spent + self.expected <= self.budget * (now - self.start)

    def note(self, seconds: float) -> None:
        """Take note of a save that has just ended."""
        self.spent, self.expected, self.last = self.spent + seconds, seconds, self.clock()
