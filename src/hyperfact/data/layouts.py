"""Which file of a folder holds which split, by its name.

Inductive benchmarks have a file more: the support facts, which a model is shown when it is asked,
as `aux` (G-MPNN), `msg` (MAYPL) or `inference`. GraIL's have a folder more: beside `fb237_v1`,
which is trained on, lies `fb237_v1_ind`, whose training facts support its test facts.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from hyperfact.errors import DataError

_WORDS = ("train", "valid", "val", "dev", "test", "aux", "msg", "support", "inference")
_SPLIT = re.compile(rf"(?:^|[^a-z])({'|'.join(_WORDS)})(?:[^a-z]|$)")
_SAME = {"val": "valid", "dev": "valid", **dict.fromkeys(("msg", "support", "inference"), "aux")}
_ORDER = ("train", "valid", "test", "aux")
_INDUCTIVE = "_ind"  # what the folder of other entities is called after that of training


def split_files(folder: Path) -> dict[str, Path]:
    """The file of each split in a folder, by its name; `test.txt` goes before `test_2.txt`."""
    found: dict[str, Path] = {}
    for split, paths in split_names(folder).items():
        plain = [path for path in paths if path.name.partition(".")[0].lower() in _WORDS]
        chosen = plain if len(plain) == 1 else paths
        if len(chosen) > 1:
            both = " and ".join(path.name for path in chosen[:2])
            raise DataError(f"{folder}: both {both} are {split} files")
        found[split] = chosen[0]
    if not found:
        raise DataError(f"{folder}: no file is named after train, valid or test")
    return {split: found[split] for split in _ORDER if split in found}


def split_names(folder: Path) -> dict[str, list[Path]]:
    """The files of a folder that are named after each split."""
    found: dict[str, list[Path]] = {}
    for path in _visible(folder):
        match = _SPLIT.search(path.name.lower())
        if match is not None:
            found.setdefault(_SAME.get(match[1], match[1]), []).append(path)
    return found


def _visible(folder: Path) -> list[Path]:
    paths = (path for path in folder.iterdir() if not path.name.startswith("."))
    return sorted(path for path in paths if path.is_file())


def all_files(folder: Path) -> dict[str, Path]:
    """The file of each split of a dataset: those of a folder, or of two as GraIL has them."""
    found, trained_on = split_files(folder), _trained_on(folder)
    if trained_on is None or "train" not in found or "aux" in found:
        return found
    first = split_files(trained_on)
    parts = {**first, "test": found.get("test"), "aux": found["train"]}
    return {split: path for split in _ORDER if (path := parts.get(split)) is not None}


def _trained_on(folder: Path) -> Path | None:
    """The folder of training facts that goes before an inductive one."""
    name = folder.resolve().name
    beside = folder.resolve().with_name(name.removesuffix(_INDUCTIVE))
    is_one = name != beside.name and beside.is_dir() and "train" in split_names(beside)
    return beside if is_one else None


def unread_files(folder: Path, files: Mapping[str, Path]) -> list[str]:
    """Names of files that are called after a split, and were not taken."""
    paths = (path for path in _visible(folder) if path.resolve() not in _resolved(files))
    return [path.name for path in paths if _SPLIT.search(path.name)]


def _resolved(files: Mapping[str, Path]) -> set[Path]:
    return {path.resolve() for path in files.values()}
