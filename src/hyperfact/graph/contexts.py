"""Who fills a role in which company: counts of entities beside others, over the facts of a graph.

A context is an asked role together with no, one or two known entities in roles of their own, such
as "the object of plays_for, where the subject is ann and the value of since is 2019". A fact with n
slots has n contexts without company, n (n - 1) with one known entity, and so on; it counts once in
each, for who fills its asked role there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from hyperfact.errors import DataError
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import Queries
from hyperfact.graph.ragged import Array, Places, find, offsets_of, owners_of
from hyperfact.graph.role_index import VALUE, role_number


@dataclass(frozen=True)
class ContextCodes:
    """Contexts as numbers: the asked role, and up to two known entities, each with its role."""

    order: int  # at most so many entities are counted together, the asked one included
    entities: int
    relations: int
    held: Places  # (distinct,) rising, a role and an entity in it as one number

    @classmethod
    def of(cls, hkg: HKG, order: int) -> "ContextCodes":
        """For these facts, and any questions about their entities.

        Raises:
            DataError: More facts than one number of 64 bits can tell contexts of apart.
        """
        entities, relations = len(hkg.entities), len(hkg.relations)
        held = np.unique(roles_of(hkg) * (entities + 1) + Queries.of(hkg).answer)
        if 3 * (relations + 1) * (len(held) + 1.0) ** 2 >= 2.0**63:
            raise DataError(f"{len(held)} entities in roles are too many to count together")
        return cls(order, entities, relations, held)

    @property
    def step(self) -> int:
        """One more than there are entities in roles; 0 stands for nobody."""
        return len(self.held) + 1

    def held_as(self, roles: Array, entities: Array) -> Places:
        """1 + the number of each role with its entity, 0 where no fact has it."""
        at, there = find(self.held, roles * (self.entities + 1) + entities)
        return np.where(there, at + 1, 0)

    def codes(self, asked: Array, known: Places) -> tuple[Places, Places]:
        """The contexts of questions, those without company first: whose they are, and their codes.

        Args:
            asked: The role of each asked slot.  # (questions,)
            known: As `held_as` gives them, 0 where there is nobody.  # (questions, slots)
        """
        base = asked.astype(np.int64) * self.step**2
        owners, codes = [np.arange(len(asked))], [base]
        if self.order >= 2:
            owner, column = np.nonzero(known)
            owners.append(owner)
            codes.append(base[owner] + known[owner, column])
        if self.order >= 3 and known.shape[1] >= 2:
            rising = np.sort(known, axis=1)
            low, high = np.triu_indices(known.shape[1], 1)
            owner, pair = np.nonzero(rising[:, low])
            owners.append(owner)
            two = rising[owner, low[pair]] * self.step + rising[owner, high[pair]]
            codes.append(base[owner] + two)
        return np.concatenate(owners), np.concatenate(codes)

    def parts(self, codes: Places) -> tuple[Places, Places, Places]:
        """The asked role and the known entities of contexts, as held; of one the second is 0."""
        rest, first = np.divmod(codes, self.step)
        asked, second = np.divmod(rest, self.step)
        return asked, first, second

    def roles(self, codes: Places) -> Places:  # (contexts, 3)
        """The asked role of contexts, and those of known entities; -1: nobody."""
        asked, first, second = self.parts(codes)
        known = np.concatenate([[-1], self.held // (self.entities + 1)])
        return np.stack([asked, known[first], known[second]], axis=1)

    def of_facts(self, hkg: HKG) -> Iterator[tuple[Places, Places]]:
        """The contexts of every slot of facts, and who stands there."""
        roles, answers = roles_of(hkg), Queries.of(hkg).answer.astype(np.int64)
        starts = offsets_of(hkg.arity)[:-1]
        for arity in np.unique(hkg.arity).tolist():
            places = starts[hkg.arity == arity][:, None] + np.arange(arity)  # (facts, slots)
            held = self.held_as(roles[places], answers[places])
            for slot in range(arity):
                asked = places[:, slot]
                owner, codes = self.codes(roles[asked], np.delete(held, slot, axis=1))
                yield codes, answers[asked[owner]]


@dataclass(frozen=True)
class Contexts:
    """Every context of some facts, with the entities that fill its role and how often."""

    coded: ContextCodes
    codes: Places  # (contexts,) rising
    kinds: Places  # (contexts,) the number of its kind
    roles: Places  # (kinds, 3) rising; the asked role and the known ones, -1: nobody
    offsets: Places  # (contexts + 1,)
    who: Places  # (entries,) entities, rising inside a context
    counts: Places  # (entries,)

    @classmethod
    def of(cls, hkg: HKG, order: int) -> "Contexts":
        """Count the contexts of these facts, with at most so many slots together."""
        coded = ContextCodes.of(hkg, order)
        found = [*coded.of_facts(hkg), (np.zeros(0, np.int64), np.zeros(0, np.int64))]
        all_codes, all_who = (np.concatenate(parts) for parts in zip(*found, strict=True))
        codes, row = np.unique(all_codes, return_inverse=True)
        entries, counts = np.unique(row * (coded.entities + 1) + all_who, return_counts=True)
        row, who = np.divmod(entries, coded.entities + 1)
        roles, kinds = np.unique(coded.roles(codes), axis=0, return_inverse=True)
        offsets = offsets_of(np.bincount(row, minlength=len(codes)))
        return cls(coded, codes, kinds.reshape(-1), roles, offsets, who, counts)

    def less(self, hkg: HKG) -> "Contexts":
        """The same contexts, these of the facts not being counted."""
        counts = self.counts.copy()
        for codes, who in self.coded.of_facts(hkg):
            entry, there = self.entries(find(self.codes, codes)[0], who)
            np.subtract.at(counts, entry[there], 1)
        return replace(self, counts=counts)

    def over(self, hkg: HKG) -> "Contexts":
        """The same kinds, counted in other facts; contexts of other kinds have no weight."""
        other = Contexts.of(hkg, self.coded.order)
        kind, there = find(self._kind_codes, other._kind_codes)
        keep = there[other.kinds]
        entry = np.repeat(keep, np.diff(other.offsets))
        return Contexts(
            other.coded,
            other.codes[keep],
            kind[other.kinds[keep]],
            self.roles,
            offsets_of(np.diff(other.offsets)[keep]),
            other.who[entry],
            other.counts[entry],
        )

    def find(self, asked: Array, known: Places) -> tuple[Places, Places]:
        """For questions: offsets, and the contexts of each that any fact has."""
        owner, codes = self.coded.codes(asked, known)
        row, there = find(self.codes, codes)
        owner, row = owner[there], row[there]
        order = np.argsort(owner, kind="stable")
        return offsets_of(np.bincount(owner, minlength=len(asked))), row[order]

    def beside_one(self, asked: Array, held: Places) -> tuple[Places, Array]:
        """The context with this known entity alone, and whether any fact has it."""
        row, there = find(self.codes, asked * self.coded.step**2 + held)
        return row, there & (held > 0)

    def beside_two(self, asked: Array, one: Places, two: Places) -> tuple[Places, Array]:
        """The context with both known entities, in any order, and whether any fact has it."""
        step, low, high = self.coded.step, np.minimum(one, two), np.maximum(one, two)
        row, there = find(self.codes, asked * step**2 + low * step + high)
        return row, there & (low > 0)

    def kinds_of(
        self, asked: Array, first: Array, second: Array | int = -1
    ) -> tuple[Places, Array]:
        """The kind with this known role alone, or with two, and whether there is one."""
        width = 3 * (self.coded.relations + 1) + 1
        return find(self._kind_codes, (asked * width + first + 1) * width + second + 1)

    def entries(self, rows: Places, who: Places) -> tuple[Places, Array]:
        """The entry of each entity in each of these contexts, and whether there is one."""
        return find(self._entry_codes, rows * (self.coded.entities + 1) + who)

    @cached_property
    def _kind_codes(self) -> Places:
        width = 3 * (self.coded.relations + 1) + 1
        asked, first, second = self.roles.T
        return np.asarray((asked * width + first + 1) * width + second + 1)

    @cached_property
    def _entry_codes(self) -> Places:
        return np.asarray(owners_of(self.offsets) * (self.coded.entities + 1) + self.who)


def roles_of(hkg: HKG) -> Places:
    """The role of each slot of each fact, fact after fact.

    Roles are numbered as if there were one more relation: one that is none has roles of its own.
    """
    c, queries = hkg.columns, Queries.of(hkg)
    kind = np.minimum(queries.slot, VALUE).astype(np.int64)  # subject, object, value
    relation = c.relation[queries.fact].astype(np.int64)
    value = np.flatnonzero(kind == VALUE)
    relation[value] = c.attributes[c.offsets[queries.fact[value]] + queries.slot[value] - 2]
    return np.asarray(role_number(kind, relation, len(hkg.relations) + 1))
