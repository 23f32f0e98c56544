"""Files of a run with random changes, and what happens to whoever reads them."""

import hashlib
import json
import random
import re
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from hyperfact.errors import HyperfactError
from hyperfact.runs import artifacts
from hyperfact.system.memory import peak_memory

_NUMBER = re.compile(rb"(?<![\w.])-?\d+(?:\.\d+)?(?![\w.])")
_EXTREMES = (
    *(b"-1", b"0", b"1e999", b"2147483648", b"9223372036854775808", b"1" + b"0" * 400),
    *(b"null", b"true", b'""', b"[]", b"{}", b"NaN", b'"\\ud800"', b"[" * 3000),
)


def mutate(content: bytes, rng: random.Random) -> bytes:
    """One to four random changes: bits, cuts, insertions, repeats, other numbers."""
    changed = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(changed) or 1)
        kind = rng.randrange(5)
        if kind == 0 and changed:
            changed[min(at, len(changed) - 1)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del changed[at : at + rng.randint(1, 60)]
        elif kind == 2:
            changed[at:at] = rng.randbytes(rng.randint(1, 20))
        elif kind == 3:
            changed[at:at] = changed[: rng.randint(1, 60)]
        elif number := _NUMBER.search(bytes(changed), at):
            changed[slice(*number.span())] = rng.choice(_EXTREMES)
    return bytes(changed)


def mutate_tensors(content: bytes, rng: random.Random) -> bytes:
    """Half of the time the header alone, with its length stated as it then is."""
    if rng.random() < 0.5:
        return mutate(content, rng)
    (length,) = struct.unpack("<Q", content[:8])
    header = mutate(content[8 : 8 + length], rng)
    return struct.pack("<Q", len(header)) + header + content[8 + length :]


def mutated(name: str, content: bytes, rng: random.Random) -> bytes:
    change = mutate_tensors if name.endswith(".safetensors") else mutate
    return change(content, rng)


@dataclass
class Damage:
    """A run in which one file at a time is changed.

    Where the manifest lists the file, it states the new checksum in seven of eight cases: what is
    refused then is refused for its content.
    """

    folder: Path
    names: Sequence[str]
    codes: list[int] = field(default_factory=list)  # exit codes; 0: it was read after all
    slowest: float = 0.0  # seconds of processor time for one file

    def __post_init__(self) -> None:
        self._manifest = (self.folder / artifacts.MANIFEST).read_bytes()
        self._start, self.size = peak_memory(), 0

    @property
    def growth(self) -> int:
        """By how many bytes the most memory ever held has grown."""
        return peak_memory() - self._start

    def try_all(self, doors: Sequence[Callable[[], object]], count: int, seed: int) -> None:
        """Change one file after the other, and go through each door each time."""
        rng = random.Random(seed)
        for name in self.names:
            path = self.folder / name
            whole = path.read_bytes()
            self.size = max(self.size, len(whole))
            for case in range(count // len(self.names)):
                self._put(path, whole, mutated(name, whole, rng), agree=rng.random() < 7 / 8)
                for door in doors:
                    self._enter(door, f"seed {seed}, case {case} of {name}")
            path.write_bytes(whole)
            (self.folder / artifacts.MANIFEST).write_bytes(self._manifest)

    def _enter(self, door: Callable[[], object], what: str) -> None:
        """Anything but a refusal is a crash."""
        start = time.process_time()
        try:
            door()
        except HyperfactError as error:
            self.codes.append(error.exit_code)
        except BaseException as error:
            raise AssertionError(f"{what}: {error!r}") from error
        else:
            self.codes.append(0)
        self.slowest = max(self.slowest, time.process_time() - start)

    def _put(self, path: Path, whole: bytes, content: bytes, *, agree: bool) -> None:
        path.write_bytes(content)
        old, new = _entry(whole), _entry(content if agree else whole)
        if old in self._manifest:
            changed = self._manifest.replace(old, new)
            (self.folder / artifacts.MANIFEST).write_bytes(changed)


def _entry(content: bytes) -> bytes:
    """A file as the manifest states it."""
    text = json.dumps({"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)})
    return text[1:-1].replace(", ", ",\n      ").encode()
