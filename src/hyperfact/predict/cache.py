"""The cache of a run: its facts and its calibration, both made again at will.

    cache/facts.safetensors    the facts of all splits by the ids of the run
    cache/calibration.json     temperatures, how they were fitted, and how well they fit
    cache/index.json           written last: SHA-256 of both, and of the run they belong to

With them a run answers without its dataset, and loads faster. A cache that is damaged or belongs
to other weights is ignored; a run directory that cannot be written simply has none.
"""

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as arrays_of
from safetensors.numpy import save as bytes_of

from hyperfact.errors import DataError, StorageError
from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.hkg import HKG, Columns, Splits
from hyperfact.runs.artifacts import WEIGHTS
from hyperfact.system.reading import parse_json, read_inside
from hyperfact.system.writing import write_atomically

FOLDER = "cache"
FACTS, CALIBRATION, INDEX = "facts.safetensors", "calibration.json", "index.json"
_LIMIT = 2**33  # bytes of a file
_COLUMNS = ("subject", "relation", "object", "offsets", "attributes", "values")


class RunCache:
    """The cache inside the directory of one run.

    Args:
        run: The run directory.
        manifest: Of the run; it says which weights and which facts the cache must belong to.
    """

    def __init__(self, run: Path, manifest: Mapping[str, Any]) -> None:
        self.folder = run / FOLDER
        self.owner = {
            "weights": manifest["files"][WEIGHTS]["sha256"],
            "data": dict(manifest["data"]),
        }

    def facts(self, entities: Vocabulary, relations: Vocabulary) -> Splits | None:
        """The facts of the run, or None where they are not kept."""
        content = self._read(FACTS)
        if content is None:
            return None
        try:
            arrays = arrays_of(content)
            names = sorted({name.rpartition(".")[0] for name in arrays})  # 000.train, 001.valid …
            parts = {
                name.partition(".")[2]: HKG(
                    entities, relations, Columns(*(arrays[f"{name}.{c}"] for c in _COLUMNS))
                )
                for name in names
            }
        except (SafetensorError, KeyError):
            return None
        return Splits(parts, name=str(self.owner["data"].get("name", "dataset")))

    def keep_facts(self, splits: Splits) -> None:
        """Write the facts; a directory that cannot be written is left as it is."""
        arrays = {
            f"{place:03}.{name}.{column}": np.ascontiguousarray(getattr(part.columns, column))
            for place, (name, part) in enumerate(splits.items())
            for column in _COLUMNS
        }
        self._write(FACTS, bytes_of(arrays))

    def calibration(self, method: str) -> dict[str, Any]:
        """What `keep_calibration` wrote of each kind; nothing, if it was fitted otherwise."""
        content = self._read(CALIBRATION)
        value = None if content is None else json.loads(content)
        found = value if isinstance(value, dict) and value.get("method") == method else {}
        kinds = found.get("kinds")
        return kinds if isinstance(kinds, dict) else {}

    def keep_calibration(self, method: str, kinds: Mapping[str, Any]) -> None:
        """Write calibrations, and how they were fitted."""
        value = {"method": method, "kinds": dict(kinds)}
        self._write(CALIBRATION, (json.dumps(value, indent=2) + "\n").encode())

    def _index(self) -> dict[str, Any]:
        """Which files are good; nothing is, if the index is of another run."""
        try:
            index = parse_json(self.folder / INDEX, read_inside(self.folder, INDEX, limit=_LIMIT))
        except DataError:
            return {}
        good = index.get("owner") == self.owner
        return index["files"] if good and isinstance(index.get("files"), dict) else {}

    def _read(self, name: str) -> bytes | None:
        wanted = self._index().get(name)
        try:
            content = read_inside(self.folder, name, limit=_LIMIT)
        except DataError:
            return None
        return content if hashlib.sha256(content).hexdigest() == wanted else None

    def _write(self, name: str, content: bytes) -> None:
        files = {**self._index(), name: hashlib.sha256(content).hexdigest()}
        index = json.dumps({"owner": self.owner, "files": files}, indent=2) + "\n"
        with suppress(OSError, StorageError):
            self.folder.mkdir(exist_ok=True)
            write_atomically(self.folder / name, content)
            write_atomically(self.folder / INDEX, index.encode())
