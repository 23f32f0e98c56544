"""What facts given at question time are worth: entities held out of training, and then described.

A tenth of the entities is taken out, with every training fact that names one of them. Test facts
that name one are then asked about, with no, one, two, five and ten facts of each given, and by a
model that was trained on all.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from hyperfact.errors import UserError
from hyperfact.evaluation import Background, evaluate
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.joining import join_graph
from hyperfact.graph.queries import entity_at
from hyperfact.graph.ragged import Array, owners_of
from hyperfact.models.transeq import TransEQ
from hyperfact.runs.build import limits_of
from hyperfact.runs.enlarge import enlarged
from hyperfact.runs.experiment import run
from hyperfact.runs.run import Run
from hyperfact.runs.studies import plots
from hyperfact.runs.studies.cells import Cell
from hyperfact.runs.studies.recipes import recipe
from hyperfact.runs.studies.result_tables import to_markdown
from hyperfact.runs.studies.study import Plan, Study, Workspace

GIVEN = (0, 1, 2, 5, 10)
_SHARE = 0.1  # of the entities
_COLUMNS = ("dataset", "row", "mrr", "beside a newcomer", "for a newcomer", "ranks", "facts given")


class Newcomers(Study):
    """Two trainings for each dataset: without a tenth of the entities, and with all."""

    name = "newcomers"
    title = "Entities that training did not have"
    datasets = ("FB-AUTO", "WD50K")

    def run(self, workspace: Workspace, plan: Plan) -> list[dict[str, Any]]:
        """Train, ask, and write the table.

        Raises:
            UserError: Rows were chosen; or there is a table already.
        """
        if plan.rows or not plan.train:
            raise UserError(f"{self.name} has no rows of its own, and stores no trainings")
        if not workspace.resume and (workspace.folder / f"{self.name}.md").exists():
            raise UserError(f"{workspace.folder}: holds a table already; --resume trains again")
        lines = [line for d in self.datasets_of(plan) for line in self._of(d, workspace, plan)]
        about = (
            f"A tenth of the entities held out of training, budget {plan.told}. Test facts that "
            "name one of them, every slot: all, those that ask for another entity beside a "
            "newcomer, and those that ask for the newcomer."
        )
        text = f"# {self.title}\n\n{about}\n\n{to_markdown(lines, _COLUMNS)}"
        self.put(workspace.folder, lines, text, plots.bars(lines, self.title))
        return lines

    def _of(self, dataset: str, workspace: Workspace, plan: Plan) -> list[dict[str, Any]]:
        config = recipe(dataset, {}, [*plan.epochs, *plan.overrides])
        splits = workspace.cells.splits(config)
        newcomers = held_out(splits.train, seed=config.training.seed)
        rest = without(splits.train, newcomers)
        found = []
        for label, part in (("held out", rest), ("trained on all", splits.train)):
            watch = workspace.watch(Cell(label, dataset, config.training.seed, config))
            shown = replace(splits, parts={**splits.parts, "train": part})
            trained = run(config, splits=shown, watch=watch, hold=workspace.cells.hold)
            found += self._asked(trained, splits, newcomers, whole=part is splits.train)
        return [{"dataset": dataset, "budget": plan.told, **line} for line in found]

    def _asked(
        self, trained: Run, splits: Splits, newcomers: Array, *, whole: bool
    ) -> list[dict[str, Any]]:
        """A row for each number of facts; one for a model that was trained on all."""
        if whole:
            return [ranked(trained.model, trained, splits, newcomers) | {"row": "trained on all"}]
        lines = []
        for count in GIVEN:
            facts = given_facts(splits.train, newcomers, count)
            model = trained.model
            if count:
                joined = join_graph(trained.splits.train, facts)
                model = enlarged(model, [trained.config], joined)
            line = ranked(model, trained, splits, newcomers)
            row = {0: "no facts given", 1: "1 fact given"}.get(count, f"{count} facts given")
            lines.append(line | {"row": row, "facts given": len(facts)})
        return lines


def held_out(train: HKG, *, seed: int) -> Array:  # rising ids
    """A tenth of the entities that training facts name."""
    c = train.columns
    named = np.unique(np.concatenate([c.subject, c.object, c.values]))
    count = max(1, round(_SHARE * len(named)))
    return np.sort(np.random.default_rng(seed).choice(named, count, replace=False))


def naming(facts: HKG, entities: Array) -> Array:  # (facts,) bool
    """Which facts name any of these entities."""
    c = facts.columns
    found: Array = np.isin(c.subject, entities) | np.isin(c.object, entities)
    found[owners_of(c.offsets)[np.isin(c.values, entities)]] = True
    return found


def without(facts: HKG, entities: Array) -> HKG:
    """Those that name none of these entities."""
    return facts.select(~naming(facts, entities))


def given_facts(train: HKG, newcomers: Array, count: int) -> HKG:
    """So many facts of each newcomer, or all it has; always the same, and more hold fewer."""
    c, size = train.columns, len(train)
    fact = np.concatenate([np.arange(size), np.arange(size), owners_of(c.offsets)])
    who = np.concatenate([c.subject, c.object, c.values])
    pairs = np.unique(np.stack([who, fact], axis=1)[np.isin(who, newcomers)], axis=0)
    pairs = pairs[np.random.default_rng(0).permutation(len(pairs))]
    pairs = pairs[np.argsort(pairs[:, 0], kind="stable")]
    starts = np.searchsorted(pairs[:, 0], pairs[:, 0])
    chosen = pairs[np.arange(len(pairs)) - starts < count, 1]
    return train.select(np.unique(chosen))


def ranked(model: TransEQ, trained: Run, splits: Splits, newcomers: Array) -> dict[str, Any]:
    """MRR of test facts that name a newcomer; every split filters, the facts held out too."""
    asked = splits.test.select(naming(splits.test, newcomers))
    if not len(asked):
        raise UserError(f"{splits.name}: no test fact names an entity that was held out")
    known, limits = Background.of(splits), limits_of(trained.config)
    ranks = evaluate(model, asked, known, limits=limits).ranks
    values = 1.0 / ranks.by("realistic")
    is_answer = np.isin(entity_at(asked.columns, ranks.fact, ranks.slot), newcomers)
    parts = {"mrr": values, "beside a newcomer": values[~is_answer]}
    return {
        **{name: _mean(part) for name, part in parts.items()},
        "for a newcomer": _mean(values[is_answer]),
        "ranks": len(values),
    }


def _mean(values: Sequence[float] | Array) -> float | None:
    return float(np.mean(values)) if len(values) else None
