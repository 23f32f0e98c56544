"""Hypergraph: the facts that a decoder reads beside vectors, as tensors.

They are part of the representations, so that whatever makes those (training without the facts of a
batch, a stored run, facts that joined later) says which facts there are.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Array, Places, offsets_of, owners_of
from hyperfact.kernels.member_index import MemberIndex, Members
from hyperfact.kernels.neighbours import Neighbours


@dataclass(frozen=True)
class Hypergraph:
    """Members of facts in the roles subject, object and 2 + attribute."""

    relation: Tensor  # (facts,)
    offsets: Tensor  # (facts + 1,)
    node: Tensor  # (members,)
    role: Tensor  # (members,)
    at: Tensor  # (nodes + 1,) where the members of each node begin
    member: Tensor  # (members,) node after node
    keep: Tensor  # (facts,) bool: which exist

    @classmethod
    def of(cls, graph: HKG) -> "Hypergraph":
        """Of these facts, all of which exist."""
        m = index_of(graph).members
        parts = (m.relation, m.offsets, m.node, m.role)
        at, member = _by_node(m.node, len(graph.entities))
        keep = np.ones(len(graph), dtype=bool)
        return cls(*(torch.from_numpy(np.ascontiguousarray(x)) for x in (*parts, at, member, keep)))

    def __len__(self) -> int:
        return len(self.relation)

    def kept(self, keep: Tensor | None) -> "Hypergraph":
        """Of the facts those to keep; None: all."""
        return self if keep is None else replace(self, keep=keep)

    def with_node(self) -> "Hypergraph":
        """The same for one more node, without facts."""
        return replace(self, at=torch.cat([self.at, self.at[-1:]]))

    def rows(self, order: Tensor) -> "Hypergraph":
        """The same facts of nodes in another order: node i is the one that was `order[i]`."""
        new = torch.empty_like(order)
        new[order] = torch.arange(len(order), device=order.device)
        node = new[self.node.long()].to(self.node.dtype)
        at, member = _by_node(node.numpy(), len(order))
        return replace(self, node=node, at=torch.from_numpy(at), member=torch.from_numpy(member))

    def neighbours(self) -> Neighbours:
        """As kernels read it."""
        parts = (self.relation, self.offsets, self.node, self.role)
        members = Members(*(part.cpu().numpy() for part in parts))
        fact = owners_of(members.offsets).astype(np.int32)
        return Neighbours(
            members, fact, *(part.cpu().numpy() for part in (self.at, self.member, self.keep))
        )


def _by_node(node: Array, count: int) -> tuple[Places, Array]:
    """Where the members of each node begin, and which they are."""
    return (
        offsets_of(np.bincount(node, minlength=count)),
        np.argsort(node, kind="stable").astype(np.int32),
    )


def index_of(graph: HKG) -> MemberIndex:
    """Subject, object and values of each fact, in the roles 0, 1 and 2 + attribute."""
    c, size = graph.columns, len(graph)
    owner = np.concatenate([np.arange(size), np.arange(size), owners_of(c.offsets)])
    order = np.argsort(owner, kind="stable")
    node = np.concatenate([c.subject, c.object, c.values])[order]
    role = np.concatenate([np.zeros(size), np.ones(size), 2 + c.attributes])[order]
    members = Members(c.relation, offsets_of(graph.arity), node, role.astype(np.int32))
    sizes = len(graph.entities), len(graph.relations), 2 + len(graph.relations)
    return MemberIndex(members, *sizes)
