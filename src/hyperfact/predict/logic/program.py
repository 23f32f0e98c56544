"""A query by ids, taken apart: its form, which many queries share, and the ids it is about.

The columns of a query are its variables, the asked one first, and then its known entities. A form
names columns only, so that queries of one form are answered side by side.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.labels import Labels
from hyperfact.graph.language.formula import And, Atom, Formula, Not, Or, Query, Variable

ASKED = 0  # the column of the asked variable


@dataclass(frozen=True)
class Leaf:
    """A fact: the column of each slot, the columns of its relations, and the slot to ask for.

    A model tells how likely an entity fills one slot when the others are known. The slot to ask for
    is the one whose variable is nearest to the asked one; objects go before subjects and values.
    """

    slots: tuple[int, ...]
    relations: tuple[int, ...]
    asked: int

    @property
    def column(self) -> int:
        """The column of the slot to ask for."""
        return self.slots[self.asked]


@dataclass(frozen=True)
class All:
    """Every part, for some choice of the variables that are bound here."""

    parts: "tuple[Node, ...]"
    bound: tuple[int, ...] = ()


@dataclass(frozen=True)
class Some:
    """One part at least."""

    parts: "tuple[Node, ...]"


@dataclass(frozen=True)
class Deny:
    """Not this part."""

    part: "Node"


Node = Leaf | All | Some | Deny


def leaves(node: Node) -> Iterable[Leaf]:
    """Every fact of a formula."""
    if isinstance(node, Leaf):
        yield node
    elif isinstance(node, Deny):
        yield from leaves(node.part)
    else:
        for part in node.parts:
            yield from leaves(part)


def columns(node: Node) -> frozenset[int]:
    """Every column in a formula but those that are bound inside."""
    if isinstance(node, Leaf):
        return frozenset(node.slots)
    if isinstance(node, Deny):
        return columns(node.part)
    inner = frozenset().union(*map(columns, node.parts))
    return inner - frozenset(node.bound) if isinstance(node, All) else inner


@dataclass(frozen=True)
class Form:
    """What queries have in common that differ in names only."""

    root: Node
    variables: int
    distances: tuple[int, ...]  # (variables,) facts between each and the asked one


@dataclass(frozen=True)
class Program:
    """A query ready to be answered."""

    query: Query
    form: Form
    entities: tuple[int, ...]  # ids of the known entities, in the order of their columns
    relations: tuple[int, ...]
    names: tuple[Variable, ...]  # of the variables, in the order of their columns

    @cached_property
    def leaves(self) -> tuple[Leaf, ...]:
        """Its facts, in the order of writing."""
        return tuple(leaves(self.form.root))


def compiled(query: Query, entities: Vocabulary, relations: Vocabulary, labels: Labels) -> Program:
    """Look the names of a query up.

    Raises:
        UnknownNameError: A name that nobody has; says the nearest.
        UserError: A label that several names have; says which.
    """
    others = [variable for variable in query.where.variables if variable != query.asked]
    maker = _Maker((query.asked, *others), query.where)
    root = maker.node(query.where, frozenset(others))
    known = [entities.id(labels.meant(name, "entity"), "entity") for name in maker.constants]
    kinds = [relations.id(labels.meant(r, "relation"), "relation") for r in maker.relations]
    form = Form(root, len(maker.variables), maker.distances)
    return Program(query, form, tuple(known), tuple(kinds), maker.variables)


class _Maker:
    """Gives every variable, entity and relation of a formula its column."""

    def __init__(self, variables: tuple[Variable, ...], where: Formula) -> None:
        self.variables = variables
        self.constants: list[str] = []
        self.relations: list[str] = []
        near = _distances(variables[0], where)
        self.distances = tuple(near[variable] for variable in variables)

    def node(self, formula: Formula, bind: frozenset[Variable]) -> Node:
        """A formula with the variables that are bound in it, each in the smallest part."""
        if isinstance(formula, Atom):
            leaf = self.leaf(formula)
            return All((leaf,), self.numbers(bind)) if bind else leaf
        if isinstance(formula, Not):
            return Deny(self.node(formula.part, bind))
        assert isinstance(formula, And | Or)
        inside = [bind & frozenset(part.variables) for part in formula.parts]
        here: frozenset[Variable] = frozenset()
        if isinstance(formula, And):
            here = frozenset(v for v in bind if sum(v in some for some in inside) > 1)
        parts = tuple(
            self.node(part, some - here) for part, some in zip(formula.parts, inside, strict=True)
        )
        return Some(parts) if isinstance(formula, Or) else All(parts, self.numbers(here))

    def numbers(self, some: Iterable[Variable]) -> tuple[int, ...]:
        return tuple(sorted(self.variables.index(variable) for variable in some))

    def leaf(self, atom: Atom) -> Leaf:
        slots = []
        for term in atom.entities:
            if isinstance(term, Variable):
                slots.append(self.variables.index(term))
            else:  # every place has its own column, so that equal names do not change the form
                slots.append(len(self.variables) + len(self.constants))
                self.constants.append(term)
        first = len(self.relations)
        self.relations += [term for term in atom.relations if not isinstance(term, Variable)]
        relations = tuple(range(first, len(self.relations)))
        return Leaf(tuple(slots), relations, self.asked_slot(slots))

    def asked_slot(self, slots: Sequence[int]) -> int:
        count, order = len(self.variables), [1, 0, *range(2, len(slots))]
        far = [self.distances[column] if column < count else 2 * count for column in slots]
        return int(min(order, key=far.__getitem__))


def _distances(asked: Variable, where: Formula) -> dict[Variable, int]:
    """How many facts lie between the asked variable and each other one.

    Variables that do not hang together with it follow behind, by their distance from the one of
    them that most facts share.
    """
    groups = [set(atom.variables) for atom in where.atoms]
    found: dict[Variable, int] = {}
    for first in (asked, *sorted(where.variables, key=lambda v: -sum(v in g for g in groups))):
        if first in found:
            continue
        front, steps = {first}, 1 + max(found.values(), default=-1)
        while front:
            found |= dict.fromkeys(front, steps)
            near = {v for some in groups if some & front for v in some}
            front, steps = near - set(found), steps + 1
    return found
