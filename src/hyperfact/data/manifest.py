"""The manifest of a dataset in parts: which Parquet files belong to it, their sizes and checksums.

A dataset is whole or it is refused: every part is there, has its size and gives its SHA-256. So
neither a copy that was cut short nor a file that somebody edited is taken for the facts.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hyperfact.errors import DataError
from hyperfact.system.reading import check_name, parse_json, read_inside
from hyperfact.system.writing import sha256

MANIFEST = "dataset.json"
TABLES = ("entities", "relations", "facts", "qualifiers")
_FORMAT = "hyperfact parts 1"
_LIMIT = 2**28  # bytes of a manifest: some million parts
_FIELDS = {"file": str, "table": str, "split": str, "rows": int, "bytes": int, "sha256": str}


@dataclass(frozen=True)
class Part:
    """One file of a table."""

    file: str
    table: str  # one of TABLES
    split: str  # of facts and qualifiers; empty for names
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """A dataset in parts: its sizes, and its files in their order."""

    folder: Path
    splits: Mapping[str, int]  # split -> facts
    entities: int
    relations: int
    parts: tuple[Part, ...]

    @property
    def name(self) -> str:
        """What the dataset is called: its folder."""
        return self.folder.resolve().name

    def files(self, table: str, split: str = "") -> list[str]:
        """The paths of the parts of a table, in order."""
        found = (p.file for p in self.parts if (p.table, p.split) == (table, split))
        return [str(self.folder / file) for file in found]

    def rows(self, table: str, split: str = "") -> int:
        """How many rows a table has."""
        return sum(p.rows for p in self.parts if (p.table, p.split) == (table, split))


def describe(path: Path, table: str, split: str, rows: int) -> Part:
    """The entry of a file that was just written."""
    return Part(path.name, table, split, rows, path.stat().st_size, sha256(path))


def manifest_text(splits: Mapping[str, int], sizes: tuple[int, int], parts: Iterable[Part]) -> str:
    """The manifest of these parts; `sizes` counts entities and relations."""
    about = {
        "format": _FORMAT,
        "splits": dict(splits),
        "entities": sizes[0],
        "relations": sizes[1],
        "parts": [asdict(part) for part in parts],
    }
    return json.dumps(about, indent=1) + "\n"


def is_parted(source: object) -> bool:
    """Whether this is the folder of a dataset in parts."""
    return isinstance(source, str | Path) and (Path(source) / MANIFEST).is_file()


def read_manifest(folder: Path, *, check: bool = True) -> Manifest:
    """The manifest of a dataset in parts, every part of which is there and as it was written.

    Args:
        folder: The dataset.
        check: Also read every part for its checksum; sizes are looked at in any case.

    Raises:
        DataError: No manifest of this kind; a part that is missing or altered, by its name.
    """
    path = folder / MANIFEST
    found = parse_json(path, read_inside(folder, MANIFEST, limit=_LIMIT))
    if not isinstance(found, dict) or found.get("format") != _FORMAT:
        raise DataError(f'{path}: not a dataset in parts; expected "format": "{_FORMAT}"')
    manifest = Manifest(
        folder,
        _sizes(path, found.get("splits")),
        _size(path, found.get("entities")),
        _size(path, found.get("relations")),
        tuple(_part(path, entry) for entry in _list(path, found.get("parts"))),
    )
    for split, facts in manifest.splits.items():
        if manifest.rows("facts", split) != facts:
            raise DataError(f"{path}: the parts of {split} do not hold its {facts:,} facts")
    for part in manifest.parts:
        check_part(folder / part.file, part, content=check)
    return manifest


def check_part(path: Path, part: Part, *, content: bool) -> None:
    """Refuse a file that is not the part that was written.

    Args:
        path: The file.
        part: What the manifest says of it.
        content: Also read it for its checksum.

    Raises:
        DataError: It is missing or altered.
    """
    remedy = "copy the dataset again, or convert it anew"
    if path.is_symlink() or not path.is_file():
        raise DataError(f"{path}: this part of the dataset is missing; {remedy}")
    size = path.stat().st_size
    if size != part.bytes:
        raise DataError(f"{path}: altered, {size:,} bytes and not {part.bytes:,}; {remedy}")
    if content and sha256(path) != part.sha256:
        raise DataError(f"{path}: altered, its SHA-256 is not that of {MANIFEST}; {remedy}")


def _part(path: Path, entry: Any) -> Part:
    if not isinstance(entry, dict) or set(entry) != set(_FIELDS):
        raise DataError(f"{path}: a part is described by {', '.join(_FIELDS)}")
    for name, kind in _FIELDS.items():
        if type(entry[name]) is not kind:
            raise DataError(f"{path}: {name} of a part is not {kind.__name__}")
    if entry["table"] not in TABLES:
        raise DataError(f"{path}: no table {entry['table'][:80]!r} (known: {', '.join(TABLES)})")
    check_name(entry["file"], path)
    return Part(**entry)


def _list(path: Path, value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise DataError(f"{path}: parts must be a list")
    return value


def _size(path: Path, value: Any) -> int:
    if type(value) is not int or not 0 <= value < 2**31:
        raise DataError(f"{path}: expected the number of names, got {ascii(value)[:80]}")
    return value


def _sizes(path: Path, value: Any) -> dict[str, int]:
    if not isinstance(value, dict) or not value:
        raise DataError(f"{path}: expected splits with their numbers of facts")
    for facts in value.values():
        if type(facts) is not int or facts < 0:
            raise DataError(f"{path}: expected a number of facts, got {ascii(facts)[:80]}")
    return {check_name(name, path): facts for name, facts in value.items()}
