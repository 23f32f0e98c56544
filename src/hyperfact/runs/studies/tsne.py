"""The picture of mediators: are those of one primary relation near each other?"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hyperfact.errors import MissingExtraError, UserError
from hyperfact.graph.ragged import Array
from hyperfact.runs.run import Run
from hyperfact.runs.studies import plots
from hyperfact.runs.studies.cells import Outcome
from hyperfact.runs.studies.recipes import Changes
from hyperfact.runs.studies.study import Plan, Trainings, Workspace

RELATIONS, POINTS, NEIGHBOURS = 10, 2000, 10


class Tsne(Trainings):
    """Vectors of mediators of the ten most frequent primary relations, shared or not."""

    name = "tsne"
    title = "Mediators by primary relation"
    datasets = ("FB-AUTO", "JF17K")
    most_seeds = 1
    needs_runs = True

    def variants(self) -> dict[str, Changes]:
        """As in the paper's figure."""
        return {f"{a:.1f}": {"encoder": {"alpha": a}} for a in (0.8, 0.0)}

    def columns(self) -> Sequence[str]:
        """With the figure that the picture stands for."""
        head, *rest = super().columns()
        return [head, "row", "purity", "chance", *rest[1:]]

    def lines(
        self, outcomes: Sequence[Outcome], workspace: Workspace, plan: Plan
    ) -> list[dict[str, Any]]:
        """With the purity of each row, of its first seed."""
        found = {}
        for outcome in outcomes:
            if outcome.seed == 0:
                points, labels = _mediators(workspace.cells.opened(outcome.name))
                most = max(labels.count(label) for label in set(labels))
                found[outcome.dataset, outcome.row] = {
                    "purity": purity(points, labels),
                    "chance": most / len(labels),
                }
        return [
            line | found[line["dataset"], line["row"]]
            for line in super().lines(outcomes, workspace, plan)
        ]

    def picture(
        self, outcomes: Sequence[Outcome], lines: Sequence[dict[str, Any]], workspace: Workspace
    ) -> bytes:
        """A cloud for each alpha."""
        del lines
        panels = []
        for outcome in outcomes:
            if outcome.seed == 0:
                points, labels = _mediators(workspace.cells.opened(outcome.name))
                heading = f"{outcome.dataset}, alpha {outcome.row}"
                panels.append((heading, embedded(points), labels))
        return plots.clouds(panels, self.title)


def _mediators(run: Run) -> tuple[Array, list[str]]:
    """Vectors of some mediators of a run, and the primary relation of each."""
    found = run.model.mediators()
    if found is None:
        raise UserError("the graph of this run has no mediators")
    chosen = sample(found.relation)
    labels = [str(run.splits.relations[int(r)]) for r in found.relation[chosen]]
    return found.vectors[chosen].detach().double().numpy(), labels


def sample(relation: Array) -> Array:  # (points,)
    """Mediators of the most frequent relations, at most some of them."""
    counts = np.bincount(relation)
    top = np.argsort(-counts, kind="stable")[:RELATIONS]
    rows = np.flatnonzero(np.isin(relation, top) & (counts[relation] > 0))
    if len(rows) > POINTS:
        rows = np.sort(np.random.default_rng(0).permutation(rows)[:POINTS])
    return rows


def purity(points: Array, labels: Sequence[str]) -> float:
    """The share of nearest neighbours that have a point's own label, in the full workspace.

    Points at the same place are equally near; all of those at the last distance count, by share.
    """
    names = np.asarray(labels)
    squares = (points**2).sum(axis=1)
    distances = np.maximum(squares[:, None] + squares[None, :] - 2 * points @ points.T, 0.0)
    distances[distances < 1e-9 * max(float(squares.max(initial=0.0)), 1e-30)] = 0.0
    np.fill_diagonal(distances, np.inf)
    count = min(NEIGHBOURS, len(points) - 1)
    if count < 1:
        raise UserError("at least two mediators are needed")
    edge = np.sort(distances, axis=1)[:, count - 1 : count]
    inside, at = distances < edge, distances == edge
    same = names[:, None] == names[None, :]
    free = count - inside.sum(axis=1)
    hits = (inside & same).sum(axis=1) + free * (at & same).sum(axis=1) / at.sum(axis=1)
    return float((hits / count).mean())


def embedded(points: Array) -> Array:  # (points, 2)
    """Two dimensions by t-SNE, the same on every call."""
    try:
        from openTSNE import TSNE
    except ImportError:
        raise MissingExtraError("openTSNE", "viz", "this picture") from None
    spread = points + 1e-6 * np.random.default_rng(0).standard_normal(points.shape)
    found: Array = np.asarray(TSNE(random_state=0, n_jobs=1, verbose=False).fit(spread))
    return found
