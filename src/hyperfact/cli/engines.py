"""Where the work on a dataset in parts is done: options, the engine they mean, a bar for it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from hyperfact.cli.data import Reading
from hyperfact.data import folder_labels
from hyperfact.data.label_files import read_labels
from hyperfact.data.manifest import is_parted
from hyperfact.data.parted import NAME as PARTS
from hyperfact.errors import UnknownNameError, UserError
from hyperfact.graph.label_texts import LabelTexts
from hyperfact.scale import DiskFacts
from hyperfact.system.engine import Duck, Engine, duckdb_engine, work_folder
from hyperfact.system.spark import spark_engine

ENGINES = ("memory", "duckdb", "spark")


@dataclass(frozen=True)
class Work:
    """Where tables are computed, and how much of the machine they may take."""

    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            help="memory, duckdb or spark. [default: duckdb for a dataset in parts, else memory]",
        ),
    ] = None
    memory_limit: Annotated[
        str | None, typer.Option("--memory-limit", metavar="SIZE", help="Of duckdb, as 1GB.")
    ] = None
    spill: Annotated[
        Path | None,
        typer.Option("--spill", metavar="FOLDER", help="Where tables lie that exceed memory."),
    ] = None
    master: Annotated[
        str, typer.Option("--master", metavar="URL", help="Of spark: local[2], spark://host:7077.")
    ] = "local[*]"

    def is_used(self, dataset: str, reading: Reading | None = None) -> bool:
        """Whether a dataset is worked on by an engine, and not in memory."""
        if self.engine not in (None, *ENGINES):
            raise UnknownNameError("engine", str(self.engine), ENGINES)
        if self.engine == "memory" or (self.engine is None and not is_parted(dataset)):
            return False
        if not is_parted(dataset):
            raise UserError(
                f"{dataset}: --engine {self.engine} works on a dataset in parts; "
                f"`hyperfact convert {dataset} FOLDER --to parts` makes one"
            )
        if reading is not None and (reading.literals, reading.format, reading.columns) != (
            *("keep", None),
            None,
        ):
            raise UserError("--literals, --format and --columns need --engine memory here")
        return True

    def restores(self, kg: Path, format: str | None, to: str | None) -> bool:
        """Whether a KG is brought back by an engine: from Parquet to a dataset in parts."""
        fitting = to == PARTS and format in (None, "parquet") and (kg / "nodes.parquet").is_file()
        if self.engine in (None, "memory"):
            return fitting and self.engine is None
        if self.engine not in ENGINES:
            raise UnknownNameError("engine", self.engine, ENGINES)
        if not fitting:
            raise UserError(
                f"--engine {self.engine} restores a KG of the format parquet with --to {PARTS}"
            )
        return True

    @contextmanager
    def open(self) -> Iterator[Engine]:
        """The engine, with a bar on a terminal; its tables are gone afterwards."""
        with ExitStack() as stack:
            folder = stack.enter_context(work_folder(self.spill))
            tell, watch = stack.enter_context(_bar())
            limit = self.memory_limit
            duck = stack.enter_context(duckdb_engine(folder, memory_limit=limit, tell=tell))
            watch(duck)
            if self.engine != "spark":
                yield duck
                return
            yield stack.enter_context(
                spark_engine(
                    folder,
                    master=self.master,
                    memory_limit=limit,
                    local=duck,
                    tell=tell,
                )
            )

    def labels(self, dataset: str, file: Path | None = None) -> LabelTexts:
        """What a dataset in parts calls its names; a file of labels goes before its own."""
        return folder_labels(dataset) if file is None else read_labels(file)

    @contextmanager
    def facts(self, dataset: str) -> Iterator[DiskFacts]:
        """A dataset in parts, opened in the engine."""
        with self.open() as engine:
            yield DiskFacts.open(Path(dataset), engine)


@contextmanager
def _bar() -> Iterator[tuple[Callable[[str], None], Callable[[Duck], None]]]:
    """A bar on stderr of a terminal: what is made now, and how much of it is done."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield (lambda _: None), (lambda _: None)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=100)
        done = threading.Event()
        watched: list[Duck] = []

        def poll() -> None:
            while not done.wait(0.3):
                for duck in watched:
                    percent: Any = duck.db.query_progress()
                    bar.update(task, completed=max(0.0, float(percent)))

        def tell(step: str) -> None:
            bar.update(task, description=step.replace("_", " "), completed=0)

        thread = threading.Thread(target=poll, daemon=True)
        thread.start()
        try:
            yield tell, watched.append
        finally:
            done.set()
            thread.join()
