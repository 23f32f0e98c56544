"""Queries as Python objects: facts with variables, joined by `&`, `|` and `~`.

A variable that is not asked for is bound where all its places are: `~(f(x, y) & g(y, z))` says that
there is no such y. In the parts of an `|` each has its own.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from hyperfact.errors import UserError
from hyperfact.graph.facts import show

MOST_FACTS = 24  # of a query
MOST_VARIABLES = 12
DEEPEST = 24  # parts inside parts
_WORDS = re.compile(r"(?:^|\s)(?:and|or|not)(?:\s|$)|[()]|^\?")
_LOOSE, _BETWEEN, _TIGHT = range(3)  # how strongly or, and, not bind


@dataclass(frozen=True)
class Variable:
    """A place that somebody has to fill; the one without a name is a bare `?`."""

    name: str = ""

    def __str__(self) -> str:
        return f"?{self.name}"


Term = str | Variable


def variables(names: str) -> tuple[Variable, ...]:
    """One for each word: "x y" makes two."""
    return tuple(Variable(name) for name in names.split())


class Formula:
    """Something that is true of some entities; facts, and what `&`, `|` and `~` make of them."""

    def __and__(self, other: "Formula") -> "And":
        return And(_parts(self, And) + _parts(other, And))

    def __or__(self, other: "Formula") -> "Or":
        return Or(_parts(self, Or) + _parts(other, Or))

    def __invert__(self) -> "Not":
        return Not(self)

    @property
    def inner(self) -> "tuple[Formula, ...]":
        """The formulas that it joins."""
        return ()

    @property
    def atoms(self) -> "Iterator[Atom]":
        """Every fact in it, in the order of writing."""
        return (atom for part in self.inner for atom in part.atoms)

    @cached_property
    def variables(self) -> tuple[Variable, ...]:
        """Its variables, each once, in the order of writing."""
        terms = (term for atom in self.atoms for term in atom.terms)
        return tuple(dict.fromkeys(term for term in terms if isinstance(term, Variable)))

    @cached_property
    def depth(self) -> int:
        """How many formulas stand inside each other."""
        return 1 + max((part.depth for part in self.inner), default=0)

    def text(self, binding: int = _LOOSE) -> str:
        """As `read_query` reads it; in parentheses where the place around it binds stronger."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.text()


Kind = TypeVar("Kind", "And", "Or")


def _parts(formula: Formula, kind: "type[And] | type[Or]") -> tuple[Formula, ...]:
    return formula.parts if isinstance(formula, kind) else (formula,)


@dataclass(frozen=True)
class Atom(Formula):
    """A fact with variables in any of its slots."""

    subject: Term
    relation: Term
    object: Term
    qualifiers: tuple[tuple[Term, Term], ...] = ()

    @property
    def entities(self) -> tuple[Term, ...]:
        """Subject, object and values."""
        return (self.subject, self.object, *(value for _, value in self.qualifiers))

    @property
    def relations(self) -> tuple[Term, ...]:
        """The relation and the attributes."""
        return (self.relation, *(attribute for attribute, _ in self.qualifiers))

    @property
    def terms(self) -> tuple[Term, ...]:
        """Every field, in the order of writing."""
        pairs = (term for pair in self.qualifiers for term in pair)
        return (self.subject, self.relation, self.object, *pairs)

    @property
    def atoms(self) -> "Iterator[Atom]":
        """Itself."""
        yield self

    def filled(self, names: Mapping[Variable, str]) -> "Atom":
        """The same with names for some variables."""

        def fill(term: Term) -> Term:
            return names.get(term, term) if isinstance(term, Variable) else term

        pairs = tuple((fill(a), fill(v)) for a, v in self.qualifiers)
        return Atom(fill(self.subject), fill(self.relation), fill(self.object), pairs)

    def text(self, binding: int = _LOOSE) -> str:  # noqa: ARG002 - one signature for all
        """As the fact syntax writes it."""
        parts = [_written(term) for term in (self.subject, self.relation, self.object)]
        parts += [f"{_written(a)} = {_written(v)}" for a, v in self.qualifiers]
        return " | ".join(parts)

    __str__ = Formula.__str__


def fact(subject: Term, relation: Term, object: Term, qualifiers: Any = ()) -> Atom:
    """A fact of a query; qualifiers are pairs, or a mapping of attribute to value."""
    pairs = qualifiers.items() if isinstance(qualifiers, Mapping) else qualifiers
    return Atom(subject, relation, object, tuple((a, v) for a, v in pairs))


def _written(term: Term) -> str:
    """A field; names that a query would misread stand in quotes."""
    if isinstance(term, Variable):
        return str(term)
    text = show(term)
    if text[:1] in "\"'" or not _WORDS.search(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@dataclass(frozen=True)
class And(Formula):
    """All of them."""

    parts: tuple[Formula, ...]

    @property
    def inner(self) -> tuple[Formula, ...]:
        """The parts."""
        return self.parts

    def text(self, binding: int = _LOOSE) -> str:
        """With `and` between them."""
        text = " and ".join(part.text(_BETWEEN) for part in self.parts)
        return f"({text})" if binding > _BETWEEN else text

    __str__ = Formula.__str__


@dataclass(frozen=True)
class Or(Formula):
    """One of them."""

    parts: tuple[Formula, ...]

    @property
    def inner(self) -> tuple[Formula, ...]:
        """The parts."""
        return self.parts

    def text(self, binding: int = _LOOSE) -> str:
        """With `or` between them."""
        text = " or ".join(part.text(_BETWEEN) for part in self.parts)
        return f"({text})" if binding > _LOOSE else text

    __str__ = Formula.__str__


@dataclass(frozen=True)
class Not(Formula):
    """The contrary."""

    part: Formula

    @property
    def inner(self) -> tuple[Formula, ...]:
        """What is denied."""
        return (self.part,)

    def text(self, binding: int = _LOOSE) -> str:  # noqa: ARG002 - one signature for all
        """With `not` before it."""
        return f"not {self.part.text(_TIGHT)}"

    __str__ = Formula.__str__


@dataclass(frozen=True)
class Query:
    """Who makes a formula true, when somebody can be found for every other variable.

    Examples:
        >>> x, p = variables("x p")
        >>> studied = fact(p, "educated at", x, {"degree": "PhD"})
        >>> print(Query(x, studied & ~fact(p, "born in", "USA")))
        ?x : ?p | educated at | ?x | degree = PhD and not ?p | born in | USA
    """

    asked: Variable
    where: Formula

    def __post_init__(self) -> None:
        if self.asked not in self.where.variables:
            raise UserError(f"the asked variable {self.asked} stands in no fact of the query")
        if self.where.depth > DEEPEST:
            raise UserError(f"a query has at most {DEEPEST} formulas inside each other")
        if sum(1 for _ in self.where.atoms) > MOST_FACTS:
            raise UserError(f"a query has at most {MOST_FACTS} facts")
        if len(self.where.variables) > MOST_VARIABLES:
            raise UserError(f"a query has at most {MOST_VARIABLES} variables")
        self._check_relations()

    def _check_relations(self) -> None:
        terms = [term for atom in self.where.atoms for term in atom.relations]
        asked = [term for term in terms if isinstance(term, Variable)]
        if asked and not (isinstance(self.where, Atom) and self.where.variables == (self.asked,)):
            raise UserError(
                f"{asked[0]} stands for a relation; only a query of one fact with one blank asks so"
            )

    @property
    def asks_relation(self) -> bool:
        """Whether a relation or an attribute is asked for."""
        return any(self.asked in atom.relations for atom in self.where.atoms)

    def __str__(self) -> str:
        head = f"{self.asked} : " if self.asked.name else ""
        return f"{head}{self.where}"
