"""Which pairs of roles speak for another pair: who stands in the one often stands in the other.

If somebody is the subject of "lives in" and a city its object, they are likely the subject and the
object of "works in" too. Each such link has a confidence: of those who stand in the second pair of
roles the share that stands in the first.
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


def _pairs(contexts: Contexts) -> tuple[Places, Places]:
    """Kind, and known entity and candidate as one number, of contexts with one known entity."""
    coded, row = contexts.coded, owners_of(contexts.offsets)
    is_single = (contexts.roles >= 0).sum(axis=1) == 2
    mine = np.flatnonzero(is_single[contexts.kinds[row]])
    row, who = row[mine], contexts.who[mine]
    known = coded.held[coded.parts(contexts.codes[row])[1] - 1] % (coded.entities + 1)
    return contexts.kinds[row], known * (coded.entities + 1) + who
