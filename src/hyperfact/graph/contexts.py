"""Who fills a role in which company: counts of entities beside others, over the facts of a graph.

A context is an asked role together with no, one or two known entities in roles of their own, such
as "the object of plays_for, where the subject is ann and the value of since is 2019". A fact with n
slots has n contexts without company, n (n - 1) with one known entity, and so on; it counts once in
each, for who fills its asked role there.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hyperfact.errors import DataError
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import Queries
from hyperfact.graph.ragged import Array, Places, find, offsets_of, owners_of
from hyperfact.graph.role_index import OBJECT, SUBJECT, VALUE, role_number


@dataclass(frozen=True)
class Contexts:
    """Every context of the facts, with the entities that fill its role and how often."""

    order: int  # at most so many entities are counted together, the asked one included
    entities: int
    relations: int
    held: Places  # (distinct,) rising, a role and an entity in it as one number
    codes: Places  # (contexts,) rising
    kinds: Places  # (contexts,) the number of its kind: which role is asked beside which roles
    orders: Places  # (kinds,) 1, 2 or 3: how many slots a kind counts together
    offsets: Places  # (contexts + 1,)
    who: Places  # (entries,) entities, rising inside a context
    counts: Places  # (entries,)

    @classmethod
    def of(cls, hkg: HKG, order: int) -> "Contexts":
        """Count the contexts of these facts.

        Raises:
            DataError: More facts than one number of 64 bits can tell contexts of apart.
        """
        nothing = np.zeros(0, dtype=np.int64)
        entities, relations = len(hkg.entities), len(hkg.relations)
        roles = _roles(hkg)  # of each slot of each fact, fact after fact
        queries = Queries.of(hkg)
        held = np.unique(roles * (entities + 1) + queries.answer)
        empty = cls(order, entities, relations, held, *[nothing] * 3, np.zeros(1, int), *[nothing] * 2)
        if 3 * (relations + 1) * (len(held) + 1.0) ** 2 >= 2.0**63:
            raise DataError(f"{len(held)} entities in roles are too many to count together")
        starts = offsets_of(hkg.arity)
        codes, who = [nothing], [nothing]
        for arity in np.unique(hkg.arity).tolist():
            first = starts[:-1][hkg.arity == arity]
            places = first[:, None] + np.arange(arity)  # (facts, slots)
            own = empty.held_as(roles[places], queries.answer[places])
            for slot in range(arity):
                known = np.delete(own, slot, axis=1)
                owner, code = empty.codes_of(roles[places[:, slot]], known)
                codes.append(code)
                who.append(queries.answer[places[owner, slot]].astype(np.int64))
        return empty._counted(np.concatenate(codes), np.concatenate(who))

    def _counted(self, codes: Places, who: Places) -> "Contexts":
        distinct, row = np.unique(codes, return_inverse=True)
        entries, counts = np.unique(row * (self.entities + 1) + who, return_counts=True)
        row, who = np.divmod(entries, self.entities + 1)
        roles = self._roles_of(distinct)  # (contexts, 3)
        names, kinds = np.unique(roles, axis=0, return_inverse=True)
        orders = (names >= 0).sum(axis=1)
        offsets = offsets_of(np.bincount(row, minlength=len(distinct)))
        return Contexts(
            self.order, self.entities, self.relations, self.held,
            distinct, kinds.reshape(-1), orders, offsets, who, counts,
        )

    def held_as(self, roles: Array, entities: Array) -> Places:
        """1 + the number of each role with its entity, 0 where no fact has it."""
        at, there = find(self.held, roles * (self.entities + 1) + entities)
        return np.where(there, at + 1, 0)

    def codes_of(self, asked: Array, known: Places) -> tuple[Places, Places]:
        """The contexts of questions, those without company first: whose they are, and their codes.

        Args:
            asked: The role of each asked slot.  # (questions,)
            known: As `held_as` gives them, 0 where there is nobody.  # (questions, slots)
        """
        step = len(self.held) + 1
        base, everybody = asked.astype(np.int64) * step * step, np.arange(len(asked))
        owners, codes = [everybody], [base]
        if self.order >= 2:
            owner, column = np.nonzero(known)
            owners.append(owner)
            codes.append(base[owner] + known[owner, column])
        if self.order >= 3 and known.shape[1] >= 2:
            rising = np.sort(known, axis=1)
            low, high = np.triu_indices(known.shape[1], 1)
            owner, pair = np.nonzero(rising[:, low])
            owners.append(owner)
            codes.append(base[owner] + rising[owner, low[pair]] * step + rising[owner, high[pair]])
        return np.concatenate(owners), np.concatenate(codes)

    def find(self, asked: Array, known: Places) -> tuple[Places, Places]:
        """For questions: offsets, and the contexts of each that any fact has."""
        owner, codes = self.codes_of(asked, known)
        row, there = find(self.codes, codes)
        owner, row = owner[there], row[there]
        order = np.argsort(owner, kind="stable")
        return offsets_of(np.bincount(owner, minlength=len(asked))), row[order]

    def entries(self, rows: Places, who: Places) -> tuple[Places, Array]:
        """The entry of each entity in each of these contexts, and whether there is one."""
        return find(self._entries, rows * (self.entities + 1) + who)

    @cached_property
    def _entries(self) -> Places:
        return owners_of(self.offsets) * (self.entities + 1) + self.who

    def _roles_of(self, codes: Places) -> Places:  # (contexts, 3)
        """The asked role and those of known entities; -1: nobody."""
        step = len(self.held) + 1
        rest, high = np.divmod(codes, step)
        asked, low = np.divmod(rest, step)
        roles = np.concatenate([[-1], self.held // (self.entities + 1)])
        return np.stack([asked, roles[high], roles[low]], axis=1)


def _roles(hkg: HKG) -> Places:
    """The role of each slot of each fact, fact after fact."""
    c, relations = hkg.columns, len(hkg.relations) + 1  # one more, for a relation that is none
    queries = Queries.of(hkg)
    kind = np.minimum(queries.slot, 2).astype(np.int64)
    relation = c.relation[queries.fact].astype(np.int64)
    value = np.flatnonzero(kind == VALUE)
    relation[value] = c.attributes[c.offsets[queries.fact[value]] + queries.slot[value] - 2]
    assert (SUBJECT, OBJECT, VALUE) == (0, 1, 2)
    return np.asarray(role_number(kind, relation, relations))
