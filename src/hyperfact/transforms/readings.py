"""Which facts the edges of a semantic clique determine.

Call a fact fitting if all its edges are in the KG. The fitting facts together give the KG, so a
fact is determined exactly if one of its edges belongs to no other fitting fact. Few edges come
into question. The base edge also belongs to the bare fact. Take n qualifiers in canonical order,
n >= 2: a pair with the subject, the object or an earlier value than v_{n-1}, or a pair that v_n has
no part in, also belongs to the fact with fewer qualifiers. So (v_{n-1}, v_n) decides alone; for
n = 1 the pairs with subject and object do.
"""

from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property

import numpy as np

from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG, Kind
from hyperfact.transforms.cliques import clique_semantic
from hyperfact.transforms.edge_blocks import Mask

Primary = tuple[int, int, int]
Pair = tuple[int, int]  # attribute, value


def lost_in_clique(hkg: HKG) -> Mask:
    """The facts that another HKG with the same semantic clique lacks."""  # (facts,)
    readings = _Readings(clique_semantic(hkg))
    c = hkg.columns
    primaries = zip(c.subject.tolist(), c.relation.tolist(), c.object.tolist(), strict=True)
    pairs = list(zip(c.attributes.tolist(), c.values.tolist(), strict=True))
    offsets = c.offsets.tolist()
    return np.array(
        [
            not readings.determine(primary, tuple(pairs[offsets[i] : offsets[i + 1]]))
            for i, primary in enumerate(primaries)
        ],
        dtype=bool,
    )


class _Readings:
    """An index of a semantic clique by the ends and labels of its edges."""

    def __init__(self, kg: KG) -> None:
        self.relations = range(len(kg.relations))
        self.edges: set[tuple[int, int, int, int]] = set()  # source, attribute, target, place
        self.sources: defaultdict[tuple[int, int, int], set[int]] = defaultdict(set)
        self.leaving: defaultdict[int, set[Pair]] = defaultdict(set)  # at place 1
        self.primaries: defaultdict[int, list[Primary]] = defaultdict(list)  # by either end
        columns = (kg.source, kg.relation, kg.target, kg.place, kg.kind)
        for s, r, t, place, kind in zip(*(c.tolist() for c in columns), strict=True):
            if kind == Kind.BASE:
                for end in {s, t}:
                    self.primaries[end].append((s, r, t))
                continue
            self.edges.add((s, r, t, place))
            self.sources[r, t, place].add(s)
            if place == 1:
                self.leaving[s].add((r, t))

    def determine(self, primary: Primary, pairs: tuple[Pair, ...]) -> bool:
        """Whether every HKG with these edges holds this fact."""
        if not pairs:
            return not any(self.fitting(primary))
        if self.can_grow(primary, pairs):
            return False
        if len(pairs) > 1:
            return pairs[-2][1] != pairs[-1][1] and not self.has_rival(primary, pairs)
        s, _, o = primary
        return any(self.is_alone(x, primary, pairs[0]) for x in {s, o} - {pairs[0][1]})

    def joined(self, source: int, pair: Pair, place: int) -> bool:
        """Whether the edge that this pair needs is there; an entity needs none to itself."""
        return source == pair[1] or (source, *pair, place) in self.edges

    def fits(self, primary: Primary, pair: Pair) -> bool:
        """Whether the primary triple with this one qualifier is a fitting fact."""
        return self.joined(primary[0], pair, 1) and self.joined(primary[2], pair, 1)

    def fitting(self, primary: Primary) -> Iterator[Pair]:
        """The qualifiers that fit a primary triple one by one."""
        s, _, o = primary
        if s == o:
            yield from ((a, s) for a in self.relations)
            yield from self.leaving[s]
            return
        # A value other than o is joined to o, and o itself as a value is joined to s.
        yield from (pair for pair in self.leaving[s] | self.leaving[o] if self.fits(primary, pair))

    def is_alone(self, x: int, primary: Primary, pair: Pair) -> bool:
        """Whether no other primary triple at x takes this qualifier."""
        return not any(p != primary and self.fits(p, pair) for p in self.primaries[x])

    def can_grow(self, primary: Primary, pairs: tuple[Pair, ...]) -> bool:
        """Whether a fitting fact has one qualifier more, behind v_{n-1}."""
        head, last = pairs[:-1], pairs[-1]
        for extra in self.fitting(primary):
            if extra in pairs or (head and extra < head[-1]):
                continue
            if self.chain((*head, *sorted((last, extra)))):
                return True
        return False

    def chain(self, pairs: tuple[Pair, ...]) -> bool:
        """Whether all edges between values are there."""
        return all(
            self.joined(pairs[i][1], pairs[j], 2 + i)
            for j in range(1, len(pairs))
            for i in range(j)
        )

    def has_rival(self, primary: Primary, pairs: tuple[Pair, ...]) -> bool:
        """Whether another fitting fact of n qualifiers ends with the values v_{n-1}, v_n."""
        before, last = pairs[-2][1], pairs[-1]
        for rival in self.rival_primaries(before, last):
            for attribute in self.attributes(rival, before):
                if (attribute, before) >= last:
                    continue
                for found in self.completions(rival, ((attribute, before), last), len(pairs)):
                    if (rival, found) != (primary, pairs):
                        return True
        return False

    def rival_primaries(self, before: int, last: Pair) -> set[Primary]:
        """Primary triples that take the last qualifier, near the value before it."""
        attribute, value = last
        ends = self.sources[attribute, value, 1] | {value}
        near = ends & (self.into[before] | {before})
        return {p for x in near for p in self.primaries[x] if p[0] in near and p[2] in near}

    @cached_property
    def into(self) -> defaultdict[int, set[int]]:
        """For each value the entities with an edge of place 1 to it."""
        found: defaultdict[int, set[int]] = defaultdict(set)
        for (_, target, place), sources in self.sources.items():
            if place == 1:
                found[target] |= sources
        return found

    def attributes(self, primary: Primary, value: int) -> list[int]:
        """The attributes by which this primary triple takes the value."""
        return sorted({a for a, v in self.fitting(primary) if v == value})

    def completions(
        self, primary: Primary, tail: tuple[Pair, ...], length: int
    ) -> Iterator[tuple[Pair, ...]]:
        """Fitting qualifiers of this length that end with `tail`."""
        number = length - len(tail)  # the place of the next value, counted from 1
        if number == 0:
            if self.chain(tail):
                yield tail
            return
        last = tail[-1]
        for value in sorted(self.sources[(*last, 1 + number)] | {last[1]}):
            for attribute in self.attributes(primary, value):
                pair = (attribute, value)
                if pair < tail[0] and all(self.joined(value, t, 1 + number) for t in tail):
                    yield from self.completions(primary, (pair, *tail), length)
