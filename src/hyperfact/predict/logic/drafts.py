"""Shapes that are being filled with facts, to become queries."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.language.formula import And, Atom, Formula, Not, Or, Query, Term, Variable
from hyperfact.graph.ragged import Array, offsets_of


@dataclass
class Draft:
    """A shape that is being filled: who stands where, and the facts so far."""

    rng: np.random.Generator
    names: dict[Term, int] = field(default_factory=dict)
    facts: dict[Atom, Atom] = field(default_factory=dict)
    used: set[Fact] = field(default_factory=set)

    def end(self, atom: Atom) -> Term | None:
        """The end of a place that is filled already."""
        return next((term for term in (atom.subject, atom.object) if term in self.names), None)

    def put(self, atom: Atom, row: int, graph: HKG) -> bool:
        """A fact in a place, turned as what is known of it demands; False: it is used already."""
        fact, c = graph[row], graph.columns
        if fact in self.used:
            return False
        ends, known = (int(c.subject[row]), int(c.object[row])), self.end(atom)
        if known is None:
            turned = bool(self.rng.integers(2))
        else:
            turned = (self.names[known] == ends[0]) != (known is atom.subject)
        self.names[atom.subject], self.names[atom.object] = ends[::-1] if turned else ends
        self.facts[atom] = _named(atom, fact, turned=turned)
        self.used.add(fact)
        return True


@dataclass(frozen=True)
class Incidence:
    """The facts in which an entity is subject or object."""

    order: Array  # (ends,) rows of facts, entity after entity
    offsets: Array  # (entities + 1,)

    @classmethod
    def of(cls, graph: HKG) -> "Incidence":
        """Index these facts."""
        c = graph.columns
        ends = np.concatenate([c.subject, c.object])
        order = np.argsort(ends, kind="stable")
        counts = np.bincount(ends, minlength=len(graph.entities))
        return cls(order % max(1, len(c)), offsets_of(counts))

    def draw(self, entity: int, rng: np.random.Generator) -> int | None:
        """One of them by chance."""
        start, stop = self.offsets[entity], self.offsets[entity + 1]
        return None if start == stop else int(self.order[rng.integers(start, stop)])


def signed(where: Formula) -> tuple[list[Atom], list[Atom]]:
    """The facts that are said, and those that are denied."""
    if isinstance(where, Atom):
        return [where], []
    if isinstance(where, Not):
        said, denied = signed(where.part)
        return denied, said
    parts = [signed(part) for part in where.inner]
    return [a for said, _ in parts for a in said], [a for _, denied in parts for a in denied]


def variables_of(atoms: Sequence[Atom]) -> list[Variable]:
    """Their variables, each once."""
    return list(dict.fromkeys(v for atom in atoms for v in atom.variables))


def _named(atom: Atom, fact: Fact, *, turned: bool) -> Atom:
    """The place of a shape with the names of a fact; variables stay."""
    start, stop = (fact.object, fact.subject) if turned else (fact.subject, fact.object)
    first = atom.subject if isinstance(atom.subject, Variable) else start
    second = atom.object if isinstance(atom.object, Variable) else stop
    ends = (second, first) if turned else (first, second)
    return Atom(ends[0], fact.relation, ends[1], fact.qualifiers)


def replaced(where: Formula, facts: Mapping[Atom, Atom]) -> Formula:
    """The formula with other facts in their places."""
    if isinstance(where, Atom):
        return facts[where]
    if isinstance(where, Not):
        return Not(replaced(where.part, facts))
    assert isinstance(where, And | Or)
    return type(where)(tuple(replaced(part, facts) for part in where.parts))


def bare(query: Query) -> Query:
    """The same without any qualifier."""
    atoms = {atom: replace(atom, qualifiers=()) for atom in query.where.atoms}
    return Query(query.asked, replaced(query.where, atoms))
