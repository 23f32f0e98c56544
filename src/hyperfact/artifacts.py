"""A run directory: text, JSON and safetensors, nothing pickled (docs/adr/0005).

    config.toml           the effective configuration
    entities.jsonl        a name a line, in the order of ids
    relations.jsonl
    weights.safetensors   parameters, and the representations that the encoder made with them
    metrics.json          results with their policy
    ranks-test.parquet    a row for each ranked query of a split (docs/reference/rank-table.md)
    log.jsonl             a line for each epoch, written as training goes
    manifest.json         written last: SHA-256 and size of each file, data, versions

A directory without a manifest belongs to a run that did not finish.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as tensors_of
from safetensors.torch import save as bytes_of
from torch import Tensor

from hyperfact.errors import DataError, StorageError, UserError
from hyperfact.facts import Derived, Literal, Vocabulary
from hyperfact.ragged import Array

FORMAT = 1
CONFIG, WEIGHTS, METRICS = "config.toml", "weights.safetensors", "metrics.json"
ENTITIES, RELATIONS, LOG, MANIFEST = (
    "entities.jsonl",
    "relations.jsonl",
    "log.jsonl",
    "manifest.json",
)
RANKS = "ranks-{split}.parquet"
_REQUIRED = (CONFIG, ENTITIES, RELATIONS, WEIGHTS, METRICS)


class RunWriter:
    """Fills a new run directory; every file appears whole or not at all.

    Args:
        path: The directory; it must not exist, or be empty.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise UserError(f"{path}: exists already; a run needs a directory of its own")
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}") from error

    def text(self, name: str, text: str) -> None:
        """Write a text file."""
        write_atomically(self.path / name, text.encode("utf-8"))

    def vocabulary(self, name: str, names: Vocabulary) -> None:
        """Write the names of a vocabulary."""
        self.text(name, "".join(line + "\n" for line in _lines(names)))

    def weights(self, tensors: Mapping[str, Tensor]) -> None:
        """Write all tensors into one file."""
        plain = {name: t.detach().contiguous().clone() for name, t in tensors.items()}
        write_atomically(self.path / WEIGHTS, bytes_of(plain))

    def table(self, name: str, columns: Mapping[str, Array], about: Mapping[str, Any]) -> None:
        """Write columns as Parquet, with what is to be known about them."""
        write_table(self.path / name, columns, about)

    def log(self, row: Mapping[str, Any]) -> None:
        """Append a line to the training log."""
        try:
            with (self.path / LOG).open("a", encoding="utf-8") as file:
                file.write(json.dumps(row) + "\n")
        except OSError as error:
            raise StorageError(f"{self.path / LOG}: {error.strerror}") from error

    def finish(self, facts: Mapping[str, Any]) -> None:
        """Write the manifest: what the run was, and the checksum of every file."""
        files = {
            path.name: {"sha256": sha256(path), "bytes": path.stat().st_size}
            for path in sorted(self.path.iterdir())
            if path.is_file() and path.name != MANIFEST
        }
        manifest = {"format": FORMAT, **facts, "files": files}
        self.text(MANIFEST, json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")


@dataclass(frozen=True)
class Stored:
    """What a run directory holds, checked."""

    path: Path
    config: str  # TOML
    entities: Vocabulary
    relations: Vocabulary
    tensors: Mapping[str, Tensor]
    metrics: Mapping[str, Any]
    manifest: Mapping[str, Any]


def read_run(path: Path) -> Stored:
    """Read a finished run.

    Raises:
        DataError: A missing, damaged or foreign file, by name.
    """
    if not path.is_dir():
        raise UserError(f"{path}: no such run directory")
    if not (path / MANIFEST).is_file():
        raise DataError(f"{path}: no {MANIFEST}; this is not a run, or one that did not finish")
    manifest = _json(path / MANIFEST)
    if manifest.get("format") != FORMAT:
        raise DataError(f"{path / MANIFEST}: format {manifest.get('format')!r}, expected {FORMAT}")
    contents = dict(_checked(path, manifest))
    return Stored(
        path,
        contents[CONFIG].decode("utf-8"),
        _vocabulary(path / ENTITIES, contents[ENTITIES]),
        _vocabulary(path / RELATIONS, contents[RELATIONS]),
        _tensors(path / WEIGHTS, contents[WEIGHTS]),
        _json(path / METRICS),
        manifest,
    )


def write_atomically(path: Path, content: bytes) -> None:
    """Write beside the target, flush to the disk, then rename over it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StorageError(f"{path}: {error.strerror}") from error


def write_table(path: Path, columns: Mapping[str, Array], about: Mapping[str, Any]) -> None:
    """Write numbers as Parquet beside the target, then rename over it.

    Args:
        path: The file.
        columns: Of equal length, by name.
        about: Kept in the file as JSON under the key `hyperfact`.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    text, name = (t.replace("'", "''") for t in (json.dumps(about), str(temporary)))
    plain = {key: np.ascontiguousarray(column) for key, column in columns.items()}
    try:
        with duckdb.connect(config={"threads": 1}) as db:
            db.register("columns", plain)
            options = f"FORMAT parquet, COMPRESSION zstd, KV_METADATA {{hyperfact: '{text}'}}"
            db.execute(f"COPY (SELECT * FROM columns) TO '{name}' ({options})")
        write_atomically(path, temporary.read_bytes())
    except duckdb.Error as error:
        raise StorageError(f"{path}: {str(error).partition(chr(10))[0]}") from error
    finally:
        temporary.unlink(missing_ok=True)


def read_table(path: Path, names: Sequence[str]) -> tuple[dict[str, Array], dict[str, Any]]:
    """These columns of a Parquet table of ours, and what is kept about them.

    Raises:
        DataError: No such file, not Parquet, or without one of the columns.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such table")
    fields = ", ".join(f'"{name}"' for name in names)
    try:
        with duckdb.connect() as db:
            db.execute("SET VARIABLE path = ?", [str(path)])
            found = db.execute(
                "SELECT decode(value) FROM parquet_kv_metadata(getvariable('path')) "
                "WHERE decode(key) = 'hyperfact'"
            ).fetchone()
            query = f"SELECT {fields} FROM read_parquet(getvariable('path'))"
            data = db.execute(query).fetchnumpy()
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise DataError(f"{path}: not a usable table ({reason})") from None
    if found is None:
        raise DataError(f"{path}: does not say what it holds; not a table of hyperfact")
    return {name: np.asarray(data[name]) for name in names}, dict(json.loads(found[0]))


def sha256(path: Path) -> str:
    """The checksum of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _checked(path: Path, manifest: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The content of each required file, compared with its checksum."""
    files = manifest.get("files")
    for name in _REQUIRED:
        entry = files.get(name) if isinstance(files, dict) else None
        if not isinstance(entry, dict):
            raise DataError(f"{path / MANIFEST}: does not list {name}")
        try:
            content = (path / name).read_bytes()
        except OSError as error:
            raise DataError(f"{path / name}: {error.strerror}") from error
        if hashlib.sha256(content).hexdigest() != entry.get("sha256"):
            raise DataError(f"{path / name}: damaged; its SHA-256 is not that of the manifest")
        yield name, content


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}") from error
    if not isinstance(value, dict):
        raise DataError(f"{path}: expected an object, got {type(value).__name__}")
    return value


def _lines(names: Iterable[str]) -> Iterator[str]:
    """A plain name is a string; the kind of any other is written beside it."""
    for name in names:
        kind = {Literal: "literal", Derived: "derived"}.get(type(name))
        yield json.dumps(str(name) if kind is None else {kind: str(name)})


def _vocabulary(path: Path, content: bytes) -> Vocabulary:
    names: list[str] = []
    for number, line in enumerate(content.decode("utf-8").splitlines(), start=1):
        value = json.loads(line)
        if isinstance(value, dict) and len(value) == 1:
            kind, text = next(iter(value.items()))
            value = {"literal": Literal, "derived": Derived}.get(kind, str)(text)
        if not isinstance(value, str):
            raise DataError(f"{path}:{number}: expected a name, got {line}")
        names.append(value)
    return Vocabulary(names)


def _tensors(path: Path, content: bytes) -> Mapping[str, Tensor]:
    try:
        tensors: dict[str, torch.Tensor] = tensors_of(content)
    except SafetensorError as error:
        raise DataError(f"{path}: not a safetensors file: {error}") from error
    return tensors
