"""Neighbours: facts by the nodes in them, and how far from some nodes others are."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hyperfact.kernels.jit import Array, kernel, part_of_kernels
from hyperfact.kernels.member_index import Members

LIMIT = 1e9  # of products: those of a fact with a hundred members would leave the numbers


class Neighbours(NamedTuple):
    """Members of facts, and those of each node: `member[at[v]]` to `member[at[v + 1]]`."""

    members: Members
    fact: NDArray[np.int32]  # (members,) whose member each is
    at: NDArray[np.int64]  # (nodes + 1,)
    member: NDArray[np.int32]  # (members,) node after node
    keep: NDArray[np.bool_]  # (facts,) which exist

    @property
    def num_nodes(self) -> int:
        """How many there are, with or without facts."""
        return len(self.at) - 1

    @property
    def widest(self) -> int:
        """Members of the largest fact."""
        return int(np.diff(self.members.offsets).max(initial=0))


class Listeners(NamedTuple):
    """Who hears something, and where the others' states are found."""

    question: NDArray[np.int32]  # (listeners,) -1: as nobody asks
    node: NDArray[np.int32]  # (listeners,)
    place: NDArray[np.int32]  # (questions, nodes) row of a state; beyond the rows: as nobody asks


def distances(
    around: Neighbours, offsets: Array, sources: Array, *, most: int
) -> NDArray[np.int8]:  # (questions, nodes)
    """For each question how many facts lie between its sources and each node; -1: more than most.

    Args:
        around: The facts.
        offsets: Where the sources of each question begin.  # (questions + 1,)
        sources: Nodes.
        most: How far to look.
    """
    found = np.full((len(offsets) - 1, around.num_nodes), -1, dtype=np.int8)
    _walk(around, offsets, sources, most, found)
    return found


@kernel
def _walk(around: Neighbours, offsets: Array, sources: Array, most: int, found: Array) -> None:
    reached = np.empty(found.shape[1], dtype=np.int64)
    visited = np.full(len(around.members.relation), -1, dtype=np.int64)  # the last question here
    for q in range(len(offsets) - 1):
        size = 0
        for place in range(offsets[q], offsets[q + 1]):
            if found[q, sources[place]] < 0:
                found[q, sources[place]] = 0
                reached[size] = sources[place]
                size += 1
        begin = 0
        for hop in range(1, most + 1):
            end = size
            for i in range(begin, end):
                size = _step(around, reached, size, visited, i, q, hop, found)
            begin = end


@part_of_kernels
def _step(
    around: Neighbours,
    reached: Array,
    size: int,
    visited: Array,
    i: int,
    q: int,
    hop: int,
    found: Array,
) -> int:
    """Reach the other members of the facts of one node; how many nodes are reached then."""
    m, v = around.members, reached[i]
    for place in range(around.at[v], around.at[v + 1]):
        f = around.fact[around.member[place]]
        if visited[f] == q or not around.keep[f]:
            continue
        visited[f] = q
        for j in range(m.offsets[f], m.offsets[f + 1]):
            if found[q, m.node[j]] < 0:
                found[q, m.node[j]] = hop
                reached[size] = m.node[j]
                size += 1
    return size
