"""The truth of a formula for every entity, by dynamic programming over beams.

A variable that hangs on the rest by itself is solved first, for all entities. Its best candidates
are then put into the facts that join it to the rest, and of each entity there the best candidate
counts: max is what `there is` means, and truths only fall when more is demanded. Known facts are
followed from every candidate, the beam bounds only the predicted ones. Variables on a cycle are
tried one after the other in the same way. With a beam of everybody the result is exact.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hyperfact.graph.queries import BLANK_ID
from hyperfact.predict.logic.effort import Cuts, Effort
from hyperfact.predict.logic.matching import Pattern
from hyperfact.predict.logic.program import (
    All,
    Deny,
    Form,
    Leaf,
    Node,
    Program,
    columns,
    leaves,
)
from hyperfact.predict.logic.tnorms import TNORMS
from hyperfact.predict.logic.truths import Truths
from hyperfact.predict.questions import QuestionIds

_CELLS = 2**23  # truths that exist at once: 32 MB in float32
_REMEMBERED = 2**24  # truths that are kept for questions that come again


@dataclass(frozen=True)
class Rows:
    """Queries of one form side by side, with what is chosen so far."""

    values: Tensor  # (rows, columns) ids of entities; BLANK_ID where a variable is open
    relations: Tensor  # (rows, relations)
    chosen: frozenset[int] = frozenset()  # variables that are not open
    denied: bool = False  # whether an odd number of `not` stands around

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, programs: Sequence[Program]) -> "Rows":
        """A row for each query of one form."""
        blank = [BLANK_ID] * programs[0].form.variables
        values = torch.tensor([[*blank, *p.entities] for p in programs])
        return cls(values, torch.tensor([p.relations for p in programs]))

    def take(self, rows: Tensor) -> "Rows":
        """These rows, in this order."""
        return replace(self, values=self.values[rows], relations=self.relations[rows])

    def choose(self, column: int, ids: Tensor) -> "Rows":
        """The same with an entity for a variable."""
        values = self.values.clone()
        values[:, column] = ids
        return replace(self, values=values, chosen=self.chosen | {column})

    def questions(self, leaf: Leaf) -> list[QuestionIds]:
        """The fact of each row with its asked slot blank."""
        entities, relations = self.values[:, leaf.slots], self.relations[:, leaf.relations]
        return [
            question_of(e, r, leaf.asked)
            for e, r in zip(entities.tolist(), relations.tolist(), strict=True)
        ]

    def pattern(self, row: int, leaf: Leaf) -> Pattern:
        """The fact of a row with every open variable open."""
        return Pattern(
            tuple(self.values[row, leaf.slots].tolist()),
            tuple(self.relations[row, leaf.relations].tolist()),
        )


def question_of(entities: list[int], relations: list[int], asked: int) -> QuestionIds:
    """By ids, with the pairs in canonical order."""
    entities[asked] = BLANK_ID
    pairs = sorted(zip(relations[1:], entities[2:], strict=True))
    values, attributes = tuple(v for _, v in pairs), tuple(a for a, _ in pairs)
    return QuestionIds((entities[0], entities[1], *values), (relations[0], *attributes))


@dataclass
class Solver:
    """Answers queries of one form.

    Args:
        truths: How true facts are.
        form: Of the queries.
        effort: How hard to try.
    """

    truths: Truths
    form: Form
    effort: Effort

    def __post_init__(self) -> None:
        self.cuts, self.norm = Cuts(), TNORMS[self.effort.logic]
        self._memory: dict[tuple[QuestionIds, bool], Tensor] = {}

    def solve(self, rows: Rows, root: int | None) -> Tensor:  # (rows, entities) or (rows, 1)
        """The truth of the whole formula, for each entity in the column `root`."""
        return self.truth(self.form.root, root, rows)

    def truth(self, node: Node, root: int | None, rows: Rows) -> Tensor:
        """The truth of a part, for each entity in `root`; one number where it does not say."""
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
        found = torch.ones(len(rows), 1)
        for some, inside in components(parts, bound):
            if inside:
                value = self._best(some, inside, root, rows)
            else:
                value = self.truth(some[0], root, rows)
            found = self.norm.both(found, value)
        return found

    # -- facts ------------------------------------------------------------------------------------

    def _leaf(self, leaf: Leaf, root: int | None, rows: Rows) -> Tensor:
        if root in leaf.slots and (leaf.slots.count(root) > 1 or leaf.column != root):
            return self._each(leaf, root, rows)
        allowed = self._allowed(leaf, root, rows)
        if root in leaf.slots:
            pieces = _pieces(rows.questions(leaf), self.truths.size)
            parts = [self.truths.rows(some, denied=rows.denied) for some in pieces]
            found = parts[0] if len(parts) == 1 else torch.cat(parts)
            return found.mul_(allowed[:, None]) if not bool(allowed.all()) else found
        return (self.at(leaf, rows) * allowed)[:, None]

    def at(self, leaf: Leaf, rows: Rows) -> Tensor:  # (rows,)
        """The truth of whole facts; a question is asked once, and its truths are remembered."""
        questions, answers = rows.questions(leaf), rows.values[:, leaf.column].tolist()
        keys = [(question, rows.denied) for question in questions]
        fresh = list(dict.fromkeys(key[0] for key in keys if key not in self._memory))
        if (len(self._memory) + len(fresh)) * self.truths.size > _REMEMBERED:
            return self._at_once(questions, answers, rows)
        for some in _pieces(fresh, self.truths.size):
            found = self.truths.rows(some, denied=rows.denied)
            self._memory |= {(q, rows.denied): row for q, row in zip(some, found, strict=True)}
        pairs = zip(keys, answers, strict=True)
        return torch.tensor([float(self._memory[key][answer]) for key, answer in pairs])

    def _at_once(
        self, questions: Sequence[QuestionIds], answers: Sequence[int], rows: Rows
    ) -> Tensor:  # (rows,)
        """The same without remembering anything."""
        found = []
        for some in _pieces(questions, self.truths.size):
            truths = self.truths.rows(some, denied=rows.denied)
            mine = torch.tensor(answers[len(found) : len(found) + len(some)])
            found += truths.gather(1, mine[:, None])[:, 0].tolist()
        return torch.tensor(found)

    def _allowed(self, leaf: Leaf, root: int | None, rows: Rows) -> Tensor:  # (rows,)
        """1 where every chosen entity has been seen in its slot, and no pair stands twice."""
        found = torch.ones(len(rows))
        for slot, column in enumerate(leaf.slots):
            if column == root or column >= self.form.variables or slot == leaf.asked:
                continue
            found *= self._seen(leaf, slot, rows, rows.values[:, column])
        values = rows.values[:, leaf.slots[2:]]
        kinds = rows.relations[:, leaf.relations[1:]]
        for j in range(1, values.shape[1]):
            same = (values[:, :j] == values[:, j : j + 1]) & (kinds[:, :j] == kinds[:, j : j + 1])
            found *= 1.0 - (same & (values[:, :j] != BLANK_ID)).any(dim=1).float()
        return found

    def _seen(self, leaf: Leaf, slot: int, rows: Rows, ids: Tensor) -> Tensor:  # (rows,)
        kinds = rows.relations[:, leaf.relations[max(0, slot - 1)]]
        found = torch.ones(len(rows))
        for relation in sorted(set(kinds.tolist())):
            weights = self.truths.weights(slot, relation)
            if weights is not None:
                here = kinds == relation
                found[here] = (weights[ids[here]] > 0).float()
        return found

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
        step = Step(root, (), (), (), every, self._weights([leaf], root, rows), None)
        for owner, ids, _ in self.beam(step, rows, self.truths.size):
            some = rows.take(owner).choose(root, ids)
            found[owner, ids] = self._leaf(leaf, None, some)[:, 0]
        return found

    # -- variables --------------------------------------------------------------------------------

    def _best(
        self, parts: Sequence[Node], bound: Sequence[int], root: int | None, rows: Rows
    ) -> Tensor:
        """The truth of parts that hang together, for the best choice of their variables."""
        step = self.step(parts, bound, root, rows)
        width = 1 if root is None else self.truths.size
        found = torch.zeros(len(rows), width)
        if step.leaf is not None:
            self._follow(step, step.leaf, root, rows, found)
            if self.truths.only_known:
                return found
        rest = tuple(v for v in step.bound if v != step.variable)
        for owner, ids, truth in self.beam(step, rows, width):
            some = rows.take(owner).choose(step.variable, ids)
            if step.leaf is not None and root is not None:
                truth = truth * self._allowed(step.leaf, root, some)
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
        below = _below(parts, variable, root, rows.chosen)
        above = [part for part in parts if part not in below]
        inside = frozenset().union(*map(columns, below)) if below else frozenset()
        mine = [v for v in bound if v in inside and v != variable]
        some, places = _distinct(rows, inside)
        truth = self.every(below, mine, variable, some).expand(-1, self.truths.size)[places]
        weights = self._weights(above, variable, rows)
        only = above[0] if len(above) == 1 and isinstance(above[0], Leaf) else None
        others = {v for v in bound if v not in mine}
        if only is not None and not _is_link(only, variable, root, rows, others):
            only = None
        return Step(variable, tuple(others), tuple(below), tuple(above), truth, weights, only)

    def _weights(self, parts: Sequence[Node], variable: int, rows: Rows) -> Tensor:
        """How often each candidate stands where it must stand; 0: never."""  # (rows, entities)
        found = torch.ones(len(rows), self.truths.size)
        for leaf in (part for part in parts if isinstance(part, Leaf)):
            for slot, column in enumerate(leaf.slots):
                if column != variable or slot == leaf.asked:
                    continue
                kinds = rows.relations[:, leaf.relations[max(0, slot - 1)]]
                for relation in sorted(set(kinds.tolist())):
                    weights = self.truths.weights(slot, relation)
                    if weights is not None:
                        found[kinds == relation] = found[kinds == relation].minimum(weights)
        return found

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
        each = max(1, _CELLS // max(1, width * len(rows)))
        for start in range(0, beam, each):
            if start and self.effort.is_over():
                self.cuts.time(step.variable, start, beam)
                return
            owner, place = torch.nonzero(best[:, start : start + each], as_tuple=True)
            yield owner, ids[owner, start + place], best[owner, start + place]


@dataclass(frozen=True)
class Step:
    """A variable to choose: what hangs on it, and what joins it to the rest."""

    variable: int
    bound: tuple[int, ...]  # the variables of the rest, this one included
    below: tuple[Node, ...]
    rest: tuple[Node, ...]
    truth: Tensor  # (rows, entities) by what hangs on it
    weights: Tensor  # (rows, entities)
    leaf: Leaf | None  # the rest, where it is one fact that known facts can be followed through


def _distinct(rows: Rows, used: frozenset[int]) -> tuple[Rows, Tensor]:
    """Rows that differ in what is used, and for each row which of them it is."""
    if len(rows) < 2:
        return rows, torch.zeros(len(rows), dtype=torch.int64)
    keys = torch.cat([rows.values[:, sorted(used)], rows.relations], dim=1).tolist()
    numbers: dict[tuple[int, ...], int] = {}
    places = [numbers.setdefault(tuple(key), len(numbers)) for key in keys]
    first = dict(zip(reversed(places), reversed(range(len(places))), strict=True))
    return rows.take(torch.tensor([first[i] for i in range(len(numbers))])), torch.tensor(places)


def _is_link(leaf: Leaf, variable: int, root: int | None, rows: Rows, open_ones: set[int]) -> bool:
    """Whether the variable and the root are all that is open in a fact, once each."""
    inside = [c for c in leaf.slots if c in open_ones or (c == root and c not in rows.chosen)]
    wanted = [variable] if root is None else [variable, root]
    return sorted(inside) == sorted(wanted) and (root is None or leaf.column == root)


def _below(
    parts: Sequence[Node], variable: int, root: int | None, chosen: frozenset[int]
) -> list[Node]:
    """The parts that say something of the variable alone, and of others that hang on it alone."""
    found = [
        part
        for part in parts
        if root not in columns(part) and all(leaf.column not in chosen for leaf in leaves(part))
    ]
    while True:
        outside = [part for part in parts if part not in found]
        shared = frozenset().union(*map(columns, outside)) if outside else frozenset()
        kept = [part for part in found if not (_variables(part, chosen) - {variable}) & shared]
        if len(kept) == len(found):
            return found
        found = kept


def _variables(part: Node, chosen: frozenset[int]) -> frozenset[int]:
    return columns(part) - chosen


def components(
    parts: Sequence[Node], bound: Sequence[int]
) -> Iterator[tuple[list[Node], list[int]]]:
    """Parts that share variables which are bound here, together; others by themselves."""
    left, mine = list(parts), frozenset(bound)
    while left:
        some, inside = [left.pop(0)], columns(parts[0]) & mine
        inside = columns(some[0]) & mine
        while more := [part for part in left if columns(part) & inside]:
            left = [part for part in left if part not in more]
            some += more
            inside = frozenset().union(*map(columns, some)) & mine
        yield some, sorted(inside)


def _pieces(questions: Sequence[QuestionIds], size: int) -> Iterator[Sequence[QuestionIds]]:
    """Questions in pieces whose truths fit into memory."""
    each = max(1, _CELLS // max(1, size))
    for start in range(0, len(questions), each):
        yield questions[start : start + each]
