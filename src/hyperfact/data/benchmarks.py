"""The public benchmarks: what they are, where they come from, and that they are what they say.

The files of each (repository, commit, path, size, SHA-256) stand in `benchmarks.tsv` beside this
module. Where no checksum is known, the first download records it and later ones are held to it.
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
_SPLITS = ("train", "valid", "test", "aux")

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
        return next((s for s in _SPLITS if s in self.name), None)


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


_FREEBASE = "Freebase data, CC BY"
_WIKIDATA = "Wikidata data, CC0"
_ROWS = (
    Benchmark("FB-AUTO", "Freebase, cars; RAM's split", _FREEBASE, "Fatemi et al. 2020", "nary"),
    Benchmark("JF17K", "Freebase; RAM's split", _FREEBASE, "Wen et al. 2016", "nary"),
    Benchmark("JF17K-HypE", "Freebase; HypE's split", _FREEBASE, "Fatemi et al. 2020"),
    Benchmark("JF17K-StarE", "Freebase; cleaned by StarE", _FREEBASE, "Galkin et al. 2020"),
    Benchmark("WikiPeople", "people of Wikidata", _WIKIDATA, "Guan et al. 2019", "nalp"),
    Benchmark("WD50K", "Wikidata; 13.6 % qualified", "CC BY 4.0", "Galkin et al. 2020", "stare"),
    Benchmark("WD50K_33", "WD50K, a third qualified", "CC BY 4.0", "Galkin et al. 2020", "stare"),
    Benchmark("WD50K_66", "WD50K, two thirds", "CC BY 4.0", "Galkin et al. 2020", "stare"),
    Benchmark("WD50K_100", "WD50K, all qualified", "CC BY 4.0", "Galkin et al. 2020", "stare"),
    Benchmark("WikiPeople-3", "WikiPeople, arity 3", _WIKIDATA, "Di et al. 2021", "nary"),
    Benchmark("WikiPeople-4", "WikiPeople, arity 4", _WIKIDATA, "Di et al. 2021", "nary"),
    Benchmark("JF17K-3", "JF17K, arity 3", _FREEBASE, "Di et al. 2021", "nary"),
    Benchmark("JF17K-4", "JF17K, arity 4", _FREEBASE, "Di et al. 2021", "nary"),
    Benchmark("M-FB15K", "Freebase, n-ary FB15K", _FREEBASE, "Fatemi et al. 2020"),
    Benchmark("JF-IND", "JF17K, inductive", _FREEBASE, "Yadati 2020", "nary-int"),
    Benchmark("WP-IND", "WikiPeople, inductive", _WIKIDATA, "Yadati 2020", "nary-int"),
    Benchmark("MFB-IND", "M-FB15K, inductive", _FREEBASE, "Yadati 2020", "nary-int"),
)


def _with_files() -> dict[str, Benchmark]:
    text = (package_files("hyperfact.data") / "benchmarks.tsv").read_text(encoding="utf-8")
    found: dict[str, list[RemoteFile]] = {row.name: [] for row in _ROWS}
    for row in csv.DictReader(text.splitlines(), delimiter="\t"):
        file = RemoteFile(
            row["file"],
            row["repository"],
            row["path"],
            row["commit"],
            int(row["lines"]) if row["lines"] else None,
            int(row["bytes"]) if row["bytes"] else None,
            row["sha256"] or None,
        )
        found[row["benchmark"]].append(file)
    return {
        b.name: Benchmark(b.name, b.about, b.licence, b.citation, b.format, tuple(found[b.name]))
        for b in _ROWS
    }


#: Every benchmark by name. Adding one: a row above, and its files in benchmarks.tsv.
BENCHMARKS: Mapping[str, Benchmark] = _with_files()


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
