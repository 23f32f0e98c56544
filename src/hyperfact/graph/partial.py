"""Partial questions: queries of which some qualifiers are left out, and who is known to answer.

People say less than a fact does. A fact agrees with a question if it says at least as much: the
same known ends and relation, and every qualifier that the question gives.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hyperfact.graph.columns import Columns
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import Queries
from hyperfact.graph.ragged import (
    Array,
    Groups,
    Ids,
    Places,
    Table,
    find,
    group,
    offsets_of,
    owners_of,
    places_of,
)

_CELLS = 2**22  # facts compared with questions at once


@dataclass(frozen=True)
class PartialQueries:
    """Queries with facts of their own, one each, that hold only what is given and asked."""

    columns: Columns  # a fact for each query
    queries: Queries  # about these facts

    def __len__(self) -> int:
        return len(self.queries)

    @classmethod
    def of(cls, columns: Columns, queries: Queries, keep: Array) -> "PartialQueries":
        """Leave qualifiers out.

        Args:
            columns: The facts that the queries are about.
            queries: Each about one slot.
            keep: For each qualifier of each query's fact, query after query, whether it is given;
                the asked one always stays.  # (qualifiers,) bool
        """
        counts = columns.offsets[queries.fact + 1] - columns.offsets[queries.fact]
        starts = offsets_of(counts)
        place = places_of(columns.offsets, queries.fact)  # of each qualifier in the facts
        keep = keep.copy()
        value = np.flatnonzero(queries.slot >= 2)
        asked = starts[value] + queries.slot[value] - 2
        keep[asked] = True
        kept = offsets_of(np.bincount(owners_of(starts)[keep], minlength=len(queries)))
        slot = queries.slot.copy()
        before = np.concatenate([[0], np.cumsum(keep)])  # kept ones before each place
        slot[value] = (2 + before[asked] - kept[value]).astype(slot.dtype)
        facts = Columns(
            columns.subject[queries.fact],
            columns.relation[queries.fact],
            columns.object[queries.fact],
            kept,
            columns.attributes[place[keep]],
            columns.values[place[keep]],
        )
        return cls(facts, Queries(np.arange(len(queries)), slot, queries.answer))

    @classmethod
    def bare(cls, columns: Columns, queries: Queries) -> "PartialQueries":
        """Without any qualifier but the asked one."""
        counts = columns.offsets[queries.fact + 1] - columns.offsets[queries.fact]
        return cls.of(columns, queries, np.zeros(int(counts.sum()), dtype=bool))

    @classmethod
    def whole(cls, columns: Columns, queries: Queries) -> "PartialQueries":
        """With every qualifier."""
        counts = columns.offsets[queries.fact + 1] - columns.offsets[queries.fact]
        return cls.of(columns, queries, np.ones(int(counts.sum()), dtype=bool))

    @classmethod
    def half(cls, columns: Columns, queries: Queries, *, seed: int = 0) -> "PartialQueries":
        """With each qualifier by a coin, which falls the same way each time."""
        counts = columns.offsets[queries.fact + 1] - columns.offsets[queries.fact]
        keep = np.random.default_rng(seed).random(int(counts.sum())) < 0.5
        return cls.of(columns, queries, keep)

    def table(self) -> Table:
        """What is given and asked, comparable by content."""
        return self.queries.table(self.columns)


@dataclass(frozen=True)
class AgreeingAnswers:
    """Who completes a partial question in some fact that agrees with it."""

    graph: HKG
    queries: Queries  # every slot of every fact
    groups: Groups  # of them, by what is left when all qualifiers are
    examples: PartialQueries  # one of each group
    pairs: Array  # (distinct,) rising, attribute and value as one number
    held: Array  # (qualifiers,) rising, fact and number of the pair as one number

    @classmethod
    def build(cls, graph: HKG) -> "AgreeingAnswers":
        """Index every slot of every fact."""
        queries, c = Queries.of(graph), graph.columns
        bare = PartialQueries.bare(c, queries)
        groups = group(bare.table())
        examples = PartialQueries.bare(c, queries.take(groups.first))
        pairs, number = np.unique(cls._pair(graph, c), return_inverse=True)
        held = np.sort(owners_of(c.offsets) * max(1, len(pairs)) + number)
        return cls(graph, queries, groups, examples, pairs, held)

    @staticmethod
    def _pair(graph: HKG, c: Columns) -> Array:
        known = len(graph.entities)  # a value that joined later is in no pair of these facts
        return np.where(c.values < known, c.attributes.astype(np.int64) * known + c.values, -1)

    def of(self, asked: PartialQueries) -> tuple[Places, Ids]:
        """Offsets and entities: the answers of each question, rising, each once."""
        keys = self._find(PartialQueries.bare(asked.columns, asked.queries).table())
        sizes = np.where(keys >= 0, np.diff(self.groups.offsets)[keys], 0)
        owners, answers = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int32)]
        for rows in _pieces(sizes):
            owner = np.repeat(rows, sizes[rows])
            member = self.groups.order[places_of(self.groups.offsets, keys[rows][sizes[rows] > 0])]
            agrees = self._agrees(asked, owner, member)
            owners.append(owner[agrees])
            answers.append(self.queries.answer[member[agrees]])
        owner, answer = np.concatenate(owners), np.concatenate(answers)
        both = np.unique(owner * max(1, len(self.graph.entities)) + answer)
        owner, answer = np.divmod(both, max(1, len(self.graph.entities)))
        offsets = offsets_of(np.bincount(owner, minlength=len(asked)))
        return offsets, answer.astype(np.int32)

    def _find(self, table: Table) -> Places:
        """The group of each bare question, -1 where no fact agrees."""
        found = np.full(len(table), -1, dtype=np.int64)
        at, is_there = find(self.groups.keys, table.hashes(self.groups.salt))
        hit = np.flatnonzero(is_there)
        same = table.same(hit, self._bare, at[hit])
        found[hit[same]] = at[hit[same]]
        return found

    @cached_property
    def _bare(self) -> Table:
        return self.examples.table()

    @cached_property
    def _codes(self) -> Array:  # (qualifiers,)
        return self._pair(self.graph, self.graph.columns)

    def _agrees(self, asked: PartialQueries, owner: Places, member: Places) -> Array:
        """Whether the fact behind each member holds all that its question gives."""  # (members,)
        c, slot = asked.columns, asked.queries.slot
        given = np.ones(len(c.values), dtype=bool)
        value = np.flatnonzero(slot >= 2)
        given[c.offsets[value] + slot[value] - 2] = False
        code = self._pair(self.graph, c)
        counts = np.diff(c.offsets)[owner]
        row = np.repeat(np.arange(len(owner)), counts)  # of each (member, qualifier)
        place = places_of(c.offsets, owner)
        row, place = row[given[place]], place[given[place]]
        fact = self.queries.fact[member]
        good = self._holds(fact[row], code[place])
        mine = self.queries.slot[member] >= 2  # a value that is asked for is not given as well
        answer = np.full(len(member), -1, dtype=np.int64)
        at = self.graph.columns.offsets[fact[mine]] + self.queries.slot[member[mine]] - 2
        answer[mine] = self._codes[at]
        good &= answer[row] != code[place]
        wrong: Array = np.bincount(row[~good], minlength=len(owner))
        return np.asarray(wrong == 0)

    def _holds(self, fact: Places, code: Array) -> Array:
        """Whether each fact has this pair of attribute and value."""
        number, exists = find(self.pairs, code)
        held = find(self.held, fact * max(1, len(self.pairs)) + number)[1]
        return np.asarray(exists & held)


def _pieces(sizes: Places) -> list[Places]:
    """Rows in pieces of about equal work, none beyond what memory should hold."""
    ends = np.cumsum(sizes)
    number = (ends - sizes) // _CELLS
    return np.split(np.arange(len(sizes)), np.flatnonzero(np.diff(number)) + 1)
