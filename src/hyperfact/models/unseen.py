"""Roles: who stands in which slot of training facts, and what stands there for a stranger."""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import Representations, StandIns
from hyperfact.graph.ragged import offsets_of


@dataclass(frozen=True)
class Roles:
    """The distinct entities of each role: subject and object of a relation, value of an attribute.

    A vector that training never moved by a fact is noise, and a product with it spoils what the
    other slots say. The mean of the entities of its role says what is known about a stranger: for
    scores that are linear in each slot it gives the mean of their scores.
    """

    offsets: Tensor  # (3 * relations + 1,)
    entities: Tensor  # (pairs,)
    seen: Tensor  # (entities,) bool

    @classmethod
    def of(cls, train: HKG) -> "Roles":
        """The roles of these facts."""
        c, span, relations = train.columns, max(1, len(train.entities)), len(train.relations)
        parts = ((c.relation, c.subject), (c.relation, c.object), (c.attributes, c.values))
        keys = np.unique(
            np.concatenate(
                [
                    (kind * relations + role.astype(np.int64)) * span + entity
                    for kind, (role, entity) in enumerate(parts)
                ]
            )
        )
        role, entity = keys // span, keys % span
        seen = np.zeros(len(train.entities), dtype=bool)
        seen[entity] = True
        offsets = offsets_of(np.bincount(role, minlength=3 * relations))
        return cls(*(torch.from_numpy(x) for x in (offsets, entity, seen)))

    def complete(self, z: Representations) -> Representations:
        """Give strangers the mean of all others, and for known slots that of each role."""
        if bool(self.seen.all()) or not bool(self.seen.any()):
            return z
        mean = z.entities[self.seen].mean(dim=0)  # (dim,)
        entities = torch.where(self.seen[:, None], z.entities, mean)
        empty = self.offsets.diff() == 0
        vectors = torch.where(empty[:, None], mean, self._means(entities))
        return Representations(entities, z.relations, StandIns(vectors, ~self.seen))

    def introduce(self, z: Representations) -> Representations:
        """With the mean of each role, for training to take for strangers whom it wants."""
        nobody = torch.zeros_like(self.seen)
        return replace(z, stand_ins=StandIns(self._means(z.entities), nobody))

    def _means(self, entities: Tensor) -> Tensor:  # (3 * relations, dim)
        return functional.embedding_bag(self.entities, entities, self.offsets[:-1], mode="mean")


def role_numbers(facts: FactBatch, relations: int) -> Tensor:  # (batch, slots)
    """The role of each slot, as counted in `Roles` over so many relations."""
    primary, attributes = facts.relations[:, :1], facts.relations[:, 1:]
    return torch.cat([primary, primary + relations, attributes + 2 * relations], dim=1)
