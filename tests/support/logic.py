"""Random queries over small graphs, and an oracle that tries every choice of every variable."""

import random
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

import numpy as np
import torch
from torch import Tensor

from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.language.formula import And, Atom, Formula, Not, Or, Query, Variable
from hyperfact.predict.logic.matching import Pattern
from hyperfact.predict.logic.truths import Block, Observed
from hyperfact.predict.questions import QuestionIds

ENTITIES, RELATIONS = tuple("abcde"), tuple("rstq")
X, Y, Z, W = (Variable(name) for name in "xyzw")

Truth = Callable[[Atom], float]
Combine = Callable[[float, float], float]
LOGICS: Mapping[str, tuple[Combine, Combine]] = {
    "product": (lambda a, b: a * b, lambda a, b: a + b - a * b),
    "godel": (min, max),
}


def small_graph(rng: random.Random, facts: int = 14) -> Splits:
    """Facts over a few names, some of them with qualifiers, in two splits."""

    def draw() -> Fact:
        pairs = {(rng.choice("qt"), rng.choice(ENTITIES)) for _ in range(rng.choice((0, 0, 1, 2)))}
        ends = rng.choice(ENTITIES), rng.choice(ENTITIES)
        return Fact(ends[0], rng.choice("rst"), ends[1], tuple(sorted(pairs)))

    some = list(dict.fromkeys(draw() for _ in range(facts)))
    parts = {"train": some[: facts // 2], "test": some[facts // 2 :]}
    graphs = {
        name: HKG.from_facts(part, entities=ENTITIES, relations=RELATIONS)
        for name, part in parts.items()
    }
    return Splits(graphs, "small")


def random_query(rng: random.Random) -> Query:
    """Any formula: chains, stars, cycles, three variables in a fact, one variable twice."""
    while True:
        where = _formula(rng, depth=rng.choice((0, 1, 1, 2, 2, 3)))
        if X in where.variables:
            return Query(X, where)


def _formula(rng: random.Random, depth: int) -> Formula:
    if not depth:
        return _atom(rng)
    kind = rng.random()
    if kind < 0.2:
        return Not(_formula(rng, depth - 1))
    parts = tuple(_formula(rng, rng.randrange(depth)) for _ in range(rng.choice((2, 2, 3))))
    return And(parts) if kind < 0.75 else Or(parts)


def _atom(rng: random.Random) -> Atom:
    def term() -> str | Variable:
        return rng.choice((X, X, Y, Y, Z, W)) if rng.random() < 0.6 else rng.choice(ENTITIES)

    pairs = tuple((rng.choice("qt"), term()) for _ in range(rng.choice((0, 0, 0, 1, 2))))
    return Atom(term(), rng.choice("rst"), term(), pairs)


def oracle(query: Query, truth: Truth, logic: str) -> list[float]:
    """The truth of every entity by trying everything."""
    others = frozenset(v for v in query.where.variables if v != query.asked)
    return [_value(query.where, {query.asked: e}, others, truth, logic) for e in ENTITIES]


def _value(
    formula: Formula,
    names: Mapping[Variable, str],
    bind: frozenset[Variable],
    truth: Truth,
    logic: str,
) -> float:
    both, either = LOGICS[logic]
    if isinstance(formula, Not):
        return 1.0 - _value(formula.part, names, bind, truth, logic)
    if isinstance(formula, Or):
        total = 0.0
        for part in formula.parts:
            mine = bind & frozenset(part.variables)
            total = either(total, _value(part, names, mine, truth, logic))
        return total
    parts = formula.parts if isinstance(formula, And) else ()
    here = bind
    if parts:
        here = frozenset(v for v in bind if sum(v in p.variables for p in parts) > 1)
    best = 0.0
    for chosen in _choices(here):
        known, value = {**names, **chosen}, 1.0
        for part in parts:
            mine = (bind - here) & frozenset(part.variables)
            value = both(value, _value(part, known, mine, truth, logic))
        if isinstance(formula, Atom):
            value = truth(formula.filled(known))
        best = max(best, value)
    return best


def _choices(some: frozenset[Variable]) -> Iterator[dict[Variable, str]]:
    order = sorted(some, key=str)
    for names in product(ENTITIES, repeat=len(order)):
        yield dict(zip(order, names, strict=True))


class RandomTruths:
    """Known facts are true, all others by a number that only the fact decides."""

    only_known = False

    def __init__(self, splits: Splits, seed: int) -> None:
        self.observed, self.seed, self.size = Observed(splits), seed, len(ENTITIES)
        self.known: dict[object, list[set[tuple[str, str]]]] = {}
        for fact in splits.all:
            self.known.setdefault(fact.primary, []).append(set(fact.qualifiers))
        self.of = lru_cache(maxsize=None)(self._of)

    def _of(self, atom: Atom) -> float:
        """The truth of a fact by names."""
        pairs = sorted((str(a), str(v)) for a, v in atom.qualifiers)
        if len(set(pairs)) < len(pairs):
            return 0.0
        primary = (atom.subject, atom.relation, atom.object)
        if any(set(pairs) <= known for known in self.known.get(primary, ())):
            return 1.0
        return 0.9 * zlib.crc32(f"{self.seed} {primary} {pairs}".encode()) / 2**32

    def rows(self, questions: Sequence[QuestionIds], *, denied: bool) -> Tensor:  # noqa: ARG002
        return torch.tensor(
            [[self.of(_filled(q, e)) for e in range(self.size)] for q in questions]
        ).view(len(questions), self.size)

    def predicted(self, questions: Sequence[QuestionIds]) -> Iterator[Block]:
        yield (
            list(range(len(questions))),
            torch.arange(self.size),
            self.rows(questions, denied=False),
        )

    def links(self, pattern: Pattern, *, denied: bool) -> tuple[np.ndarray, Tensor]:  # noqa: ARG002
        found = self.observed.facts.matches(pattern)
        return found, torch.ones(len(found))

    def weights(self, slot: int, relation: int) -> Tensor | None:  # noqa: ARG002
        return None


def _filled(question: QuestionIds, answer: int) -> Atom:
    whole = question.filled(answer)
    names = [ENTITIES[e] for e in whole.entities]
    kinds = [RELATIONS[r] for r in whole.relations]
    return Atom(names[0], kinds[0], names[1], tuple(zip(kinds[1:], names[2:], strict=True)))
