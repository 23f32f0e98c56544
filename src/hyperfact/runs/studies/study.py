"""Study: a question of the paper, as trainings whose results become a table and a picture."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from hyperfact.errors import UnknownNameError, UserError
from hyperfact.graph.hkg import HKG
from hyperfact.runs.studies.cells import Cell, Cells, Outcome
from hyperfact.runs.studies.recipes import OURS, Changes, has_recipe, recipe
from hyperfact.runs.studies.result_tables import summary, to_csv, to_markdown
from hyperfact.system.writing import write_atomically
from hyperfact.training.events import Watch

Budget = Literal["quick", "full"]
QUICK_EPOCHS = 3
_COLUMNS = (
    *("dataset", "row", "mrr", "mrr spread", "mrr paper", "difference", "hits@1", "hits@1 paper"),
    *("hits@10", "hits@10 paper", "s/o mrr", "leak-free mrr", "valid mrr", "seeds", "epochs"),
    *("seconds", "threads", "parameters", "memory GB", "budget"),
)


@dataclass(frozen=True)
class Plan:
    """How much of a study to do."""

    budget: Budget = "quick"
    datasets: tuple[str, ...] = ()  # empty: those of the study
    seeds: int = 0  # 0: 1 if quick, 3 if full
    overrides: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()  # empty: all of the study
    train: bool = True  # False: the table of what is stored, whatever its budget

    @property
    def told(self) -> str:
        """The budget as the table shows it, with what was set by hand."""
        return "; ".join((self.budget, *self.overrides))

    @property
    def epochs(self) -> list[str]:
        """A quick study trains for few epochs."""
        if self.budget == "full":
            return []
        return [f"training.epochs={QUICK_EPOCHS}", f"training.validate_every={QUICK_EPOCHS}"]


@dataclass(frozen=True)
class Workspace:
    """Where a study works, and with what."""

    cells: Cells
    facts: Callable[[str], HKG]  # the training facts of a dataset
    watch: Callable[[Cell], Watch]
    resume: bool = False

    @property
    def folder(self) -> Path:
        """Where results go."""
        return self.cells.folder


class Study(ABC):
    """One table or figure."""

    name: ClassVar[str]
    title: ClassVar[str]
    datasets: ClassVar[tuple[str, ...]] = ("FB-AUTO", "JF17K")

    def datasets_of(self, plan: Plan) -> tuple[str, ...]:
        """Quick studies are about the first dataset only, unless told otherwise."""
        return plan.datasets or (self.datasets[:1] if plan.budget == "quick" else self.datasets)

    @abstractmethod
    def run(self, workspace: Workspace, plan: Plan) -> list[dict[str, Any]]:
        """Do all that is not done yet; write and return the table."""

    def put(self, folder: Path, lines: Sequence[dict[str, Any]], text: str, picture: bytes) -> None:
        """Write a table for machines, one for people, and a picture."""
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(folder / f"{self.name}.csv", to_csv(lines).encode("utf-8"))
        write_atomically(folder / f"{self.name}.md", text.encode("utf-8"))
        write_atomically(folder / f"{self.name}.svg", picture)


class Trainings(Study):
    """A study of trainings: one for each row, dataset and seed."""

    needs_curve: ClassVar[bool] = False
    most_seeds: ClassVar[int] = 3
    needs_runs: ClassVar[bool] = False  # the stored models, not only their figures
    bases: ClassVar[Mapping[str, str]] = {}  # recipes that rows start from; others from `OURS`

    @abstractmethod
    def variants(self) -> dict[str, Changes]:
        """The rows, each with its changes of a recipe of the dataset."""

    @abstractmethod
    def picture(
        self, outcomes: Sequence[Outcome], lines: Sequence[dict[str, Any]], workspace: Workspace
    ) -> bytes:
        """An SVG."""

    def cells(self, plan: Plan) -> list[Cell]:
        """Every training, row by row, a seed after the other.

        Not every benchmark has a recipe for every row; there the row is left out.
        """
        seeds = range(plan.seeds or (1 if plan.budget == "quick" else self.most_seeds))
        return [
            self._cell(plan, dataset, row, seed, changes)
            for dataset in self.datasets_of(plan)
            for row, changes in self._rows_on(dataset, plan).items()
            for seed in seeds
        ]

    def _rows_on(self, dataset: str, plan: Plan) -> dict[str, Changes]:
        """Rows of a dataset: those that are asked for, else those with a recipe."""
        rows = self._rows(plan)
        found = {row: rows[row] for row in rows if has_recipe(dataset, self._base(row))}
        return rows if plan.rows or not found else found

    def _base(self, row: str) -> str:
        """The recipe from which a row starts."""
        return self.bases.get(row, OURS)

    def _rows(self, plan: Plan) -> dict[str, Changes]:
        """Those that are asked for, with their changes."""
        found = self.variants()
        for row in plan.rows:
            if row not in found:
                raise UnknownNameError("row", row, found)
        return {row: found[row] for row in plan.rows} if plan.rows else found

    def _cell(self, plan: Plan, dataset: str, row: str, seed: int, changes: Changes) -> Cell:
        given = [*plan.epochs, f"training.seed={seed}", *plan.overrides]
        config = recipe(dataset, changes, given, base=self._base(row))
        return Cell(row, dataset, seed, config, curve=self.needs_curve, budget=plan.told)

    def lines(
        self, outcomes: Sequence[Outcome], workspace: Workspace, plan: Plan
    ) -> list[dict[str, Any]]:
        """The table."""
        del workspace, plan
        return summary(self.name, outcomes)

    def columns(self) -> Sequence[str]:
        """Of the table that people read; the CSV has all."""
        return _COLUMNS

    def run(self, workspace: Workspace, plan: Plan) -> list[dict[str, Any]]:
        """Train what was not trained yet.

        Raises:
            UserError: There are results already and the study is not to be resumed.
        """
        outcomes = self._trained(workspace, plan) if plan.train else self._stored(workspace, plan)
        lines = self.lines(outcomes, workspace, plan)
        self.put(
            workspace.folder, lines, self.text(lines), self.picture(outcomes, lines, workspace)
        )
        return lines

    def _trained(self, workspace: Workspace, plan: Plan) -> list[Outcome]:
        todo = self.cells(plan)
        done = {cell.name: workspace.cells.stored(cell) for cell in todo}
        if not workspace.resume and (any(done.values()) or (workspace.folder / "runs").exists()):
            raise UserError(
                f"{workspace.folder}: holds results already; --resume goes on with them"
            )
        return [
            done[cell.name]
            or (None if self.needs_runs else workspace.cells.borrowed(cell))
            or workspace.cells.run(cell, workspace.watch(cell))
            for cell in todo
        ]

    def _stored(self, workspace: Workspace, plan: Plan) -> list[Outcome]:
        """In the order of the study; datasets that it does not name come last."""
        rows = list(self._rows(plan))
        found = [
            o
            for o in workspace.cells.all()
            if o.row in rows and (not plan.datasets or o.dataset in plan.datasets)
        ]
        if not found:
            raise UserError(f"{workspace.folder}: no result is stored here")
        datasets = list(dict.fromkeys([*self.datasets, *(o.dataset for o in found)]))
        return sorted(found, key=lambda o: (datasets.index(o.dataset), rows.index(o.row), o.seed))

    def text(self, lines: Sequence[dict[str, Any]]) -> str:
        """The table as Markdown, with what it is."""
        about = (
            f"Budget quick: {QUICK_EPOCHS} epochs, so figures are not comparable with the paper's. "
            "Budget full: the epochs of the recipe; the best validation MRR decides."
        )
        return f"# {self.title}\n\n{about}\n\n{to_markdown(lines, self.columns())}"
