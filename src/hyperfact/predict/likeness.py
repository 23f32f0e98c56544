"""Whether training saw questions like one: by relation and attributes, whoever stands there."""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import BLANK_ID
from hyperfact.graph.ragged import Table, group
from hyperfact.predict.questions import QuestionIds

#: Whether training saw questions like one: it did; only with more qualifiers; or in no way.
Likeness = Literal["seen", "partial", "new"]

Shape = tuple[Counter[int], int]  # attributes, each as often as it stands there; how many facts
_KEPT = 2**14  # different shapes of questions that are looked up once


@dataclass(frozen=True)
class _Family:
    """The shapes of the facts of one relation."""

    shapes: tuple[Shape, ...]

    @cached_property
    def _holders(self) -> dict[tuple[int, int], frozenset[int]]:
        """Which shapes have an attribute at least so many times."""
        found: dict[tuple[int, int], set[int]] = {}
        for row, (attributes, _) in enumerate(self.shapes):
            for attribute, times in attributes.items():
                for least in range(1, times + 1):
                    found.setdefault((attribute, least), set()).add(row)
        return {key: frozenset(rows) for key, rows in found.items()}

    def with_all(self, given: Counter[int]) -> list[Shape]:
        """The shapes that have all these attributes."""
        nobody: frozenset[int] = frozenset()
        if not given:
            return list(self.shapes)
        rows = frozenset.intersection(*(self._holders.get(a, nobody) for a in given.items()))
        return [self.shapes[row] for row in rows]


@dataclass(frozen=True)
class _Agreeing:
    """The facts that agree in shape with a question."""

    counts: Counter[int]  # how many there are, by their number of qualifiers

    @cached_property
    def usual(self) -> float:
        """The number of qualifiers in the middle of them."""
        return float(np.median(np.repeat(list(self.counts), list(self.counts.values()))))


class Shapes:
    """Which attributes stand together with which relation in the training facts, and how often.

    A fact agrees in shape with a question if it has the relation and at least the attributes of
    the question: then training could see a question like it.

    Args:
        train: The training facts.
        partial: Whether training asked questions that leave qualifiers out.
        base: The shapes of facts of before, which are counted too.
    """

    def __init__(self, train: HKG, *, partial: bool, base: "Shapes | None" = None) -> None:
        c, self.partial = train.columns, partial
        same = np.zeros_like(c.attributes)  # values are no part of a shape
        groups = group(Table(c.relation[:, None], c.offsets, c.attributes, same))
        counts = np.diff(groups.offsets).tolist()
        before: dict[int, _Family] = {} if base is None else base._families
        found = {relation: list(family.shapes) for relation, family in before.items()}
        for row, count in zip(groups.first.tolist(), counts, strict=True):
            attributes = c.attributes[c.offsets[row] : c.offsets[row + 1]]
            some = found.setdefault(int(c.relation[row]), [])
            some.append((Counter(attributes.tolist()), count))
        self._families: dict[int, _Family] = {r: _Family(tuple(some)) for r, some in found.items()}
        self._agreeing = lru_cache(maxsize=_KEPT)(self._counted)

    def with_more(self, added: HKG) -> "Shapes":
        """The same, with further facts counted."""
        return Shapes(added, partial=self.partial, base=self)

    def likeness(self, question: QuestionIds) -> Likeness:
        """Whether training saw questions of this shape."""
        counts = self._agreeing(question.relations).counts
        if not counts:
            return "new"
        return "seen" if self.partial or len(question.relations) - 1 in counts else "partial"

    def is_partial(self, question: QuestionIds) -> bool:
        """Whether facts that agree in shape have more qualifiers: more than half of them do."""
        agreeing = self._agreeing(question.relations)
        return bool(agreeing.counts) and len(question.relations) - 1 < agreeing.usual

    def _counted(self, relations: tuple[int, ...]) -> _Agreeing:
        primary, given = relations[0], Counter(a for a in relations[1:] if a != BLANK_ID)
        least = len(relations) - 1  # a blank attribute is one more, whichever it is
        some = [primary] if primary != BLANK_ID else list(self._families)
        found: Counter[int] = Counter()
        for family in (self._families[relation] for relation in some if relation in self._families):
            for attributes, count in family.with_all(given):
                if attributes.total() >= least:
                    found[attributes.total()] += count
        return _Agreeing(found)
