"""Reach: whose state depends on a question, step by step, and matters for its candidates.

After l of L steps only who is at most l facts away from the known entities of a question differs
from what it is when nobody asks, and only who is at most L - l facts away from a candidate is ever
heard of. All others share one row for each node.
"""

from dataclasses import dataclass

import numpy as np

from hyperfact.graph.ragged import Array, offsets_of
from hyperfact.kernels.neighbours import Listeners, Neighbours, distances


@dataclass(frozen=True)
class State:
    """Rows after some steps: every node as nobody asks, then who differs."""

    question: Array  # (rows,) -1: nobody asks
    node: Array  # (rows,)
    place: Array  # (questions, nodes) row; -1: as nobody asks

    @classmethod
    def of(cls, differs: Array) -> "State":  # from (questions, nodes) bool
        """The rows that are needed where these differ."""
        nodes = differs.shape[1]
        question, node = (part.astype(np.int32) for part in np.nonzero(differs))
        place = np.full(differs.shape, -1, dtype=np.int32)
        place[question, node] = nodes + np.arange(len(node))
        nobody = np.full(nodes, -1, dtype=np.int32)
        every = np.arange(nodes, dtype=np.int32)
        return cls(np.concatenate([nobody, question]), np.concatenate([every, node]), place)

    def __len__(self) -> int:
        return len(self.node)

    def rows(self, question: Array, node: Array) -> Array:
        """Where the states of nodes are, as questions see them."""
        place = self.place[np.maximum(question, 0), node] if len(self.place) else node
        return np.where((question < 0) | (place < 0), node, place).astype(np.int64)

    def hearing(self, before: "State") -> Listeners:
        """These rows as listeners to the states of the step before."""
        return Listeners(self.question, self.node, before.place)


@dataclass(frozen=True)
class Reach:
    """The states of all steps, the first before any."""

    around: Neighbours
    states: tuple[State, ...]

    @classmethod
    def of(
        cls, around: Neighbours, given: tuple[Array, Array], candidates: Array, *, steps: int
    ) -> "Reach":
        """Of some questions.

        Args:
            around: The facts.
            given: Questions, rising, and entities that are known of them.  # (known,), (known,)
            candidates: Who is asked about.  # (questions, candidates)
            steps: How far messages go.

        Raises:
            IndexError: An entity that the graph does not have.
        """
        count, nodes = len(candidates), around.num_nodes
        for ids in (given[1], candidates.ravel()):
            if len(ids) and not 0 <= ids.min() <= ids.max() < nodes:  # kernels trust them
                raise IndexError(f"an entity beyond the {nodes} of the graph")
        known = offsets_of(np.bincount(given[0], minlength=count))
        asked = offsets_of(np.full(count, candidates.shape[1]))
        away = distances(around, known, given[1], most=steps)  # (questions, nodes)
        left = distances(around, asked, candidates.ravel(), most=steps)
        near = (away >= 0) & (left >= 0)
        states = (State.of(near & (away <= n) & (left <= steps - n)) for n in range(steps + 1))
        return cls(around, tuple(states))

    @property
    def first(self) -> State:
        """Before any step."""
        return self.states[0]

    @property
    def last(self) -> State:
        """After all of them."""
        return self.states[-1]
