"""Columns of numbers as Parquet, with a word about them inside the file."""

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from hyperfact.errors import DataError, StorageError
from hyperfact.system.reading import parse_json
from hyperfact.system.writing import write_atomically

Array = NDArray[Any]


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
    about = parse_json(path, str(found[0]).encode("utf-8", "surrogatepass"))
    return {name: np.asarray(data[name]) for name in names}, about
