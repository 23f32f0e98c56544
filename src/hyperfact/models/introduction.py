"""Stand-ins after some entities have changed, without the means of all roles again."""

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from hyperfact.graph.ragged import Array, find, offsets_of, owners_of, places_of
from hyperfact.graph.role_index import RoleIndex
from hyperfact.models.representations import Representations
from hyperfact.models.unseen import StandIns, Unseen


class Introduction:
    """Who is seen in which role, and the means that follow from it.

    Args:
        unseen: What the model does about strangers, by role.
        z: The representations that training left.
    """

    def __init__(self, unseen: Unseen, z: Representations) -> None:
        self.unseen, self.z = unseen, z
        self.offsets, self.members = unseen.offsets.numpy(), unseen.members.numpy()
        role = owners_of(self.offsets)
        order = np.argsort(self.members, kind="stable")
        self.roles = role[order]  # of each entity, entity after entity
        self.of_entity = offsets_of(np.bincount(self.members, minlength=len(unseen.seen)))
        self.codes = role * 2**32 + self.members  # rising
        self.sum = z.entities[unseen.seen].double().sum(dim=0)

    def with_rows(self, entities: Tensor, changed: Tensor, added: RoleIndex) -> Representations:
        """The representations with other vectors of some entities.

        Args:
            entities: The whole table; of strangers the vectors do not matter.
            changed: Entities whose rows are other ones, or were not there.  # (changed,)
            added: The roles of the facts that were added; all of its entities are seen.
        """
        old, count = self.z.entities, len(self.unseen.seen)
        seen = torch.cat([self.unseen.seen, torch.zeros(len(entities) - count).bool()])
        was_seen = seen.clone()
        seen[torch.from_numpy(added.entities)] = True
        moved = entities[changed].double()
        moved[was_seen[changed]] -= old[changed[was_seen[changed]]].double()
        mean = ((self.sum + moved.sum(dim=0)) / seen.sum()).to(entities)
        if bool(seen.all()):
            return replace(self.z, entities=entities, stand_ins=None)
        if self.unseen.as_candidates:
            entities[~seen] = mean
        vectors = self._roles(entities, changed.numpy(), moved, added, was_seen.numpy(), mean)
        return replace(self.z, entities=entities, stand_ins=StandIns(vectors, ~seen))

    def _roles(
        self,
        entities: Tensor,
        changed: Array,
        moved: Tensor,
        added: RoleIndex,
        was_seen: Array,
        mean: Tensor,
    ) -> Tensor:  # (3 * relations, dim)
        """The mean of each role, from its mean before and what has moved."""
        assert self.z.stand_ins is not None
        sizes = torch.from_numpy(np.diff(self.offsets))
        known = np.flatnonzero(was_seen[changed])
        own = np.diff(self.of_entity)[changed[known]]
        sums = moved.new_zeros(len(sizes), moved.shape[1])
        role = self.roles[places_of(self.of_entity, changed[known])]
        sums.index_add_(0, torch.from_numpy(role), moved[torch.from_numpy(np.repeat(known, own))])
        role, who = owners_of(added.offsets), added.entities
        fresh = ~find(self.codes, role * 2**32 + who)[1]
        role, who = torch.from_numpy(role[fresh]), torch.from_numpy(who[fresh])
        sums.index_add_(0, role, entities[who].double())
        now = sizes + torch.bincount(role, minlength=len(sizes))
        before = self.z.stand_ins.vectors.double() * sizes[:, None]
        means = ((before + sums) / now.clamp(min=1)[:, None]).to(entities)
        return torch.where((now == 0)[:, None], mean, means)
