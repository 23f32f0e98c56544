"""A dataset in parts to train from: all other splits in memory, training facts on disk.

What memory holds of the training facts beside the few that are read at a time: who stands in which
role, and the facts that answer a question about another split, for these alone filter anybody.
"""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from hyperfact.data import folder_labels
from hyperfact.data.manifest import Manifest, is_parted
from hyperfact.data.part_rows import PartRows
from hyperfact.data.parted import read_splits
from hyperfact.errors import DataError, UserError
from hyperfact.graph.columns import Columns
from hyperfact.graph.facts_in_parts import BLOCKS, FactsInParts
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.joining import support_of
from hyperfact.graph.queries import Queries
from hyperfact.graph.ragged import Hashes, Places, find, offsets_of
from hyperfact.graph.role_index import OBJECT, SUBJECT, VALUE, role_number
from hyperfact.scale.disk_facts import DiskFacts
from hyperfact.system.engine import Tell, duckdb_engine, work_folder

TRAIN = "train"
_MEMORY = "1GB"  # for sorting on disk, before training
_SALT = 1


def training_splits(folder: Path, held: int, *, tell: Tell) -> Splits:
    """The splits of a dataset in parts, its training facts to be read some at a time.

    Args:
        folder: The dataset.
        held: Training facts that memory may hold at once.
        tell: Hears what is done next.

    Raises:
        DataError: A part is missing, altered, or not what its name says; or there is no fact to
            learn from, or none to choose or test by.
    """
    if not is_parted(folder):
        raise UserError(
            f"data.facts_held reads a dataset in parts, which {folder} is not; "
            f"`hyperfact convert {folder} NEW --to parts` makes one"
        )
    with (
        work_folder(None) as work,
        duckdb_engine(work, memory_limit=_MEMORY, threads=1, tell=tell) as engine,
    ):
        disk = DiskFacts.open(folder, engine)
        manifest = disk.manifest
        _check_splits(manifest)
        others = [name for name in manifest.splits if name != TRAIN]
        entities, relations, columns = read_splits(manifest, others)
        parts = {n: HKG.from_columns(entities, relations, c) for n, c in columns.items()}
        disk.choose(TRAIN)
        train = _in_parts(disk, HKG(entities, relations, _nothing()), list(parts.values()), held)
    found = Splits({n: train if n == TRAIN else parts[n] for n in manifest.splits}, manifest.name)
    if support_of(found) is not None:
        raise UserError(f"{folder}: data.facts_held cannot show a model support facts")
    return found.with_labels(folder_labels(folder))


def _check_splits(manifest: Manifest) -> None:
    sizes = manifest.splits
    if not sizes.get(TRAIN):
        raise DataError(f"{manifest.name}: there are no training facts")
    if not any(sizes.get(name) for name in ("valid", "test")):
        raise DataError(
            f"{manifest.name}: no facts to choose by and none to test with; `hyperfact split "
            f"{manifest.folder} NEW` parts them on disk"
        )


def _in_parts(disk: DiskFacts, empty: HKG, others: Sequence[HKG], held: int) -> FactsInParts:
    """The training facts, of which `fact` and `pair` are tables."""
    rows = PartRows(disk.manifest, TRAIN)
    size = max(1, held // BLOCKS)
    count = -(-len(rows) // size)
    blocks = len(rows) * np.arange(count + 1, dtype=np.int64) // count
    asked = _asked(others)
    shared, slots = [_nothing()], [np.zeros(0, dtype=np.int64)]
    for some in _several(blocks):
        columns = rows.columns([(int(some[0]), int(some[-1]))])
        slots.append(2 * np.diff(some) + np.diff(columns.offsets[some - some[0]]))
        shared.append(
            columns.take(_answering(HKG(empty.entities, empty.relations, columns), asked))
        )
    disk.load_words()
    parts = [p for p in disk.manifest.parts if p.split == TRAIN]
    return FactsInParts(
        empty.entities,
        empty.relations,
        Columns.concatenate(shared),
        read=rows.columns,
        blocks=blocks,
        slots=np.concatenate(slots),
        roles=_roles(disk),
        digest=disk.fingerprint(),
        order=hashlib.sha256("".join(p.sha256 for p in parts).encode()).hexdigest(),
    )


def _several(blocks: Places) -> Iterator[Places]:
    """The bounds of blocks that are looked at together: half of what memory may hold."""
    step = BLOCKS // 2
    return (blocks[start : start + step + 1] for start in range(0, len(blocks) - 1, step))


def _asked(others: Sequence[HKG]) -> Hashes:  # rising
    """Hashes of all questions about these facts."""
    tables = (Queries.of(graph).table(graph.columns).hashes(_SALT) for graph in others)
    return np.unique(np.concatenate([np.zeros(0, dtype=np.uint64), *tables]))


def _answering(block: HKG, asked: Hashes) -> Places:
    """Rows of the facts that answer one of these questions."""
    queries = Queries.of(block)
    _, there = find(asked, queries.table(block.columns).hashes(_SALT))
    return np.unique(queries.fact[there])


def _roles(disk: DiskFacts) -> tuple[Places, Places, Places]:
    """Who stands in which role in the chosen facts, as `RoleIndex.of` has it."""
    relations = disk.manifest.relations
    sides = ((SUBJECT, "r", "s", "fact"), (OBJECT, "r", "o", "fact"), (VALUE, "a", "v", "pair"))
    every = " UNION ALL ".join(
        f"SELECT CAST({relation} AS BIGINT) + {role_number(kind, 0, relations)} AS role, "
        f"{who} AS who FROM {table}"
        for kind, relation, who, table in sides
    )
    found = disk.engine.columns(
        f"SELECT role, who, count(*) AS often FROM ({every}) GROUP BY role, who ORDER BY role, who"
    )
    counts = np.bincount(found["role"], minlength=3 * relations)
    return offsets_of(counts), found["who"].astype(np.int64), found["often"].astype(np.int64)


def _nothing() -> Columns:
    ids = np.zeros(0, dtype=np.int32)
    return Columns(ids, ids, ids, np.zeros(1, dtype=np.int64), ids, ids)
