"""The truth of a formula for every entity, by dynamic programming over beams.

A variable that hangs on the rest by itself is solved first, for all entities. Its best candidates
are then put into the facts that join it to the rest, and of each entity there the best candidate
counts: max is what `there is` means, and truths only fall when more is demanded. Known facts are
followed from every candidate, the beam bounds only the predicted ones. Variables on a cycle are
tried one after the other in the same way. With a beam of everybody the result is exact.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from hyperfact.predict.logic.fact_truth import CELLS, FactTruth, pieces
from hyperfact.predict.logic.program import All, Deny, Leaf, Node, columns
from hyperfact.predict.logic.query_rows import Rows, distinct
from hyperfact.predict.logic.steps import Step, below_of, components, is_link
from hyperfact.predict.questions import QuestionIds

_ROWS = 1024  # choices of several variables that are looked at together
_AT_ONCE = 16  # candidates that are searched through before it is asked whether to go on


class Solver(FactTruth):
    """Answers queries of one form.

    Args:
        truths: How true facts are.
        form: Of the queries.
        effort: How hard to try.
    """

    def solve(self, rows: Rows, root: int | None) -> Tensor:  # (rows, entities) or (rows, 1)
        """The truth of the whole formula, for each entity in the column `root`."""
        return self.truth(self.form.root, root, rows)

    def truth(self, node: Node, root: int | None, rows: Rows) -> Tensor:
        """The truth of a part, for each entity in `root`; one number where it does not say.

        When the time is over nothing is said to be true that was not looked at.
        """
        if self.is_late() or not len(rows):
            return torch.full((len(rows), 1), float(rows.denied))
        if isinstance(node, Leaf):
            return self._leaf(node, root, rows)
        if isinstance(node, Deny):
            return 1.0 - self.truth(node.part, root, replace(rows, denied=not rows.denied))
        if isinstance(node, All):
            return self.every(node.parts, node.bound, root, rows)
        found = self.truth(node.parts[0], root, rows)
        for part in node.parts[1:]:
            found = self.norm.either(found, self.truth(part, root, rows))
        return found

    def every(
        self, parts: Sequence[Node], bound: Sequence[int], root: int | None, rows: Rows
    ) -> Tensor:
        """The truth of all parts together, for the best choice of the variables bound here."""
        found, groups = torch.ones(len(rows), 1), list(components(parts, bound))
        for some, inside in groups:
            if inside:
                wanted = self._wanted(parts, rows) if len(groups) == 1 else None
                value = self._best(some, inside, root, rows, wanted)
            else:
                value = self.truth(some[0], root, rows)
            found = self.norm.both(found, value)
        return found

    def _wanted(self, parts: Sequence[Node], rows: Rows) -> int | None:
        """How many answers matter: all of them, but for the whole formula of one query."""
        root = self.form.root
        whole = isinstance(root, All) and parts is root.parts and len(rows) == 1
        return self.effort.k if whole else None

    # -- facts ------------------------------------------------------------------------------------

    def _leaf(self, leaf: Leaf, root: int | None, rows: Rows) -> Tensor:
        if root in leaf.slots and (leaf.slots.count(root) > 1 or leaf.column != root):
            return self._each(leaf, root, rows)
        allowed = self.allowed(leaf, root, rows)
        if root in leaf.slots:
            questions = rows.questions(leaf)
            parts = [self.ask(some, rows) for some in pieces(questions, self.truths.size)]
            found = parts[0] if len(parts) == 1 else torch.cat(parts)
            return found.mul_(allowed[:, None]) if not bool(allowed.all()) else found
        return (self.at(leaf, rows) * allowed)[:, None]

    def _each(self, leaf: Leaf, root: int, rows: Rows) -> Tensor:  # (rows, entities)
        """A fact in which the variable stands twice, or is not asked for: tried one by one."""
        found = torch.zeros(len(rows), self.truths.size)
        places = [slot for slot, column in enumerate(leaf.slots) if column == root]
        for row in range(len(rows)):
            ways, truths = self.truths.links(rows.pattern(row, leaf), denied=rows.denied)
            same = (ways[:, places] == ways[:, places[:1]]).all(axis=1)
            found[row, torch.from_numpy(ways[same, places[0]])] = truths[torch.from_numpy(same)]
        if self.truths.only_known:
            return found
        every = torch.ones(1, 1).expand(len(rows), self.truths.size)
        step = Step(root, (), (), (), every, self.weights([leaf], root, rows), None)
        for owner, ids, _ in self.beam(step, rows, self.truths.size):
            some = rows.take(owner).choose(root, ids)
            found[owner, ids] = self._leaf(leaf, None, some)[:, 0]
        return found

    # -- variables --------------------------------------------------------------------------------

    def _best(
        self,
        parts: Sequence[Node],
        bound: Sequence[int],
        root: int | None,
        rows: Rows,
        wanted: int | None = None,
    ) -> Tensor:
        """The truth of parts that hang together, for the best choice of their variables.

        Candidates come best first, and no answer through one is truer than the candidate itself.
        So the search ends when the wanted answers that are found are truer than all that follow.
        """
        step = self.step(parts, bound, root, rows)
        width = 1 if root is None else self.truths.size
        found = torch.zeros(len(rows), width)
        if step.leaf is not None:
            self._follow(step, step.leaf, root, rows, found)
            if self.truths.only_known:
                return found
        rest = tuple(v for v in step.bound if v != step.variable)
        for owner, ids, truth in self.beam(step, rows, width):
            if wanted is not None and _are_enough(found[0], wanted, truth):
                break
            some = rows.take(owner).choose(step.variable, ids)
            if step.leaf is not None and root is not None:
                truth = truth * self.allowed(step.leaf, root, some)
                self._project(some.questions(step.leaf), owner, truth, found)
                continue
            value = self.norm.both(truth[:, None], self.every(step.rest, rest, root, some))
            at = owner[:, None].expand(-1, width)
            found.scatter_reduce_(0, at, value.expand(-1, width), "amax")
        return found

    def _project(
        self, questions: Sequence[QuestionIds], owner: Tensor, truth: Tensor, found: Tensor
    ) -> None:
        """Predicted facts from each candidate; known ones have been followed."""
        for places, ids, truths in self.truths.predicted(questions):
            at = torch.tensor(places)
            value = self.norm.both(truth[at, None], truths)  # (places, ids)
            for row in sorted(set(owner[at].tolist())):
                best = value[owner[at] == row].amax(dim=0)
                found[row, ids] = torch.maximum(found[row, ids], best)

    def step(
        self, parts: Sequence[Node], bound: Sequence[int], root: int | None, rows: Rows
    ) -> "Step":
        """Which variable to choose next, and how true each candidate is by what hangs on it."""
        variable = min(bound, key=lambda v: (self.form.distances[v], v))
        below = below_of(parts, variable, root, rows.chosen)
        above = [part for part in parts if part not in below]
        inside = frozenset().union(*map(columns, below)) if below else frozenset()
        mine = [v for v in bound if v in inside and v != variable]
        some, places = distinct(rows, inside)
        truth = self.every(below, mine, variable, some).expand(-1, self.truths.size)[places]
        weights = self.weights(above, variable, rows)
        only = above[0] if len(above) == 1 and isinstance(above[0], Leaf) else None
        others = {v for v in bound if v not in mine}
        if only is not None and not is_link(only, variable, root, rows, others):
            only = None
        return Step(variable, tuple(others), tuple(below), tuple(above), truth, weights, only)

    def _follow(
        self, step: "Step", leaf: Leaf, root: int | None, rows: Rows, found: Tensor
    ) -> None:
        """Known facts from every candidate to the entities they lead to."""
        here = leaf.slots.index(step.variable)
        there = None if root is None else leaf.slots.index(root)
        for row in range(len(rows)):
            ways, truths = self.truths.links(rows.pattern(row, leaf), denied=rows.denied)
            if not len(ways):
                continue
            start = torch.from_numpy(ways[:, here])
            value = self.norm.both(truths, step.truth[row, start])
            end = torch.zeros_like(start) if there is None else torch.from_numpy(ways[:, there])
            found[row].scatter_reduce_(0, end, value, "amax")

    def beam(self, step: "Step", rows: Rows, width: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """Candidates with their rows and truths, best first, in pieces that fit into memory."""
        truth = step.truth * (step.weights > 0)
        alive = (truth > 0).sum(dim=1)
        most = int(alive.max()) if len(alive) else 0
        beam = most if self.effort.beam is None else min(most, self.effort.beam)
        if not beam:
            return
        if beam < most:
            self.cuts.beam(step.variable, beam, most)
        order = truth.double() + 1e-9 * step.weights  # of equal ones those with more facts
        ids = order.topk(beam, dim=1).indices  # (rows, beam)
        best = truth.gather(1, ids)
        each = max(1, CELLS // max(1, width * len(rows)))
        if step.leaf is None:  # what follows is searched through, not multiplied
            each = max(1, min(each, _AT_ONCE, _ROWS // len(rows)))
        for start in range(0, beam, each):
            if self.is_late():
                return
            owner, place = torch.nonzero(best[:, start : start + each], as_tuple=True)
            if not len(owner):
                return
            yield owner, ids[owner, start + place], best[owner, start + place]


def _are_enough(found: Tensor, wanted: int, rest: Tensor) -> bool:
    """Whether the best that are found are at least as true as all that can follow."""
    if len(found) < wanted or not len(rest):
        return False
    return bool(found.topk(wanted).values[-1] >= rest.max())
