"""Unseen entities: who stands for an entity that no training fact names (docs/concepts/unseen.md).

A vector that training never moved by a fact is noise, and a product with it spoils what the other
slots say. What is known of a stranger is its role: to be the subject or the object of a relation,
or the value of an attribute. The mean of the entities of that role stands for it in known slots;
for scores that are linear in each slot it gives the mean of their scores. As a candidate, a
stranger has the mean of all entities, unless the decoder measures distances: the middle of all is
nearer to anything than most of them, so that strangers keep their own vectors there.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.role_index import OBJECT, SUBJECT, VALUE, RoleIndex, role_number
from hyperfact.models.shard import Shard


@dataclass(frozen=True)
class StandIns:
    """A vector for each role, and for whom it stands."""

    vectors: Tensor  # (3 * relations, dim) of subjects, of objects, of values
    unseen: Tensor  # (entities,) bool

    def put(
        self, vectors: Tensor, facts: FactBatch, *, known: Tensor, present: Tensor | None = None
    ) -> Tensor:  # as `vectors`
        """The vectors of slots, in known slots the stand-in of who is unseen or withheld."""
        strange = self.unseen[facts.entities]  # (batch, slots)
        if facts.withheld is not None:
            strange = strange | facts.withheld
        strange, roles = strange & known, role_numbers(facts, len(self.vectors) // 3)
        if present is not None:
            strange, roles = strange[present], roles[present]
        stand_ins = functional.embedding(roles, self.vectors)
        return torch.where(strange[..., None], stand_ins, vectors)

    def with_mean(self) -> "StandIns":
        """The same for one more entity and one more relation, whose roles are means of the rest."""
        blocks = self.vectors.view(3, -1, self.vectors.shape[1])
        vectors = torch.cat([blocks, blocks.mean(dim=1, keepdim=True)], dim=1).flatten(0, 1)
        return StandIns(vectors, torch.cat([self.unseen, self.unseen.new_zeros(1)]))


class Unseen(nn.Module):
    """What a model does about strangers.

    Args:
        train: The training facts, which say who is seen in which role.
        by_role: A stand-in for each role; otherwise the mean of all entities for every slot.
        strangers: The share of known entities for which training puts the stand-in of their role,
            so that it learns what little a role says.
        as_candidates: Strangers have the mean of all also as candidates, not only in known slots.
    """

    def __init__(
        self,
        train: HKG,
        *,
        by_role: bool = True,
        strangers: float = 0.0,
        as_candidates: bool = True,
    ) -> None:
        super().__init__()
        self.by_role, self.strangers, self.as_candidates = by_role, strangers, as_candidates
        index = RoleIndex.of(train)
        seen = np.zeros(len(train.entities), dtype=bool)
        seen[index.entities] = True
        self.offsets: Tensor  # (roles + 1,)
        self.members: Tensor  # of each role, role after role
        self.seen: Tensor  # (entities,)
        known = {"offsets": index.offsets, "members": index.entities, "seen": seen}
        for name, column in known.items():
            self.register_buffer(name, torch.from_numpy(column), persistent=False)

    def withhold(self, facts: FactBatch, generator: torch.Generator | None) -> FactBatch:
        """For training: the same facts, of some entities only the role; None: of nobody."""
        if not self.strangers or generator is None:
            return facts
        drawn = torch.rand(facts.entities.shape, generator=generator)
        return replace(facts, withheld=drawn < self.strangers)

    def introduce(
        self, entities: Tensor, *, training: bool, shard: Shard | None = None
    ) -> tuple[Tensor, StandIns | None]:
        """The table of entities (in use, strangers may have the mean of all), and stand-ins.

        Args:
            entities: All rows, or those of the shard.
            training: Whether strangers are drawn; otherwise they are who they are.
            shard: Whose rows these are.
        """
        if training:
            if not self.strangers:
                return entities, None
            return entities, StandIns(self._means(entities, shard), torch.zeros_like(self.seen))
        if bool(self.seen.all()) or not bool(self.seen.any()):
            return entities, None
        seen = self.seen if shard is None else self.seen[shard.rows(len(self.seen))]
        mean = entities[seen].mean(dim=0)  # (dim,)
        if shard is not None:
            mean = shard.sum(entities[seen].sum(dim=0)) / self.seen.sum()
        if self.as_candidates:
            entities = torch.where(seen[:, None], entities, mean)
            if not self.by_role:
                return entities, None
        nobody = (self.offsets.diff() == 0) | (not self.by_role)
        vectors = torch.where(nobody[:, None], mean, self._means(entities, shard))
        return entities, StandIns(vectors, ~self.seen)

    def _means(self, entities: Tensor, shard: Shard | None) -> Tensor:  # (3 * relations, dim)
        """Of each role; nothing where nobody has it."""
        if shard is None:
            return functional.embedding_bag(self.members, entities, self.offsets[:-1], mode="mean")
        own, sizes = shard.rows(len(self.seen)), self.offsets.diff()
        here = (self.members >= own.start) & (self.members < own.stop)
        role = torch.arange(len(sizes), device=sizes.device).repeat_interleave(sizes)[here]
        vectors = functional.embedding(self.members[here] - own.start, entities)
        sums = entities.new_zeros(len(sizes), entities.shape[1]).index_add(0, role, vectors)
        return shard.sum(sums) / sizes.clamp(min=1)[:, None]


def role_numbers(facts: FactBatch, relations: int) -> Tensor:  # (batch, slots)
    """The role of each slot."""
    primary, attributes = facts.relations[:, :1], facts.relations[:, 1:]
    kinds = ((SUBJECT, primary), (OBJECT, primary), (VALUE, attributes))
    return torch.cat([role_number(kind, part, relations) for kind, part in kinds], dim=1)
