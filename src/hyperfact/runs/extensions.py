"""Somebody else's encoders and decoders: from a file that the user names, or installed ones.

Code is loaded only from what the user names (`--use FILE`, `use(FILE)`) or has installed (entry
points of the groups `hyperfact.encoders` and `hyperfact.decoders`), never because a run says so.
"""

import hashlib
import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.util import module_from_spec, spec_from_file_location
from inspect import isabstract
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from hyperfact.config import Section
from hyperfact.errors import DataError, HyperfactError, UnknownNameError, UserError
from hyperfact.models.decoders import DECODERS
from hyperfact.models.encoders import ENCODERS

Kind = Literal["encoder", "decoder"]
_BUILT_IN: Mapping[Kind, Mapping[str, Any]] = {"encoder": ENCODERS, "decoder": DECODERS}


@dataclass(frozen=True)
class Extension:
    """An encoder or a decoder from outside the package."""

    kind: Kind
    name: str
    owner: type
    file: str  # or the distribution that it is installed with
    sha256: str = ""


_used: dict[tuple[Kind, str], Extension] = {}


def use(path: Path | str) -> list[Extension]:
    """Load a file of one's own; its encoders and decoders then have names like the others.

    The name is that of the class in lower case.

    Raises:
        UserError: A file that cannot be loaded, that defines neither, or a name that is taken.
    """
    path = Path(path)
    module, digest = _load(path)
    found = [
        Extension(kind, owner.__name__.lower(), owner, path.name, digest)
        for kind, (base, _) in _bases().items()
        for owner in vars(module).values()
        if _defines(module, owner, base)
    ]
    if not found:
        raise UserError(
            f"{path}: defines no decoder and no encoder: a class that derives from "
            "hyperfact.models.decoders.Decoder or hyperfact.models.encoders.Encoder"
        )
    for extension in found:
        _check(extension, path)
        _used[extension.kind, extension.name] = extension
    return found


def _bases() -> Mapping[Kind, tuple[type, type]]:
    """For each kind, what its classes and their settings derive from; loads torch."""
    from hyperfact.models.decoders.decoder import Decoder
    from hyperfact.models.encoders.encoder import Encoder, EncoderSettings

    return {"encoder": (Encoder, EncoderSettings), "decoder": (Decoder, Section)}


def _defines(module: ModuleType, owner: object, base: type) -> bool:
    mine = isinstance(owner, type) and owner.__module__ == module.__name__
    return mine and issubclass(owner, base) and not isabstract(owner)  # type: ignore[arg-type]


def _check(extension: Extension, path: Path) -> None:
    settings = getattr(extension.owner, "Settings", None)
    base = _bases()[extension.kind][1]
    if not (isinstance(settings, type) and issubclass(settings, base)):
        raise UserError(
            f"{path}: {extension.owner.__name__} has no `Settings`, a class of options that "
            f"derives from {base.__module__}.{base.__name__}"
        )
    if extension.name in _BUILT_IN[extension.kind]:
        raise UserError(
            f"{path}: the name {extension.name!r} belongs to a {extension.kind} of the package; "
            f"call the class otherwise than {extension.owner.__name__}"
        )


def _load(path: Path) -> tuple[ModuleType, str]:
    """The module of a file, and its SHA-256; errors say the line."""
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror or error}") from error
    spec = spec_from_file_location(f"hyperfact_own_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path}: not a Python file; expected a name that ends in .py")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses and type hints look there
    try:
        spec.loader.exec_module(module)
    except HyperfactError:
        raise
    except Exception as error:  # whatever somebody else's code raises
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno for frame in frames if frame.filename == spec.origin]
        line = getattr(error, "lineno", None) or (lines[-1] if lines else 1)
        raise UserError(f"{path}:{line}: {type(error).__name__}: {error}") from error
    return module, digest


class Members(Mapping[str, Any]):
    """The names of a family: those of the package, then installed ones, then those in use.

    Installed code is loaded when its name is asked for.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind: Kind = kind

    def __getitem__(self, name: str) -> Any:
        if (self.kind, name) in _used:
            return _used[self.kind, name].owner
        if name in _BUILT_IN[self.kind]:
            return _BUILT_IN[self.kind][name]
        return _installed(self.kind)[name].load()

    def __iter__(self) -> Iterator[str]:
        mine = [name for kind, name in _used if kind == self.kind]
        return iter(dict.fromkeys([*_BUILT_IN[self.kind], *_installed(self.kind), *mine]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, name: object) -> bool:
        return any(name == known for known in self)  # without loading it


TABLES: Mapping[Kind, Members] = {kind: Members(kind) for kind in _BUILT_IN}


def refuse_unknown(names: Mapping[Kind, str]) -> None:
    """Refuse names that no table has, before anything is loaded for them.

    Raises:
        UnknownNameError: Says the nearest one.
    """
    for kind, name in names.items():
        if name not in TABLES[kind]:
            raise UnknownNameError(kind, name, TABLES[kind])


@cache
def _installed(kind: Kind) -> Mapping[str, EntryPoint]:
    found = entry_points(group=f"hyperfact.{kind}s")
    return {point.name: point for point in found if point.name not in _BUILT_IN[kind]}


def note_extensions(names: Mapping[Kind, str]) -> dict[str, dict[str, str]]:
    """What a run notes of code that is not the package's: by kind, where it came from."""
    found: dict[str, dict[str, str]] = {}
    for kind, name in names.items():
        if (kind, name) in _used:
            own = _used[kind, name]
            found[kind] = {"name": name, "file": own.file, "sha256": own.sha256}
        elif name not in _BUILT_IN[kind] and name in _installed(kind):
            owner = _installed(kind)[name].dist
            found[kind] = {"name": name, "file": owner.name if owner else "", "sha256": ""}
    return found


def refuse_missing(noted: object, where: Path) -> None:
    """Refuse a run whose code is not there.

    Args:
        noted: What `note_extensions` gave when it was stored.
        where: The run, for the message.

    Raises:
        UserError: Says which file to name.
        DataError: What was noted is damaged.
    """
    for kind, entry in (noted if isinstance(noted, Mapping) else {}).items():
        if not isinstance(entry, Mapping):
            raise DataError(f"{where}: its manifest does not say which {str(kind)[:40]} it needs")
        name, file = (str(entry.get(key, "")) for key in ("name", "file"))
        if kind in TABLES and name not in TABLES[kind]:
            how = f"--use {file}" if file.endswith(".py") else f"pip install {file}"
            raise UserError(
                f"{where}: its {kind} {name!r} is not part of hyperfact; it came from {file}. "
                f"If you trust that code, add it: {how}"
            )
