"""Facts of a dataset in parts by their numbers, read from the files whenever they are asked for.

Between two reads a file may change. One that is not as it was is compared with the manifest again.
"""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np

from hyperfact.data.manifest import Manifest, Part, check_part
from hyperfact.data.parted import read_rows
from hyperfact.errors import DataError
from hyperfact.graph.columns import Columns, check_ids
from hyperfact.graph.facts_in_parts import Ranges
from hyperfact.graph.ragged import Array, offsets_of, owners_of
from hyperfact.system.tables import connected, explained, sql_text

_FIELDS = {"facts": "subject, relation, object, qualifiers", "qualifiers": "attribute, value"}


class PartRows:
    """The facts of one split.

    Args:
        manifest: Of the dataset, every part of which was checked.
        split: Whose facts.
    """

    def __init__(self, manifest: Manifest, split: str) -> None:
        self.manifest, self.split = manifest, split
        self._stamps: dict[str, tuple[int, ...]] = {}
        self._ranges: dict[str, list[tuple[Part, int, int]]] = {}  # first and last fact of a part
        self._db = connected(threads=1)
        with self._explained():
            for table in _FIELDS:
                read_rows(self._db, manifest, table, split)  # checks the columns
                parts = [p for p in manifest.parts if (p.table, p.split) == (table, split)]
                self._ranges[table] = [(part, *self._bounds(part)) for part in parts]
        for part, *_ in (*self._ranges["facts"], *self._ranges["qualifiers"]):
            self._stamps[part.file] = _stamp(manifest.folder / part.file)

    def __len__(self) -> int:
        return self.manifest.splits[self.split]

    def columns(self, ranges: Ranges) -> Columns:
        """The facts of some ranges of numbers, which rise.

        Raises:
            DataError: A part is missing, altered, or does not hold what it should.
        """
        with self._explained():
            facts = self._fetch("facts", ranges)
            pairs = self._fetch("qualifiers", ranges)
        offsets = offsets_of(facts["qualifiers"])
        wanted = np.concatenate([np.arange(start, stop) for start, stop in ranges])
        if not (
            np.array_equal(facts["fact"], wanted)
            and np.array_equal(wanted[owners_of(offsets)], pairs["fact"])
        ):
            raise DataError(
                f"{self.manifest.folder}: the facts {ranges[0][0]:,} to {ranges[-1][1]:,} of "
                f"{self.split} have gaps, or qualifiers that do not fit them"
            )
        s, r, o = (facts[name] for name in ("subject", "relation", "object"))
        found = Columns(s, r, o, offsets, pairs["attribute"], pairs["value"])
        check_ids(found, self.manifest.entities, self.manifest.relations)
        return found

    def _fetch(self, table: str, ranges: Ranges) -> dict[str, Array]:
        """The rows of these facts, from the parts that have some of them."""
        parts = [
            part
            for part, low, high in self._ranges[table]
            if any(low < stop and high >= start for start, stop in ranges)
        ]
        for part in parts:
            self._check(part)
        fields = _FIELDS[table]
        files = ", ".join(sql_text(str(self.manifest.folder / part.file)) for part in parts)
        if not parts:
            empty = np.zeros(0, dtype=np.int32)
            return dict.fromkeys(("fact", *fields.split(", ")), empty)
        wanted = " OR ".join(f"(fact >= {start} AND fact < {stop})" for start, stop in ranges)
        data: dict[str, Any] = self._db.execute(
            f"SELECT fact, {fields} FROM read_parquet([{files}]) "
            f"WHERE {wanted} ORDER BY fact, {fields}"
        ).fetchnumpy()
        if any(np.ma.getmaskarray(column).any() for column in data.values()):
            raise DataError(f"{self.manifest.folder}: an empty field (NULL) among the {table}")
        return {name: np.asarray(column) for name, column in data.items()}

    def _check(self, part: Part) -> None:
        path = self.manifest.folder / part.file
        stamp = _stamp(path)
        if stamp != self._stamps[part.file]:
            check_part(path, part, content=True)
            self._stamps[part.file] = stamp

    def _bounds(self, part: Part) -> tuple[int, int]:
        path = sql_text(str(self.manifest.folder / part.file))
        query = f"SELECT min(fact), max(fact) FROM read_parquet({path})"
        low, high = self._db.execute(query).fetchall()[0]
        return (0, -1) if low is None else (int(low), int(high))

    def _explained(self) -> AbstractContextManager[None]:
        folder = self.manifest.folder
        return explained(lambda why: DataError(f"{folder}: not usable ({why})"))


def _stamp(path: Path) -> tuple[int, ...]:
    """What changes with a file; nothing where there is none."""
    try:
        found = path.lstat()
    except OSError:
        return ()
    return found.st_ino, found.st_size, found.st_mtime_ns
