"""Which pairs of roles speak for another pair: who stands in the one often stands in the other.

If somebody is the subject of "lives in" and a city its object, they are likely the subject and the
object of "works in" too. Each such link has a confidence: of those who stand in the second pair of
roles the share that stands in the first. The same goes for three entities in three roles: two who
are brothers since a year are so the other way round since the same year.
"""

from dataclasses import dataclass

import numpy as np

from hyperfact.graph.contexts import Contexts
from hyperfact.graph.ragged import Array, Places, offsets_of, owners_of, places_of

_SUPPORT = 2  # pairs of entities; one alone can only speak for itself
_DOUBT = 5.0  # pairs that are taken to contradict, beside those that do


@dataclass(frozen=True)
class Related:
    """For each kind of context with one known entity the other such kinds that speak for it."""

    offsets: Places  # (kinds + 1,)
    bodies: Places  # (links,) kinds
    confidence: Array  # (links,)

    @classmethod
    def of(cls, contexts: Contexts) -> "Related":
        """All links that at least two pairs of entities show."""
        kinds = len(contexts.roles)
        kind, pair = _pairs(contexts)
        order = np.lexsort((kind, pair))
        kind, pair = kind[order], pair[order]
        sizes = np.unique(pair, return_counts=True)[1]
        groups = offsets_of(sizes)  # of one pair of entities each
        member = np.repeat(np.arange(len(pair)), sizes[owners_of(groups)])
        other = places_of(groups, owners_of(groups))
        links = (kind[member] * kinds + kind[other])[member != other]
        links, support = np.unique(links, return_counts=True)
        links, support = links[support >= _SUPPORT], support[support >= _SUPPORT]
        head, body = np.divmod(links, max(1, kinds))
        total = np.bincount(kind, minlength=kinds)
        offsets = offsets_of(np.bincount(head, minlength=kinds))
        return cls(offsets, body, support / (total[body] + _DOUBT))

    def find(
        self, contexts: Contexts, asked: Array, known: tuple[Array, Array, Array]
    ) -> tuple[Places, Places, Places]:
        """What speaks for candidates of questions: whose it is, its context and its link.

        Args:
            contexts: Those that the links are of.
            asked: The role of each asked slot.  # (questions,)
            known: Of each known entity of a question: the question, the role, the entity.
        """
        owner, role, entity = known
        kind, there = contexts.kinds_of(asked[owner], role)
        owner, kind, entity = owner[there], kind[there], entity[there]
        links, counts = places_of(self.offsets, kind), np.diff(self.offsets)[kind]
        owner, entity = np.repeat(owner, counts), np.repeat(entity, counts)
        roles = contexts.roles[self.bodies[links]]
        row, there = contexts.beside_one(roles[:, 0], contexts.coded.held_as(roles[:, 1], entity))
        return owner[there], row[there], links[there]


@dataclass(frozen=True)
class RelatedTwo:
    """For each kind of context with two known entities the other such kinds that speak for it."""

    offsets: Places  # (kinds + 1,)
    roles: Places  # (links, 3) of the asked entity and of both known ones, as the head has them
    confidence: Array  # (links,)

    @classmethod
    def of(cls, contexts: Contexts) -> "RelatedTwo":
        """All links that at least two groups of three entities show."""
        kind, roles, company = _companies(contexts)
        ordered, other = np.unique(roles, axis=0, return_inverse=True)
        other, total = other.reshape(-1), np.bincount(other.reshape(-1), minlength=len(ordered))
        sizes = np.bincount(company)
        order, groups = np.argsort(company, kind="stable"), offsets_of(sizes)
        kind, other = kind[order], other[order]
        member = np.repeat(np.arange(len(kind)), sizes[owners_of(groups)])
        beside = places_of(groups, owners_of(groups))
        keep = (member != beside) & (kind[member] >= 0)  # heads have their entities in order
        links = kind[member[keep]] * len(ordered) + other[beside[keep]]
        links, support = np.unique(links, return_counts=True)
        links, support = links[support >= _SUPPORT], support[support >= _SUPPORT]
        head, body = np.divmod(links, max(1, len(ordered)))
        is_other = (contexts.roles[head] != ordered[body]).any(axis=1)
        head, body, support = head[is_other], body[is_other], support[is_other]
        offsets = offsets_of(np.bincount(head, minlength=len(contexts.roles)))
        return cls(offsets, ordered[body], support / (total[body] + _DOUBT))

    def find(
        self, contexts: Contexts, asked: Array, known: tuple[Array, Array, Array]
    ) -> tuple[Places, Places, Places]:
        """What speaks for candidates of questions, as `Related.find` has it."""
        owner, role, entity = known
        first, second = _twos(owner, role * (contexts.coded.entities + 1) + entity)
        owner, one, two = owner[first], entity[first], entity[second]
        kind, there = contexts.kinds_of(asked[owner], role[first], role[second])
        owner, kind, one, two = (x[there] for x in (owner, kind, one, two))
        links, counts = places_of(self.offsets, kind), np.diff(self.offsets)[kind]
        owner, one, two = (np.repeat(x, counts) for x in (owner, one, two))
        roles = self.roles[links]
        held = (contexts.coded.held_as(roles[:, i], x) for i, x in ((1, one), (2, two)))
        row, there = contexts.beside_two(roles[:, 0], *held)
        return owner[there], row[there], links[there]


def _companies(contexts: Contexts) -> tuple[Places, Places, Places]:
    """Contexts with two known entities, in both orders of these, an entry for each candidate.

    Returns:
        The kind, -1 where its roles are in the other order; the roles of the candidate and of both
        known ones; and a number for these three entities.
    """
    coded, row = contexts.coded, owners_of(contexts.offsets)
    is_double = (contexts.roles >= 0).all(axis=1)
    mine = np.flatnonzero(np.asarray(is_double)[contexts.kinds[row]])
    row, who = row[mine], contexts.who[mine]
    _, first, second = coded.parts(contexts.codes[row])
    one, two = (coded.held[x - 1] % (coded.entities + 1) for x in (first, second))
    kind, roles = contexts.kinds[row], contexts.roles[contexts.kinds[row]]
    three = np.concatenate([np.stack([who, one, two], 1), np.stack([who, two, one], 1)])
    company = np.unique(three, axis=0, return_inverse=True)[1].reshape(-1)
    both = np.concatenate([roles, roles[:, [0, 2, 1]]])
    other = np.where(roles[:, 1] == roles[:, 2], kind, -1)
    return np.concatenate([kind, other]), both, company


def _twos(owner: Array, rank: Array) -> tuple[Places, Places]:
    """All pairs of places with the same owner, which stand together; the higher rank first."""
    ends = np.searchsorted(owner, owner, side="right")
    places = np.arange(len(owner))
    later = ends - places - 1
    one = np.repeat(places, later)
    two = one + 1 + np.arange(len(one)) - np.repeat(np.cumsum(later) - later, later)
    is_high = rank[one] >= rank[two]
    return np.where(is_high, one, two), np.where(is_high, two, one)


def _pairs(contexts: Contexts) -> tuple[Places, Places]:
    """Kind, and known entity and candidate as one number, of contexts with one known entity."""
    coded, row = contexts.coded, owners_of(contexts.offsets)
    is_single = (contexts.roles >= 0).sum(axis=1) == 2
    mine = np.flatnonzero(is_single[contexts.kinds[row]])
    row, who = row[mine], contexts.who[mine]
    known = coded.held[coded.parts(contexts.codes[row])[1] - 1] % (coded.entities + 1)
    return contexts.kinds[row], known * (coded.entities + 1) + who
