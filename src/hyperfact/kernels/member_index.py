"""MemberIndex: facts as lists of their members, for kernels that pass messages inside a fact."""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hyperfact.kernels.jit import Array


class Members(NamedTuple):
    """Facts and who stands in them: those of fact f are `offsets[f]` to `offsets[f + 1]`."""

    relation: NDArray[np.int32]  # (facts,)
    offsets: NDArray[np.int64]  # (facts + 1,)
    node: NDArray[np.int32]  # (members,)
    role: NDArray[np.int32]  # (members,)


@dataclass(frozen=True, eq=False)
class MemberIndex:
    """Members of facts, with the sizes of the tables that their numbers point into."""

    members: Members
    num_nodes: int
    num_relations: int
    num_roles: int

    def __len__(self) -> int:
        return len(self.members.relation)

    @cached_property
    def widest(self) -> int:
        """Members of the largest fact."""
        return int(np.diff(self.members.offsets).max(initial=0))

    def counts(self, keep: Array | None) -> Tensor:  # (nodes,)
        """For each node how often it is a member, of all facts or of those to keep."""
        sizes, node = np.diff(self.members.offsets), self.members.node
        kept = None if keep is None else np.repeat(keep, sizes).astype(np.float64)
        return torch.from_numpy(np.bincount(node, weights=kept, minlength=self.num_nodes)).double()
