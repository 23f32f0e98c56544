"""Chains of two facts that speak for a third: who is reached through somebody else.

Whose mother has a citizenship is likely to have it too. A rule is a pair of roles to be predicted
(subject and object of a relation, asked from either side) with two steps through other facts, from
the known end to somebody and from there to the candidate. Only subjects and objects make steps, and
only they are predicted: then no fact is part of a chain that speaks for itself.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hyperfact.errors import DataError
from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Array, Places, find, offsets_of, places_of

_SUPPORT = 3  # pairs of entities that a rule is right about, at least
_DOUBT = 5.0  # chains that are taken to lead astray, beside those that do
_RULES = 40  # of each head, the most confident ones
_PIECE = 1_000_000  # triangles that are looked at together
_ENTRIES = 12_000_000  # ends of chains that are stored, those of the most confident rules


@dataclass(frozen=True)
class Chains:
    """Rules of two steps, and where each pair of steps leads from each entity."""

    offsets: Places  # (2 * relations + 1,) rules of each head: objects of a relation, then subjects
    paths: Places  # (rules,) the number of the pair of steps
    confidence: Array  # (rules,)
    starts: Places  # (rows,) rising, a pair of steps and where they begin as one number
    ends: Places  # (rows + 1,)
    who: Places  # (entries,) where they lead
    counts: Places  # (entries,) over how many others
    entities: int
    pairs: Places  # (paths,) the two steps as one number

    @classmethod
    def of(cls, hkg: HKG, *, least: float) -> "Chains":
        """All rules of at least this confidence."""
        steps = Steps.of(hkg)
        head, pair, support = _supports(steps)
        size = _sizes(steps)
        pairs, at = np.unique(pair, return_inverse=True)
        total = size[1][find(size[0], pairs)[0]]
        trust = support / (total[at] + _DOUBT)
        good = np.flatnonzero((support >= _SUPPORT) & (trust >= least))
        order = good[np.lexsort((-trust[good], head[good]))]
        rank = np.arange(len(order)) - np.searchsorted(head[order], head[order])
        order = order[rank < _RULES]
        used = np.unique(at[order])
        best = np.zeros(len(pairs))
        np.maximum.at(best, at[order], trust[order])
        used = used[np.argsort(-best[used], kind="stable")]
        used = np.sort(used[np.cumsum(total[used]) <= _ENTRIES])
        order = order[np.isin(at[order], used)]
        starts, ends, who, counts = _rows(steps, pairs[used])
        offsets = offsets_of(np.bincount(head[order], minlength=2 * steps.relations))
        paths = np.searchsorted(used, at[order])
        found = starts, ends, who, counts, steps.entities, pairs[used]
        return cls(offsets, paths, trust[order], *found)

    def over(self, hkg: HKG) -> "Chains":
        """The same rules, over other facts."""
        steps = Steps.of(hkg)
        starts, ends, who, counts = _rows(steps, self.pairs)
        found = {"starts": starts, "ends": ends, "who": who, "counts": counts}
        return replace(self, **found, entities=steps.entities)

    def path(self, row: int) -> int:
        """The two steps of a row as one number."""
        return int(self.pairs[self.starts[row] // (self.entities + 1)])

    def find(self, heads: Array, entities: Array) -> tuple[Places, Places, Places]:
        """What speaks for candidates: which question, the row and the rule.

        Args:
            heads: Of each question: the relation, or relations + it where the subject is asked.
            entities: The other end.
        """
        rules = places_of(self.offsets, heads)
        owner = np.repeat(np.arange(len(heads)), np.diff(self.offsets)[heads])
        row, there = find(self.starts, self.paths[rules] * (self.entities + 1) + entities[owner])
        return owner[there], row[there], rules[there]


@dataclass(frozen=True)
class Steps:
    """From subjects to objects (the kind is the relation) and back (relations + it), each once."""

    relations: int
    entities: int
    source: Places  # (steps,) rising
    target: Places  # (steps,) rising for one source
    kind: Places  # (steps,) rising for one source and target
    times: Places  # (steps,) how many facts say so

    @classmethod
    def of(cls, hkg: HKG) -> "Steps":
        """Of these facts; nobody steps to itself.

        Raises:
            DataError: More relations and facts than one number of 64 bits can tell rules of apart.
        """
        c, relations, width = hkg.columns, len(hkg.relations), len(hkg.entities) + 1
        s, r, o = (x.astype(np.int64) for x in (c.subject, c.relation, c.object))
        there = np.stack([s, o, r], axis=1)[s != o]
        back = np.stack([o, s, r + relations], axis=1)[s != o]
        both = np.concatenate([there, back])
        codes = (both[:, 0] * width + both[:, 1]) * 2 * relations + both[:, 2]
        codes, times = np.unique(codes, return_counts=True)
        rest, kind = np.divmod(codes, max(1, 2 * relations))
        source, target = np.divmod(rest, width)
        if max((2.0 * relations) ** 3 * len(codes), (2.0 * relations * width) ** 2) >= 2.0**63:
            raise DataError(f"{relations} relations are too many to combine; evidence.order works")
        return cls(relations, len(hkg.entities), source, target, kind, times)

    def facts(self, source: Array, target: Array, kind: Array) -> Places:
        """How many facts make such a step."""
        width, kinds = self.entities + 1, 2 * self.relations
        at, there = find(self._codes, (source * width + target) * kinds + kind)
        return np.where(there, self.times[at], 0) if len(self.times) else np.zeros_like(at)

    @cached_property
    def _codes(self) -> Places:
        width, kinds = self.entities + 1, 2 * self.relations
        return np.asarray((self.source * width + self.target) * kinds + self.kind)

    @cached_property
    def offsets(self) -> Places:  # (entities + 1,)
        """Where the steps from each entity begin."""
        return offsets_of(np.bincount(self.source, minlength=self.entities))


def _supports(steps: Steps) -> tuple[Places, Places, Places]:
    """Heads, pairs of steps, and for how many pairs of entities both are true.

    A triangle is found from the end of its side that has fewer steps.
    """
    kinds, width = 2 * steps.relations, steps.entities + 1
    sides, first = np.unique(steps.source * width + steps.target, return_index=True)
    ends = np.append(first, len(steps.kind))  # the kinds of each side
    source, target = np.divmod(sides, width)
    out = offsets_of(np.bincount(source, minlength=steps.entities))
    degree = np.diff(out)
    fewer = np.asarray(np.where(degree[source] <= degree[target], source, target))
    side = np.repeat(np.arange(len(sides)), degree[fewer])
    middle = target[places_of(out, fewer)]
    one, is_one = find(sides, source[side] * width + middle)
    two, is_two = find(sides, middle * width + target[side])
    keep = is_one & is_two
    side, one, two = side[keep], one[keep], two[keep]
    pieces = np.array_split(np.arange(len(side)), 1 + len(side) // _PIECE)
    codes = np.unique(
        np.concatenate(
            [_triangles(steps.kind, ends, side[p], one[p], two[p], kinds) for p in pieces]
        )
    )
    codes, support = np.unique(codes % kinds**3, return_counts=True)
    head, pair = np.divmod(codes, kinds**2)
    return head, pair, support


def _triangles(
    kind: Places, ends: Places, side: Places, one: Places, two: Places, kinds: int
) -> Places:
    """Side, head and pair of steps as one number, each once."""
    owner, head = _expand(ends, side)
    next_owner, first = _expand(ends, one[owner])
    owner, head = owner[next_owner], head[next_owner]
    next_owner, second = _expand(ends, two[owner])
    owner, head, first = owner[next_owner], head[next_owner], first[next_owner]
    code = (kind[head] * kinds + kind[first]) * kinds + kind[second]
    return np.unique(side[owner] * kinds**3 + code)


def _expand(ends: Places, rows: Places) -> tuple[Places, Places]:
    """The flat places of these rows, and whose they are."""
    return np.repeat(np.arange(len(rows)), (ends[rows + 1] - ends[rows])), places_of(ends, rows)


def _sizes(steps: Steps) -> tuple[Places, Places]:
    """Pairs of steps and how many chains they make."""
    kinds = max(1, 2 * steps.relations)
    at, count = np.unique(steps.source * kinds + steps.kind, return_counts=True)
    middle, kind = np.divmod(at, kinds)
    out = offsets_of(np.bincount(middle, minlength=steps.entities))
    owner, other = _expand(out, middle)
    back = np.where(kind < steps.relations, kind + steps.relations, kind - steps.relations)
    pair = back[owner] * kinds + kind[other]  # a step back from the middle is one to it
    pairs, at = np.unique(pair, return_inverse=True)
    return pairs, np.bincount(at, count[owner] * count[other]).astype(np.int64)


def _rows(steps: Steps, pairs: Places) -> tuple[Places, Places, Places, Places]:
    """Where each of these pairs of steps leads, from everybody who can begin it."""
    kinds, width = max(1, 2 * steps.relations), steps.entities + 1
    order = np.lexsort((steps.target, steps.source, steps.kind))
    source, target, kind = steps.source[order], steps.target[order], steps.kind[order]
    of_kind = offsets_of(np.bincount(kind, minlength=kinds))
    key, first = np.unique(kind * width + source, return_index=True)
    ends = np.append(first, len(kind))
    nothing = np.zeros(0, dtype=np.int64)
    rows, who, counts = [nothing], [nothing], [nothing]
    for number, pair in enumerate(pairs.tolist()):
        mine = slice(of_kind[pair // kinds], of_kind[pair // kinds + 1])
        at, there = find(key, pair % kinds * width + target[mine])
        owner, place = _expand(ends, at[there])
        begin, end = source[mine][there][owner], target[place]
        codes, count = np.unique((begin * width + end)[begin != end], return_counts=True)
        rows.append(number * width + codes // width)
        who.append(codes % width)
        counts.append(count)
    starts, size = np.unique(np.concatenate(rows), return_counts=True)
    return starts, offsets_of(size), np.concatenate(who), np.concatenate(counts)
