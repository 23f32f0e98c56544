"""SQL on tables that need not fit into memory: what an engine does, and DuckDB as one.

Tables lie in a folder that is removed at the end, whatever happens; DuckDB also spills there what
exceeds the memory it was given.
"""

import re
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hyperfact.errors import DataError, StorageError, UserError
from hyperfact.system.dialects import Dialect, DuckDialect
from hyperfact.system.tables import sql_text

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Array = NDArray[Any]
Tell = Callable[[str], object]
ROWS_A_PAGE = 1_000_000
_SHARE = 0.75  # of the memory that is allowed, for DuckDB
_LEAST = 100_000_000  # bytes
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?")


class Engine(ABC):
    """Tables by name, made by queries; results come in pages."""

    dialect: Dialect
    tell: Tell  # hears what is done next

    @abstractmethod
    def table(self, name: str, query: str) -> None:
        """Store the result of a query under a name."""

    @abstractmethod
    def view(self, name: str, query: str) -> None:
        """Give a query a name."""

    @abstractmethod
    def drop(self, *names: str) -> None:
        """Tables that are needed no more."""

    @abstractmethod
    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """A small result."""

    @abstractmethod
    def columns(self, query: str) -> dict[str, Array]:
        """A result that fits into memory, as columns."""

    @abstractmethod
    def load(self, name: str, columns: Mapping[str, Array]) -> None:
        """Add rows to a table, which may not exist yet; 64-bit unsigned columns are words."""

    @abstractmethod
    def files(self, paths: Sequence[str]) -> str:
        """What stands behind FROM for Parquet files of one schema."""

    @abstractmethod
    def numbered_file(self, path: str) -> str:
        """The same for one file, with the number of each row as `place`."""

    @abstractmethod
    def words(self, query: str) -> Iterator[Array]:
        """Two words a row in rising order of the first, in pages that share no first word."""

    @abstractmethod
    def copy(self, query: str, path: Path) -> int:
        """Write the result of a query to one Parquet file in its order; return its rows."""

    def value(self, query: str) -> Any:
        """The only value of a result."""
        return self.rows(query)[0][0]


class Duck(Engine):
    """DuckDB over a database file in the folder of the work."""

    def __init__(self, db: "DuckDBPyConnection", tell: Tell):
        self.db, self.tell, self.dialect = db, tell, DuckDialect()
        self._loaded: set[str] = set()

    def table(self, name: str, query: str) -> None:
        """Store the result of a query under a name."""
        self.tell(name)
        self.db.execute(f"CREATE OR REPLACE TABLE {name} AS {query}")

    def view(self, name: str, query: str) -> None:
        """Give a query a name."""
        self.db.execute(f"CREATE OR REPLACE VIEW {name} AS {query}")

    def drop(self, *names: str) -> None:
        """Tables that are needed no more."""
        for name in names:
            self.db.execute(f"DROP TABLE IF EXISTS {name}")
            self._loaded.discard(name)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """A small result."""
        return self.db.execute(query).fetchall()

    def columns(self, query: str) -> dict[str, Array]:
        """A result that fits into memory, as columns."""
        found = self.db.execute(query).fetchnumpy()
        return {name: np.asarray(column) for name, column in found.items()}

    def load(self, name: str, columns: Mapping[str, Array]) -> None:
        """Add rows to a table, which may not exist yet."""
        self.db.register("block", {k: np.ascontiguousarray(c) for k, c in columns.items()})
        if name in self._loaded:
            self.db.execute(f"INSERT INTO {name} SELECT * FROM block")
        else:
            self.table(name, "SELECT * FROM block")
            self._loaded.add(name)
        self.db.unregister("block")

    def files(self, paths: Sequence[str]) -> str:
        """What stands behind FROM for Parquet files of one schema."""
        return f"read_parquet([{', '.join(map(sql_text, paths))}])"

    def numbered_file(self, path: str) -> str:
        """The same for one file, with the number of each row as `place`."""
        return (
            f"(SELECT * RENAME (file_row_number AS place) FROM "
            f"read_parquet({sql_text(path)}, file_row_number = true))"
        )

    def words(self, query: str) -> Iterator[Array]:
        """Two words a row in rising order of the first: sorted on disk, read by ranges."""
        self.table("sorted_words", f"SELECT x, y FROM ({query}) ORDER BY x")
        count = int(self.value("SELECT count(*) FROM sorted_words"))
        pages = 1 + count // ROWS_A_PAGE
        for page in range(pages):
            low, high = (2**64 * p // pages for p in (page, page + 1))
            found = self.columns(
                f"SELECT x, y FROM sorted_words WHERE x BETWEEN {low} AND {high - 1}"
            )
            yield np.stack([found["x"], found["y"]], axis=1)
        self.drop("sorted_words")

    def copy(self, query: str, path: Path) -> int:
        """Write the result of a query to one Parquet file in its order; return its rows."""
        self.tell(path.name)
        found = self.db.execute(
            f"COPY ({query}) TO {sql_text(str(path))} (FORMAT parquet, COMPRESSION zstd)"
        ).fetchall()
        return int(found[0][0])


@contextmanager
def work_folder(spill: Path | None) -> Iterator[Path]:
    """A folder for the tables of one piece of work; it is gone afterwards."""
    try:
        if spill is not None:
            spill.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix="hyperfact-", dir=spill))
    except OSError as error:
        raise StorageError(f"{spill}: cannot spill there: {error.strerror or error}") from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def duckdb_engine(
    folder: Path, *, memory_limit: str | None = None, threads: int | None = None, tell: Tell
) -> Iterator[Duck]:
    """DuckDB with its tables and what it spills in this folder.

    Args:
        folder: For this work only.
        memory_limit: Of the process, as `1GB`: DuckDB gets three quarters of it, for tables are
            not all that a process holds. DuckDB chooses (of the machine) if not given.
        threads: At most; all cores if not given.
        tell: Hears what is done next.
    """
    import duckdb

    options: dict[str, Any] = {
        "temp_directory": str(folder / "spill"),
        "preserve_insertion_order": True,
    }
    if memory_limit is not None:
        options["memory_limit"] = f"{int(_SHARE * size_of(memory_limit))}B"
    options |= {} if threads is None else {"threads": threads}
    try:
        with duckdb.connect(str(folder / "work.duckdb"), config=options) as db:
            yield Duck(db, tell)
    except (duckdb.IOException, duckdb.OutOfMemoryException) as error:
        raise StorageError(
            f"{folder.parent}: no room to go on ({_first_line(error)}); free some space there, "
            "name another folder with --spill, or allow more with --memory-limit"
        ) from error
    except duckdb.Error as error:
        raise DataError(f"not usable: {_first_line(error)}") from error


def size_of(text: str) -> int:
    """The bytes of a size such as `1GB`, `500 MB` or `1.5GiB`.

    Raises:
        UserError: It is none, or less than DuckDB can work with.
    """
    found = _SIZE.fullmatch(text.strip().lower())
    if found is None:
        raise UserError(f"expected a size such as 1GB or 500MB, got {text!r}")
    unit = 1024 if found[3] == "i" else 1000
    size = int(float(found[1]) * unit ** " kmgt".index(found[2] or " "))
    if size < _LEAST:
        raise UserError(f"{text}: too little; the least is {_LEAST // 10**6} MB")
    return size


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
