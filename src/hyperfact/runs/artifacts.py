"""A run directory: text, JSON and safetensors, nothing pickled (docs/adr/0005).

    config.toml           the effective configuration
    entities.jsonl        a name a line, in the order of ids
    relations.jsonl
    added.jsonl           facts that joined after training, if any (docs/howto/new-facts.md)
    labels.tsv            how names are shown, if the data says so; written when the run begins
    weights.safetensors   parameters, and the representations that the encoder made with them
    metrics.json          results with their policy
    ranks-test.parquet    a row for each ranked query of a split (docs/reference/rank-table.md)
    log.jsonl             a line for each epoch, written as training goes
    manifest.json         written last: SHA-256 and size of each file, data, versions

A directory without a manifest belongs to a run that did not finish.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hyperfact.config import ExperimentConfig
from hyperfact.data.label_files import FILE, parse_labels
from hyperfact.errors import DataError, StorageError, UserError
from hyperfact.graph.facts import Fact, Vocabulary
from hyperfact.graph.hkg import Splits
from hyperfact.graph.label_texts import LabelTexts
from hyperfact.graph.queries import read_fact
from hyperfact.graph.ragged import Array
from hyperfact.runs.contents import lines_of, read_tensors, text_of, vocabulary_of
from hyperfact.system.lock import LOCK_FILES
from hyperfact.system.reading import check_name, parse_json, read_checked, read_inside
from hyperfact.system.tables import write_table
from hyperfact.system.writing import remove_leftovers, sha256, sync_folder, write_atomically

if TYPE_CHECKING:  # torch takes a second to import, which a look at a run should not pay
    from torch import Tensor, nn

FORMAT = 1
VECTORS = "representations."  # tensors that are no parameters
CONFIG, WEIGHTS, METRICS = "config.toml", "weights.safetensors", "metrics.json"
ENTITIES, RELATIONS = "entities.jsonl", "relations.jsonl"
LOG, MANIFEST = "log.jsonl", "manifest.json"
RANKS, FAILURE, LABELS = "ranks-{split}.parquet", "failure.json", FILE
ADDED = "added.jsonl"
_REQUIRED = (CONFIG, ENTITIES, RELATIONS, WEIGHTS, METRICS)
_OURS = {MANIFEST, FAILURE, *LOCK_FILES}  # files that the manifest does not list
_MANIFEST_LIMIT, _TEXT_LIMIT, _WEIGHTS_LIMIT = 2**24, 2**33, 2**40  # bytes


class RunWriter:
    """Fills a new run directory; every file appears whole or not at all.

    Args:
        path: The directory; it must not exist, or be empty.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.refuse_used()
        try:
            path.mkdir(parents=True, exist_ok=True)
            sync_folder(path.parent)
        except OSError as error:
            raise StorageError(f"{path}: {error.strerror}") from error

    def refuse_used(self) -> None:
        """Check that the directory holds nothing but what a killed beginning has left."""
        if self.path.is_dir():
            names = {path.name for path in self.path.iterdir() if path.suffix != ".tmp"}
            if names <= LOCK_FILES:
                return
        elif not self.path.exists():
            return
        remedy = "a run needs a directory of its own"
        if (self.path / CONFIG).is_file() and not (self.path / MANIFEST).exists():
            remedy = f"it did not finish, `hyperfact resume {self.path}` goes on"
        raise UserError(f"{self.path}: exists already; {remedy}")

    @classmethod
    def reopen(cls, path: Path) -> Self:
        """The writer of a run that did not finish; call it as the only writer.

        Raises:
            DataError: There is no run here that could go on.
        """
        if not (path / CONFIG).is_file():
            raise DataError(f"{path}: no {CONFIG}; this is not a run")
        writer = cls.__new__(cls)
        writer.path = path
        remove_leftovers(path)
        (path / FAILURE).unlink(missing_ok=True)
        return writer

    def fail(self, error: BaseException, *, checkpoints: int) -> None:
        """Note why the run ended, with how many checkpoints; a disk that refuses that is let be."""
        what = {"error": type(error).__name__, "message": str(error), "checkpoints": checkpoints}
        with suppress(StorageError):
            self.text(FAILURE, json.dumps(what) + "\n")

    def text(self, name: str, text: str) -> None:
        """Write a text file."""
        write_atomically(self.path / name, text.encode("utf-8"))

    def lines(self, name: str, lines: Iterable[str]) -> None:
        """Write a text file line by line."""
        self.text(name, "".join(line + "\n" for line in lines))

    def vocabulary(self, name: str, names: Vocabulary) -> None:
        """Write the names of a vocabulary."""
        self.lines(name, lines_of(names))

    def weights(self, tensors: "Mapping[str, Tensor]") -> None:
        """Write all tensors into one file."""
        from safetensors.torch import save as bytes_of

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

    def rewrite_log(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Put these lines in the place of the log."""
        self.lines(LOG, map(json.dumps, rows))

    def finish(self, facts: Mapping[str, Any]) -> None:
        """Write the manifest: what the run was, and the checksum of every file."""
        files = {
            path.name: {"sha256": sha256(path), "bytes": path.stat().st_size}
            for path in sorted(self.path.iterdir())
            if path.is_file() and path.name not in _OURS
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
    tensors: "Mapping[str, Tensor]"
    metrics: Mapping[str, Any]
    manifest: Mapping[str, Any]
    labels: LabelTexts
    added: tuple[Fact, ...] = ()  # after training


def read_run(path: Path) -> Stored:
    """Read a finished run.

    Raises:
        DataError: A missing, damaged or foreign file, by name.
    """
    if not path.is_dir():
        raise UserError(f"{path}: no such run directory")
    manifest = read_manifest(path)
    contents = dict(_checked(path, manifest))
    return Stored(
        path,
        text_of(path / CONFIG, contents[CONFIG]),
        vocabulary_of(path / ENTITIES, contents[ENTITIES]),
        vocabulary_of(path / RELATIONS, contents[RELATIONS]),
        read_tensors(path / WEIGHTS, contents[WEIGHTS]),
        parse_json(path / METRICS, contents[METRICS]),
        manifest,
        parse_labels(path / LABELS, text_of(path / LABELS, contents.get(LABELS, b""))),
        tuple(map(read_fact, vocabulary_of(path / ADDED, contents.get(ADDED, b"")))),
    )


def read_config(path: Path) -> ExperimentConfig:
    """The configuration of a run, finished or not."""
    content = read_inside(path, CONFIG, limit=_MANIFEST_LIMIT)
    return ExperimentConfig.from_toml(text_of(path / CONFIG, content))


def read_failure(path: Path) -> dict[str, Any]:
    """What a run noted when it failed; nothing, if it did not."""
    file = path / FAILURE
    return parse_json(file, read_inside(path, FAILURE, limit=2**24)) if file.is_file() else {}


def read_manifest(path: Path) -> dict[str, Any]:
    """What a finished run says of itself.

    Raises:
        DataError: It is not there, or of another format.
    """
    if not (path / MANIFEST).exists():
        raise DataError(f"{path}: no {MANIFEST}; this is not a run, or one that did not finish")
    content = read_inside(path, MANIFEST, limit=_MANIFEST_LIMIT)
    manifest = parse_json(path / MANIFEST, content)
    if manifest.get("format") != FORMAT:
        raise DataError(
            f"{path / MANIFEST}: format {str(manifest.get('format'))[:40]}, expected {FORMAT}"
        )
    if not isinstance(manifest.get("data"), dict):
        raise DataError(f"{path / MANIFEST}: does not say which facts the run is about")
    return manifest


def check_facts(stored: Stored, splits: Splits) -> None:
    """Refuse facts, names or an order of names that are not those of the run."""
    for name, facts in splits.items():
        if stored.manifest["data"].get(name) != facts.fingerprint:
            raise DataError(f"{stored.path}: the {name} facts are not those of the run")
    if splits.entities != stored.entities or splits.relations != stored.relations:
        raise DataError(f"{stored.path}: names or their order are not those of the run")


def check_vectors(stored: Stored, dim: int) -> None:
    """Compare the stored vectors with the configuration before memory is taken for a model."""
    sizes = {"entities": len(stored.entities), "relations": len(stored.relations)}
    for name, count in sizes.items():
        vectors, expected = stored.tensors.get(VECTORS + name), (count, dim)
        found = None if vectors is None else tuple(vectors.shape)
        if found is None or found[1:] != expected[1:] or found[0] < count:
            raise DataError(f"{stored.path}: vectors of {name} are {found}, expected {expected}")
        if vectors is not None and not vectors.is_floating_point():
            raise DataError(f"{stored.path}: vectors of {name} are of type {vectors.dtype}")


def check_tensors(path: Path, tensors: "Mapping[str, Tensor]", module: "nn.Module") -> None:
    """Compare names, shapes and types with those of a module."""
    expected = {name: (tuple(t.shape), t.dtype) for name, t in module.state_dict().items()}
    found = {name: (tuple(t.shape), t.dtype) for name, t in tensors.items()}
    for name in sorted(expected.keys() | found.keys()):
        if expected.get(name) != found.get(name):
            raise DataError(
                f"{path}: {ascii(name)[:80]} is {found.get(name, 'absent')}, "
                f"the model of this configuration has {expected.get(name, 'no such tensor')}"
            )


def _checked(path: Path, manifest: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    """The content of each required file, compared with size and checksum."""
    files = manifest.get("files")
    if not isinstance(files, dict):
        raise DataError(f"{path / MANIFEST}: does not list the files")
    for name in files:
        check_name(name, path / MANIFEST)
    if len({name.casefold() for name in files}) < len(files):
        raise DataError(f"{path / MANIFEST}: two names differ in case only")
    for name in (*_REQUIRED, *({LABELS, ADDED} & files.keys())):
        if name not in files:
            raise DataError(f"{path / MANIFEST}: does not list {name}")
        limit = _WEIGHTS_LIMIT if name == WEIGHTS else _TEXT_LIMIT
        yield name, read_checked(path, name, files[name], limit=limit)
