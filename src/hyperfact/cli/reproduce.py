"""The command `reproduce`: a table or figure of the paper, done again."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyperfact.cli.common import AsJson, DataDir, Threads, app, set_threads
from hyperfact.cli.learn import Overrides, chosen_data
from hyperfact.cli.options import NamingCommand, with_code
from hyperfact.cli.printing import note, print_json, print_text
from hyperfact.config import ExperimentConfig
from hyperfact.errors import UnknownNameError, UserError

if TYPE_CHECKING:
    from hyperfact.graph.hkg import HKG, Splits
    from hyperfact.runs.studies import Cell, Plan, Study
    from hyperfact.training.events import Watch


@app.command(cls=NamingCommand)
@with_code
def reproduce(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A table or figure.")],
    *,
    budget: Annotated[str, typer.Option(help="quick (minutes) or full.")] = "quick",
    out: Annotated[Path | None, typer.Option(help="A folder; by default studies/STUDY.")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with what is there.")] = False,
    dataset: Annotated[
        list[str] | None, typer.Option(help="Only this benchmark; can be repeated.")
    ] = None,
    row: Annotated[
        list[str] | None, typer.Option(help="Only this row of the table; can be repeated.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=0, help="0: 1 if quick, 3 if full.")] = 0,
    table: Annotated[
        bool, typer.Option("--table", help="Train nothing: the table of what is stored.")
    ] = False,
    overrides: Overrides = None,
    data_dir: DataDir = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Do a study of the TransEQ paper again: CSV, picture, and a table beside the paper's.

    Example: `hyperfact reproduce transformations`,
    `hyperfact reproduce main --budget full --dataset FB-AUTO --out results/main --resume`
    """
    from hyperfact.runs.studies import STUDIES, Plan

    if study not in STUDIES:
        raise UnknownNameError("study", study, STUDIES)
    if budget not in ("quick", "full"):
        raise UserError(f"--budget is quick or full, not {budget!r}")
    set_threads(threads)
    chosen, changes, rows = (tuple(given or ()) for given in (dataset, overrides, row))
    plan = Plan(budget, chosen, seeds, changes, rows, train=not table)  # type: ignore[arg-type]
    folder = out or Path("studies") / study
    lines = _tell(STUDIES[study], folder, plan, data_dir, resume=resume)
    if as_json:
        print_json(lines)
    else:
        print_text((folder / f"{study}.md").read_text(encoding="utf-8"))
    note(f"table and picture are in {folder}")


def _tell(
    study: "Study", folder: Path, plan: "Plan", data_dir: Path | None, *, resume: bool
) -> list[dict[str, Any]]:
    from hyperfact.cli.signals import interruptible
    from hyperfact.runs.studies import Cells, Workspace

    @cache
    def splits(dataset: str) -> "Splits":
        config = ExperimentConfig.from_dict({"data": {"dataset": dataset}})
        return chosen_data(config.with_data_dir(data_dir))

    def facts(dataset: str) -> "HKG":
        return splits(dataset).train

    again = f"hyperfact reproduce {study.name} --resume with the same options"
    with interruptible(None, again) as signals, _watching() as watch:
        cells = Cells(folder, lambda config: splits(config.data.dataset), signals.hold)
        return study.run(Workspace(cells, facts, watch, resume=resume), plan)


@contextmanager
def _watching() -> Iterator[Any]:
    """A progress display for one cell after the other."""
    from contextlib import ExitStack

    from hyperfact.cli.progress import progress

    with ExitStack() as stack:

        def watch(cell: "Cell") -> "Watch":
            stack.pop_all().close()
            note(f"{cell.dataset}: {cell.row}, seed {cell.seed}")
            found: Watch = stack.enter_context(progress(cell.config.training.epochs))
            return found

        yield watch
