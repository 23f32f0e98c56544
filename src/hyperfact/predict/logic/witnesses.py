"""Who stands for the other variables: the best choice for given answers, and each fact's truth."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from hyperfact.graph.queries import BLANK_ID
from hyperfact.predict.logic.program import ASKED, All, Deny, Leaf, Node, Some
from hyperfact.predict.logic.query_rows import Rows, question_of
from hyperfact.predict.logic.solving import Solver
from hyperfact.predict.logic.steps import Step, components
from hyperfact.predict.questions import QuestionIds

_LINKED = 8  # candidates that known facts lead to, beside those of the beam


@dataclass(frozen=True)
class FoundFact:
    """A fact of the query with everybody in it."""

    leaf: Leaf
    entities: tuple[int, ...]  # BLANK_ID where nobody was chosen
    relations: tuple[int, ...]
    denied: bool
    truth: float | None  # None: somebody is missing

    @property
    def question(self) -> QuestionIds:
        """The fact with its asked slot blank."""
        return question_of(list(self.entities), list(self.relations), self.leaf.asked)

    @property
    def answer(self) -> int:
        """Who stands in the asked slot."""
        return self.entities[self.leaf.asked]


class Witnesses:
    """Chooses the variables of answers that have been found.

    Args:
        solver: That found them.
    """

    def __init__(self, solver: Solver) -> None:
        self.solver = solver

    def of(self, rows: Rows, answers: Tensor) -> Tensor:  # (answers, columns)
        """The best choice for each answer of one query; BLANK_ID where none is needed."""
        several = rows.take(torch.zeros(len(answers), dtype=torch.int64))
        if not len(answers):
            return several.values
        return self._node(self.solver.form.root, several.choose(ASKED, answers))

    def _node(self, node: Node, rows: Rows) -> Tensor:
        """The values of the rows with the variables of a part filled in."""
        if isinstance(node, All):
            return self._all(node.parts, node.bound, rows)
        if isinstance(node, Some):
            return self._some(node, rows)
        return rows.values

    def _some(self, node: Some, rows: Rows) -> Tensor:
        """Only the part that is truest needs anybody."""
        truths = torch.stack([self.solver.truth(part, None, rows)[:, 0] for part in node.parts])
        best, values = truths.argmax(dim=0), rows.values.clone()
        for number, part in enumerate(node.parts):
            mine = torch.nonzero(best == number)[:, 0]
            if len(mine):
                values[mine] = self._node(part, rows.take(mine))
        return values

    def _all(self, parts: Sequence[Node], bound: Sequence[int], rows: Rows) -> Tensor:
        values = rows.values
        for some, inside in components(parts, bound):
            mine = self._component(some, inside, rows) if inside else self._node(some[0], rows)
            values = torch.where(values == BLANK_ID, mine, values)
        return values

    def _component(self, parts: Sequence[Node], bound: Sequence[int], rows: Rows) -> Tensor:
        step = self.solver.step(parts, bound, None, rows)
        rest = tuple(v for v in step.bound if v != step.variable)
        owner, ids = self._candidates(step, rows)
        tried = rows.take(owner).choose(step.variable, ids)
        truth = self.solver.every(step.rest, rest, None, tried)[:, 0]
        truth = self.solver.norm.both(step.truth[owner, ids], truth)
        best, values = _best(truth, owner, ids, len(rows)), rows.values.clone()
        some = torch.nonzero(best != BLANK_ID)[:, 0]
        if len(some):
            chosen = rows.take(some).choose(step.variable, best[some])
            below = [v for v in bound if v not in step.bound]
            first, more = self._all(step.rest, rest, chosen), self._all(step.below, below, chosen)
            values[some] = torch.where(first == BLANK_ID, more, first)
        return values

    def _candidates(self, step: Step, rows: Rows) -> tuple[Tensor, Tensor]:
        """Those of the beam, and the best whom known facts join to the answer."""
        pieces = list(self.solver.beam(step, rows, 1))
        owners, ids = [piece[0] for piece in pieces], [piece[1] for piece in pieces]
        if step.leaf is not None:
            here = step.leaf.slots.index(step.variable)
            for row in range(len(rows)):
                ways, _ = self.solver.truths.links(rows.pattern(row, step.leaf), denied=rows.denied)
                some = torch.from_numpy(ways[:, here])
                some = some[step.truth[row, some].argsort(descending=True)[:_LINKED]]
                owners.append(torch.full((len(some),), row))
                ids.append(some)
        none = torch.zeros(0, dtype=torch.int64)
        return torch.cat([none, *owners]), torch.cat([none, *ids])

    # -- the truth of each fact -------------------------------------------------------------------

    def facts(self, rows: Rows) -> list[list[FoundFact]]:
        """For each row every fact of the query, in the order of writing."""
        found: list[list[FoundFact]] = [[] for _ in range(len(rows))]
        for leaf, denied in _signed(self.solver.form.root, denied=False):
            whole = (rows.values[:, leaf.slots] != BLANK_ID).all(dim=1)
            truths = torch.zeros(len(rows))
            truths[whole] = self.solver.at(leaf, rows.take(torch.nonzero(whole)[:, 0]))
            places = zip(
                rows.values[:, leaf.slots].tolist(),
                rows.relations[:, leaf.relations].tolist(),
                whole.tolist(),
                strict=True,
            )
            for row, (entities, relations, is_whole) in enumerate(places):
                truth = float(truths[row]) if is_whole else None
                found[row].append(FoundFact(leaf, (*entities,), (*relations,), denied, truth))
        return found


def _best(truth: Tensor, owner: Tensor, ids: Tensor, rows: int) -> Tensor:  # (rows,)
    """For each row the truest candidate, or nobody."""
    found = torch.full((rows,), BLANK_ID)
    for row in range(rows):
        mine = torch.nonzero(owner == row)[:, 0]
        if len(mine):
            found[row] = ids[mine[truth[mine].argmax()]]
    return found


def _signed(node: Node, *, denied: bool) -> list[tuple[Leaf, bool]]:
    if isinstance(node, Leaf):
        return [(node, denied)]
    if isinstance(node, Deny):
        return _signed(node.part, denied=not denied)
    return [pair for part in node.parts for pair in _signed(part, denied=denied)]
