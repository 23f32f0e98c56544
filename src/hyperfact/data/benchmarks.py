"""The public benchmarks: what they are, where they come from, and that they are what they say.

They stand in `benchmarks.tsv` beside this module, their files (repository, commit, path, size,
SHA-256) in `benchmark_files.tsv`. Where no checksum is known, the first download records it and
later ones are held to it.
"""

import csv
import hashlib
import json
import os
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files as package_files
from pathlib import Path

from hyperfact.errors import DataError, StorageError
from hyperfact.system.writing import staged, write_texts

_HOST = "https://raw.githubusercontent.com"
_RECORDED = "recorded-checksums.json"
_CHUNK = 1 << 18
_SPLITS = {name: name for name in ("train", "valid", "test", "aux")} | {"msg": "aux"}

#: Told while a file comes: its name, the bytes so far, and all of them (0 if unknown).
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class RemoteFile:
    """One file of a benchmark at a fixed commit of a public repository."""

    name: str
    repository: str
    path: str
    commit: str
    lines: int | None
    size: int | None
    sha256: str | None

    @property
    def url(self) -> str:
        """The address of exactly this version."""
        return f"{_HOST}/{self.repository}/{self.commit}/{self.path}"

    @property
    def split(self) -> str | None:
        """The split whose facts it holds, if it holds facts."""
        return next((split for word, split in _SPLITS.items() if word in self.name), None)


@dataclass(frozen=True)
class Benchmark:
    """One public benchmark."""

    name: str
    about: str
    licence: str
    citation: str
    format: str | None = None  # recognised by content, file by file, if None
    files: tuple[RemoteFile, ...] = field(default=(), repr=False)

    @property
    def sizes(self) -> dict[str, int | None]:
        """The number of facts of each split, where known."""
        return {file.split: file.lines for file in self.files if file.split is not None}


def _table(name: str) -> list[dict[str, str]]:
    text = (package_files("hyperfact.data") / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


def _read() -> dict[str, Benchmark]:
    files: dict[str, list[RemoteFile]] = {}
    for row in _table("benchmark_files.tsv"):
        file = RemoteFile(
            row["file"],
            row["repository"],
            row["path"],
            row["commit"],
            int(row["lines"]) if row["lines"] else None,
            int(row["bytes"]) if row["bytes"] else None,
            row["sha256"] or None,
        )
        files.setdefault(row["benchmark"], []).append(file)
    return {
        row["name"]: Benchmark(
            row["name"],
            row["about"],
            row["licence"],
            row["citation"],
            row["format"] or None,
            tuple(files.get(row["name"], ())),
        )
        for row in _table("benchmarks.tsv")
    }


#: Every benchmark by name. Adding one: a row in benchmarks.tsv; for downloads, its files too.
BENCHMARKS: Mapping[str, Benchmark] = _read()


def search_path(data_dir: str | Path | None = None) -> list[Path]:
    """Where benchmarks are looked up: the given folder, `HYPERFACT_DATA`, the cache."""
    named = [data_dir, os.environ.get("HYPERFACT_DATA")]
    return [*(Path(folder) for folder in named if folder), cache_folder()]


def cache_folder() -> Path:
    """Where downloads are kept."""
    own = os.environ.get("HYPERFACT_CACHE")
    if own:
        return Path(own)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hyperfact" / "data"


def present(benchmark: Benchmark, data_dir: str | Path | None = None) -> Path | None:
    """The first folder of the search path that holds every file."""
    for folder in search_path(data_dir):
        if all((folder / benchmark.name / file.name).is_file() for file in benchmark.files):
            return folder / benchmark.name
    return None


def locate(
    benchmark: Benchmark,
    data_dir: str | Path | None = None,
    *,
    progress: Progress | None = None,
) -> dict[str, Path]:
    """The file of each split: found and verified, or downloaded."""
    folder = present(benchmark, data_dir)
    if folder is None:
        folder = download(benchmark, progress=progress)
    else:
        for file in benchmark.files:
            _verify(file, folder / file.name)
    return {file.split: folder / file.name for file in benchmark.files if file.split}


def download(benchmark: Benchmark, *, progress: Progress | None = None) -> Path:
    """Fetch every file into the cache, verify it, and place all of them at once."""
    folder = cache_folder() / benchmark.name
    recorded = _recorded()
    with staged(folder) as stage:
        for file in benchmark.files:
            _fetch(benchmark, file, stage / file.name, progress)
            key = f"{benchmark.name}/{file.name}"
            digest = _verify(file, stage / file.name, recorded.get(key))
            if file.sha256 is None:
                recorded[key] = digest
    write_texts(cache_folder(), {_RECORDED: json.dumps(recorded, indent=2, sort_keys=True) + "\n"})
    return folder


def _recorded() -> dict[str, str]:
    path = cache_folder() / _RECORDED
    if not path.is_file():
        return {}
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except ValueError:
        raise DataError(f"{path}: damaged; remove it to record checksums anew") from None


def _fetch(benchmark: Benchmark, file: RemoteFile, target: Path, progress: Progress | None) -> None:
    try:
        with urllib.request.urlopen(file.url, timeout=30) as answer, target.open("wb") as out:
            size, done = int(answer.headers.get("Content-Length") or file.size or 0), 0
            while block := answer.read(_CHUNK):
                out.write(block)
                done += len(block)
                if progress is not None:
                    progress(file.name, done, size)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        names = ", ".join(f.name for f in benchmark.files)
        raise StorageError(
            f"{benchmark.name} is not here and cannot be downloaded ({reason}); put {names} into "
            f"{cache_folder() / benchmark.name}, or name the folder that holds {benchmark.name}/ "
            "with --data-dir or HYPERFACT_DATA"
        ) from None


def _verify(file: RemoteFile, path: Path, recorded: str | None = None) -> str:
    """The SHA-256 of a file, which must be the known one."""
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    expected = file.sha256 or recorded
    if expected is not None and found != expected:
        raise DataError(
            f"{path}: SHA-256 is {found[:12]}…, the benchmark's is {expected[:12]}…; "
            "remove the file to download it again, or load it by its path"
        )
    return found
