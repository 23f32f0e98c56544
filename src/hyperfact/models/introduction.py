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
        newcomers = torch.zeros(len(entities) - len(self.unseen.seen)).bool()
        seen = torch.cat([self.unseen.seen, newcomers])
        known = seen[changed]
        seen[torch.from_numpy(added.entities)] = True
        moved = entities[changed].double()
        moved[known] -= self.z.entities[changed[known]].double()
        mean = ((self.sum + moved.sum(dim=0)) / seen.sum()).to(entities)
        if bool(seen.all()):
            return replace(self.z, entities=entities, stand_ins=None)
        if self.unseen.as_candidates:
            entities[~seen] = mean
        sums = self._moved(changed[known].numpy(), moved[known])
        vectors = self._means(entities, sums, added, mean)
        return replace(self.z, entities=entities, stand_ins=StandIns(vectors, ~seen))

    def _moved(self, changed: Array, moved: Tensor) -> Tensor:  # (3 * relations, dim)
        """How far the sum of each role moves with those who were in it."""
        sums = moved.new_zeros(len(self.offsets) - 1, moved.shape[1])
        own = np.repeat(np.arange(len(changed)), np.diff(self.of_entity)[changed])
        role = self.roles[places_of(self.of_entity, changed)]
        return sums.index_add_(0, torch.from_numpy(role), moved[torch.from_numpy(own)])

    def _means(
        self, entities: Tensor, moved: Tensor, added: RoleIndex, mean: Tensor
    ) -> Tensor:  # (3 * relations, dim)
        """The mean of each role, from its mean before, what has moved, and who is new in it."""
        assert self.z.stand_ins is not None, "there were strangers, and there still are"
        role = owners_of(added.offsets)
        fresh = ~find(self.codes, role * 2**32 + added.entities)[1]
        new, who = torch.from_numpy(role[fresh]), torch.from_numpy(added.entities[fresh])
        before = torch.from_numpy(np.diff(self.offsets))
        now = before + torch.bincount(new, minlength=len(before))
        sums = self.z.stand_ins.vectors.double() * before[:, None] + moved
        sums.index_add_(0, new, entities[who].double())
        means = (sums / now.clamp(min=1)[:, None]).to(entities)
        return torch.where((now == 0)[:, None], mean, means)
