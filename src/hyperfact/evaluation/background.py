"""What a judgement rests on beside the asked facts: who is filtered, who competes, who is new."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hyperfact.errors import DataError, UnknownNameError, UserError
from hyperfact.evaluation.policy import FilterRule, Given, Policy
from hyperfact.graph.hkg import HKG, Columns, Splits
from hyperfact.graph.joining import support_of
from hyperfact.graph.number_roles import NumberRoles
from hyperfact.graph.partial import AgreeingAnswers, PartialQueries
from hyperfact.graph.queries import KnownAnswers, Queries
from hyperfact.graph.ragged import Array, Ids, Places, Table, owners_of

_NO_IDS: Ids = np.zeros(0, dtype=np.int32)
_HELD_OUT = ("valid", "test")


def asked_facts(splits: Splits, split: str) -> HKG:
    """The facts of a split, to ask about.

    Raises:
        UnknownNameError: Nothing is called so.
        DataError: The dataset has no such facts, with the remedy.
    """
    if split not in splits and split not in _HELD_OUT:
        raise UnknownNameError("split", split, splits)
    facts = splits.get(split)
    if facts is not None and len(facts):
        return facts
    others = [name for name in _HELD_OUT if len(splits.get(name, ()))]
    remedy = [f"ask about the {name} facts (--split {name})" for name in others]
    remedy.append("part the facts with `hyperfact split`, and train on that")
    raise DataError(f"not evaluated: {splits.name} has no {split} facts; {', or '.join(remedy)}")


@dataclass(frozen=True)
class Filter:
    """Answers that do not compete, by one rule."""

    known: KnownAnswers | None  # None: nothing is filtered
    bare: bool = False  # whether qualifiers beside the asked one are ignored

    def of(self, columns: Columns, queries: Queries) -> tuple[Places, Ids]:
        """Offsets and entities: what is filtered for each query about these facts."""
        return self.at(self.find(columns, queries))

    def find(self, columns: Columns, queries: Queries) -> Places:
        """The key of each query, -1 where nothing is known."""
        if self.known is None:
            return np.full(len(queries), -1, dtype=np.int64)
        return self.known.find(self.table(columns, queries))

    def table(self, columns: Columns, queries: Queries) -> Table:
        """The part of each query that decides what is filtered."""
        if self.bare:
            return PartialQueries.bare(columns, queries).table()
        return queries.table(columns)

    def at(self, keys: Places) -> tuple[Places, Ids]:
        """Offsets and entities: what is filtered at these keys."""
        if self.known is None:
            return np.zeros(len(keys) + 1, dtype=np.int64), _NO_IDS
        return self.known.at(keys)


class Agreeing(Filter):
    """For partial questions: answers in facts that say at least as much."""

    def __init__(self, facts: HKG) -> None:
        super().__init__(None)
        object.__setattr__(self, "index", AgreeingAnswers.build(facts))

    index: AgreeingAnswers

    def of(self, columns: Columns, queries: Queries) -> tuple[Places, Ids]:
        """Offsets and entities: what is filtered for each question."""
        return self.index.of(PartialQueries.whole(columns, queries))


@dataclass(frozen=True)
class Background:
    """Known facts of all splits, and those that training showed."""

    known: KnownAnswers
    train: HKG | None = None
    splits: Splits | None = None  # for filters that leave one out
    numbers: NumberRoles | None = None  # whose queries are not ranked but estimated

    @classmethod
    def of(
        cls, splits: Splits, train: HKG | None = None, numbers: NumberRoles | None = None
    ) -> "Background":
        """All splits are known; training showed `train`, by default the split of that name."""
        train = splits.train if train is None else train
        return cls(KnownAnswers.build(splits.all), train, splits, numbers)

    def filter(self, rule: FilterRule, given: Given = "all") -> Filter:
        """Who does not compete under this rule, where questions give so many qualifiers."""
        if rule == "none":
            return Filter(None)
        if rule == "ignore-qualifiers":
            return self._bare
        known = self._answers(rule)
        return Filter(known) if given == "all" else Agreeing(known.graph)

    def _answers(self, rule: FilterRule) -> KnownAnswers:
        """Of the facts that a rule goes by."""
        if rule == "train-only":
            return KnownAnswers.build(self.training_facts)
        return self.known if rule == "exact" else self._before_test

    @cached_property
    def _before_test(self) -> KnownAnswers:
        if self.splits is None:
            raise UserError("this policy needs to know the splits; give `Background.of(splits)`")
        support = support_of(self.splits)
        more = () if support is None else (support,)
        return KnownAnswers.build(self.splits.train, self.splits.valid, *more)

    @cached_property
    def _bare(self) -> Filter:
        graph = self.known.graph
        stripped = PartialQueries.bare(graph.columns, Queries.of(graph)).columns
        facts = HKG.from_columns(graph.entities, graph.relations, stripped)
        return Filter(KnownAnswers.build(facts), bare=True)

    def outsiders(self, policy: Policy) -> Ids:
        """Entities that never compete, in rising order."""
        if policy.candidates == "all":
            return _NO_IDS
        columns, count = self.known.graph.columns, len(self.known.graph.entities)
        if policy.candidates == "support":
            c = self.support.columns
            inside = mark(count, c.subject, c.object, c.values)
        else:
            inside = mark(count, columns.subject, columns.object)
        return np.flatnonzero(~inside).astype(np.int32)

    def has_unseen(self, graph: HKG) -> Array:  # (facts,) bool
        """Which facts hold an entity that training never showed."""
        t, c = self.training_facts.columns, graph.columns
        seen = mark(len(graph.entities), t.subject, t.object, t.values)
        unseen = ~seen[c.subject] | ~seen[c.object]
        unseen[owners_of(c.offsets)[~seen[c.values]]] = True
        return unseen

    @property
    def support(self) -> HKG:
        """The support facts, where there are any."""
        found = None if self.splits is None else support_of(self.splits)
        if found is None:
            raise UserError("candidates = 'support' needs support facts; this dataset has none")
        return found

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
