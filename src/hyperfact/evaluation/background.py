"""What a judgement rests on beside the asked facts: who is filtered, who competes, who is new."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hyperfact.errors import UserError
from hyperfact.evaluation.policy import FilterRule, Policy
from hyperfact.graph.hkg import HKG, Columns, Splits
from hyperfact.graph.queries import KnownAnswers, Queries
from hyperfact.graph.ragged import Array, Ids, Places, Table, offsets_of, owners_of

_NO_IDS: Ids = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True)
class Filter:
    """Answers that do not compete, by one rule."""

    known: KnownAnswers | None  # None: nothing is filtered
    bare: bool = False  # whether qualifiers beside the asked one are ignored

    def find(self, graph: HKG, queries: Queries) -> Places:
        """The key of each query, -1 where nothing is known."""
        if self.known is None:
            return np.full(len(queries), -1, dtype=np.int64)
        return self.known.find(self.table(graph.columns, queries))

    def table(self, columns: Columns, queries: Queries) -> Table:
        """The part of each query that decides what is filtered."""
        return _strip(columns, queries).queries if self.bare else queries.table(columns)

    def at(self, keys: Places) -> tuple[Places, Ids]:
        """Offsets and entities: what is filtered at these keys."""
        if self.known is None:
            return np.zeros(len(keys) + 1, dtype=np.int64), _NO_IDS
        return self.known.at(keys)


@dataclass(frozen=True)
class _Stripped:
    """Each query without the qualifiers that are not asked for."""

    columns: Columns  # one fact for each query
    queries: Table  # what is left of each, comparable


def _strip(columns: Columns, queries: Queries) -> _Stripped:
    is_value = queries.slot >= 2
    place = columns.offsets[queries.fact[is_value]] + queries.slot[is_value] - 2
    facts = Columns(
        columns.subject[queries.fact],
        columns.relation[queries.fact],
        columns.object[queries.fact],
        offsets_of(is_value.astype(np.int64)),
        columns.attributes[place],
        columns.values[place],
    )
    rows = np.arange(len(queries))
    slot = np.minimum(queries.slot, 2)
    return _Stripped(facts, Queries(rows, slot, queries.answer).table(facts))


@dataclass(frozen=True)
class Background:
    """Known facts of all splits, and those that training showed."""

    known: KnownAnswers
    train: HKG | None = None

    @classmethod
    def of(cls, splits: Splits, train: HKG | None = None) -> "Background":
        """All splits are known; training showed `train`, by default the split of that name."""
        return cls(KnownAnswers.build(splits.all), splits.train if train is None else train)

    def filter(self, rule: FilterRule) -> Filter:
        """Who does not compete under this rule."""
        if rule == "exact":
            return Filter(self.known)
        if rule == "train-only":
            return Filter(KnownAnswers.build(self.training_facts))
        return self._bare if rule == "ignore-qualifiers" else Filter(None)

    @cached_property
    def _bare(self) -> Filter:
        graph = self.known.graph
        stripped = _strip(graph.columns, Queries.of(graph)).columns
        facts = HKG.from_columns(graph.entities, graph.relations, stripped)
        return Filter(KnownAnswers.build(facts), bare=True)

    def outsiders(self, policy: Policy) -> Ids:
        """Entities that never compete, in rising order."""
        if policy.candidates == "all":
            return _NO_IDS
        columns = self.known.graph.columns
        inside = mark(len(self.known.graph.entities), columns.subject, columns.object)
        return np.flatnonzero(~inside).astype(np.int32)

    def has_unseen(self, graph: HKG) -> Array:  # (facts,) bool
        """Which facts hold an entity that training never showed."""
        t, c = self.training_facts.columns, graph.columns
        seen = mark(len(graph.entities), t.subject, t.object, t.values)
        unseen = ~seen[c.subject] | ~seen[c.object]
        unseen[owners_of(c.offsets)[~seen[c.values]]] = True
        return unseen

    @property
    def training_facts(self) -> HKG:
        """The training facts, where they were given."""
        if self.train is None:
            raise UserError("this policy needs the training facts; give a Background with `train`")
        return self.train


def mark(size: int, *ids: Array) -> Array:  # (size,) bool
    """Which of `size` things occur in any of these columns."""
    found = np.zeros(size, dtype=bool)
    for column in ids:
        found[column] = True
    return found
