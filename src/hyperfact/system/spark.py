"""Spark as an engine: the same SQL, on one machine or a cluster.

Tables are Parquet in the folder of the work, which every worker must see. What comes back to this
process (sorted words, single files) is read from there by DuckDB, so nothing is collected row by
row and no Arrow is needed.
"""

import os
import shutil
import socket
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from hyperfact.errors import DataError, MissingExtraError, StorageError, UserError
from hyperfact.system.dialects import SparkDialect
from hyperfact.system.engine import Array, Duck, Engine, Tell, size_of
from hyperfact.system.tables import sql_text
from hyperfact.system.writing import write_texts

_ANSWER = 5.0  # seconds that a master may take
_LOCAL_PARTS = 4
_LOGGING = """rootLogger.level = off
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
"""
_OPTIONS = {
    "spark.sql.ansi.enabled": "false",  # words wrap around
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    "spark.sql.legacy.parquet.nanosAsLong": "false",
}


class Spark(Engine):
    """A session of Spark, with DuckDB beside it for what comes back."""

    def __init__(self, session: Any, folder: Path, local: Duck, tell: Tell):
        self.session, self.folder, self.local, self.tell = session, folder, local, tell
        self.dialect = SparkDialect()
        self._count = 0
        self._paths: dict[str, Path] = {}  # of tables that were stored
        self._blocks: dict[str, list[str]] = {}  # of tables that were loaded

    def _stored(self, query: str) -> Path:
        """The result of a query as Parquet, in its order."""
        self._count += 1
        path = self.folder / f"table-{self._count}"
        self.session.sql(query).write.parquet(str(path))
        return path

    def _parts(self, query: str) -> list[str]:
        found = self._stored(query)
        return [str(path) for path in sorted(found.glob("part-*.parquet"))]

    def _name(self, name: str, paths: Sequence[str]) -> None:
        self.session.read.parquet(*paths).createOrReplaceTempView(name)

    def table(self, name: str, query: str) -> None:
        """Store the result of a query under a name."""
        self.tell(name)
        path = self._stored(query)
        self._name(name, [str(path)])
        before = self._paths.pop(name, None)
        self._paths[name] = path
        if before is not None:
            shutil.rmtree(before, ignore_errors=True)

    def view(self, name: str, query: str) -> None:
        """Give a query a name."""
        self.session.sql(query).createOrReplaceTempView(name)

    def drop(self, *names: str) -> None:
        """Tables that are needed no more."""
        for name in names:
            self.session.catalog.dropTempView(name)
            self._blocks.pop(name, None)
            path = self._paths.pop(name, None)
            if path is not None:
                shutil.rmtree(path, ignore_errors=True)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """A small result."""
        return [tuple(row) for row in self.session.sql(query).collect()]

    def columns(self, query: str) -> dict[str, Array]:
        """A result that fits into memory, as columns."""
        parts = self._parts(query)
        found = self.local.columns(f"SELECT * FROM {self.local.files(parts)}")
        shutil.rmtree(Path(parts[0]).parent, ignore_errors=True)
        return found

    def load(self, name: str, columns: Mapping[str, Array]) -> None:
        """Add rows to a table, which may not exist yet."""
        self._count += 1
        path = self.folder / f"block-{self._count}.parquet"
        signed = {k: c.view(np.int64) if c.dtype == np.uint64 else c for k, c in columns.items()}
        self.local.db.register("block", {k: np.ascontiguousarray(c) for k, c in signed.items()})
        self.local.copy("SELECT * FROM block", path)
        self.local.db.unregister("block")
        blocks = self._blocks.setdefault(name, [])
        blocks.append(str(path))
        self._name(name, blocks)

    def files(self, paths: Sequence[str]) -> str:
        """What stands behind FROM for Parquet files of one schema."""
        self._count += 1
        self._name(f"files_{self._count}", paths)
        return f"files_{self._count}"

    def numbered_file(self, path: str) -> str:
        """The same for one file, with the number of each row as `place`."""
        self._count += 1
        frame = self.session.read.parquet(path).selectExpr("*", "_metadata.row_index AS place")
        frame.createOrReplaceTempView(f"files_{self._count}")
        return f"files_{self._count}"

    def words(self, query: str) -> Iterator[Array]:
        """Two words a row in rising order of the first: Spark sorts, a part is a page."""
        self.tell("sorted words")
        parts = self._parts(f"SELECT x, y FROM ({query}) ORDER BY {self.dialect.rising('x')}")
        for part in parts:
            found = self.local.columns(f"SELECT x, y FROM read_parquet({sql_text(part)})")
            yield np.stack([found["x"].view(np.uint64), found["y"].view(np.uint64)], axis=1)
        shutil.rmtree(Path(parts[0]).parent, ignore_errors=True)

    def copy(self, query: str, path: Path) -> int:
        """Write the result of a query to one Parquet file in its order; return its rows."""
        self.tell(path.name)
        parts = self._parts(query)
        rows = self.local.copy(f"SELECT * FROM {self.local.files(parts)}", path)
        shutil.rmtree(Path(parts[0]).parent, ignore_errors=True)
        return rows


@contextmanager
def spark_engine(
    folder: Path, *, master: str, memory_limit: str | None = None, local: Duck, tell: Tell
) -> Iterator[Spark]:
    """A session of Spark with its tables in this folder.

    Args:
        folder: For this work only; on a cluster every worker sees it.
        master: Where to compute: `local[2]`, `spark://host:7077`, `yarn`.
        memory_limit: Of the driver, and of each executor.
        local: DuckDB for what comes back.
        tell: Hears what is done next.
    """
    session = _session(folder, master, memory_limit)
    try:
        yield Spark(session, folder, local, tell)
    except Exception as error:  # the bridge to Java raises errors of its own kinds
        if type(error).__module__.partition(".")[0] in ("py4j", "pyspark"):
            raise _refused(folder, error) from error
        raise
    finally:
        session.stop()


def _session(folder: Path, master: str, memory_limit: str | None) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about packages that are not used here
            from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError("pyspark", "scale", "the engine spark") from None
    if shutil.which("java") is None and not os.environ.get("JAVA_HOME"):
        raise UserError("the engine spark needs a Java runtime (17 or newer), and there is none")
    check_master(master)
    options = {**_OPTIONS, "spark.local.dir": str(folder / "spark"), **_quiet(folder)}
    if master.startswith("local"):  # 200 shuffled parts are for a cluster
        options["spark.sql.shuffle.partitions"] = str(_LOCAL_PARTS)
        options["spark.default.parallelism"] = str(_LOCAL_PARTS)
    if memory_limit is not None:
        size = f"{size_of(memory_limit) // 2**20}m"
        options |= {"spark.driver.memory": size, "spark.executor.memory": size}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            builder = SparkSession.builder.appName("hyperfact").master(master)
            for key, value in options.items():
                builder = builder.config(key, value)
            return builder.getOrCreate()
    except Exception as error:
        raise UserError(f"--master {master}: Spark does not start ({_reason(error)})") from error


def _quiet(folder: Path) -> dict[str, str]:
    """Let Java say nothing: what goes wrong is said by us, in one line."""
    path = folder / "log4j2.properties"
    write_texts(folder, {path.name: _LOGGING})
    return {"spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{path}"}


def check_master(master: str) -> None:
    """Refuse a master that does not answer; Spark itself would try for a minute.

    Raises:
        StorageError: Nothing answers there.
        UserError: It has no port.
    """
    if not master.startswith("spark://"):
        return
    problems = []
    for place in master.removeprefix("spark://").split(","):
        host, _, port = place.rpartition(":")
        if not host or not port.isdigit():
            raise UserError(f"--master {master}: expected spark://host:port")
        try:
            socket.create_connection((host, int(port)), timeout=_ANSWER).close()
        except OSError as error:
            problems.append(f"{place}: {error.strerror or error}")
        else:
            return
    raise StorageError(f"--master {master}: does not answer ({'; '.join(problems)})")


def _refused(folder: Path, error: Exception) -> StorageError | DataError:
    text = str(error)
    if "No space left" in text or "OutOfMemory" in text or "SparkOutOfMemory" in text:
        return StorageError(
            f"{folder.parent}: no room to go on ({_reason(error)}); free some space there, name "
            "another folder with --spill, or allow more with --memory-limit"
        )
    return DataError(f"Spark gave up: {_reason(error)}")


def _reason(error: Exception) -> str:
    """The first line that says something."""
    lines = (line.strip() for line in str(error).splitlines())
    return next((line for line in lines if line), type(error).__name__)[:300]
