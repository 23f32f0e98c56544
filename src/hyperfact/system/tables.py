"""Tables in files: our own as Parquet with a word about them inside, those of others to read."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hyperfact.errors import DataError, FormatError, HyperfactError, StorageError, UserError
from hyperfact.system.reading import parse_json
from hyperfact.system.writing import staged_file

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Array = NDArray[Any]

_READERS = {
    ".csv": "read_csv(getvariable('path'), all_varchar = true, header = true)",
    ".tsv": "read_csv(getvariable('path'), all_varchar = true, header = true, delim = '\t')",
    ".jsonl": "read_json(getvariable('path'), format = 'newline_delimited')",
    ".parquet": "read_parquet(getvariable('path'))",
}


_WRITERS = {".parquet": "FORMAT parquet, COMPRESSION zstd", ".csv": "FORMAT csv, HEADER"}


@contextmanager
def database(
    refuse: Callable[[str], HyperfactError], *, threads: int | None = None
) -> "Iterator[DuckDBPyConnection]":
    """DuckDB in memory; only who opens one waits until it is loaded.

    Args:
        refuse: Makes our error of the first line of theirs.
        threads: At most; DuckDB chooses if not given.
    """
    with explained(refuse), connected(threads=threads) as db:
        yield db


def connected(*, threads: int | None = None) -> "DuckDBPyConnection":
    """DuckDB in memory, to be kept and asked more than once; nobody explains its errors."""
    import duckdb

    return duckdb.connect(config={} if threads is None else {"threads": threads})


@contextmanager
def explained(refuse: Callable[[str], HyperfactError]) -> Iterator[None]:
    """Errors of DuckDB in this block are ours: made of the first line of theirs."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise refuse(str(error).partition("\n")[0]) from error


def sql_text(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def check_ending(path: Path) -> None:
    """Refuse the name of a table that would not be what its ending says.

    Raises:
        UserError: It ends in nothing that can be written.
    """
    if path.suffix not in _WRITERS:
        raise UserError(
            f"{path}: a table is written to a name that ends in {' or '.join(_WRITERS)}"
        )


def write_table(path: Path, columns: Mapping[str, Array], about: Mapping[str, Any]) -> None:
    """Write numbers as Parquet or CSV beside the target, then rename over it.

    Args:
        path: The file; its ending tells the format.
        columns: Of equal length, by name.
        about: Kept in a Parquet file as JSON under the key `hyperfact`; CSV has no place for it.
    """
    check_ending(path)
    options = _WRITERS[path.suffix]
    if path.suffix == ".parquet":
        text = json.dumps(about).replace("'", "''")
        options += f", KV_METADATA {{hyperfact: '{text}'}}"
    plain = {key: np.ascontiguousarray(column) for key, column in columns.items()}
    with staged_file(path) as temporary:
        name = str(temporary).replace("'", "''")
        with database(lambda why: StorageError(f"{path}: {why}"), threads=1) as db:
            db.register("columns", plain)
            db.execute(f"COPY (SELECT * FROM columns) TO '{name}' ({options})")


def read_table(path: Path, names: Sequence[str]) -> tuple[dict[str, Array], dict[str, Any]]:
    """These columns of a Parquet table of ours, and what is kept about them.

    Raises:
        DataError: No such file, not Parquet, or without one of the columns.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such table")
    fields = ", ".join(f'"{name}"' for name in names)
    with database(lambda why: DataError(f"{path}: not a usable table ({why})")) as db:
        db.execute("SET VARIABLE path = ?", [str(path)])
        found = db.execute(
            "SELECT decode(value) FROM parquet_kv_metadata(getvariable('path')) "
            "WHERE decode(key) = 'hyperfact'"
        ).fetchone()
        query = f"SELECT {fields} FROM read_parquet(getvariable('path'))"
        data = db.execute(query).fetchnumpy()
    if found is None:
        raise DataError(f"{path}: does not say what it holds; not a table of hyperfact")
    about = parse_json(path, str(found[0]).encode("utf-8", "surrogatepass"))
    return {name: np.asarray(data[name]) for name in names}, about


def read_columns(path: Path) -> dict[str, list[Any]]:
    """All columns of a table that other software made; the ending of its name tells the format.

    Raises:
        FormatError: Another ending, no such file, or not what the ending says.
    """
    if path.suffix not in _READERS:
        raise FormatError(path, None, f"expected a name that ends in {', '.join(_READERS)}")
    if not path.is_file():
        raise FormatError(path, None, "no such file")
    with database(lambda why: FormatError(path, None, f"cannot be read ({why})")) as db:
        db.execute("SET VARIABLE path = ?", [str(path)])
        cursor = db.execute(f"SELECT * FROM {_READERS[path.suffix]}")
        names = [column[0] for column in cursor.description or []]
        rows = cursor.fetchall()
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}
