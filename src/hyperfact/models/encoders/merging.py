"""Edges from senders that have one vector in common, heard as one edge.

Where mediators share all of their vectors (alpha = 1), those of one primary relation say the same
over one type of edge: a node hears it once, with the sum of the weights. Of JF17K's 84,864 edges
from mediators 20,119 remain.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hyperfact.graph.ragged import Array
from hyperfact.kernels.edges import EdgeIndex


@dataclass(frozen=True)
class Merged:
    """What the first nodes of a graph hear, from kinds of nodes instead of nodes."""

    edges: EdgeIndex  # from kinds to these nodes
    chosen: Tensor  # (heard,) edges of the graph that one of these nodes receives
    part: Tensor  # (heard,) into which of `edges` each went

    @classmethod
    def of(cls, edges: EdgeIndex, kind: Array, *, rows: int) -> "Merged":
        """Join the edges that agree in all but the sender, whose kind they have in common.

        Args:
            edges: The graph.
            kind: Of each node; nodes of one kind have one vector.  # (nodes,)
            rows: How many nodes hear.
        """
        chosen = np.flatnonzero(edges.target < rows)
        source, relation, target = (
            column[chosen].astype(np.int64)
            for column in (kind[edges.source], edges.relation, edges.target)
        )
        # Two steps, for one number for all three columns might not fit into 64 bits.
        pair = np.unique(source * edges.num_relations + relation, return_inverse=True)[1]
        _, first, part = np.unique(pair * rows + target, return_index=True, return_inverse=True)
        joined = EdgeIndex.build(
            source[first],
            relation[first],
            target[first],
            num_nodes=int(kind.max()) + 1,
            num_relations=edges.num_relations,
            num_targets=rows,
        )
        return cls(joined, torch.from_numpy(chosen), torch.from_numpy(part))

    def weights(self, of_all: Tensor) -> Tensor:  # (joined,)
        """What joined edges weigh, given the weights of the graph's."""
        sums = of_all.new_zeros(len(self.edges))
        return sums.index_add_(0, self.part, of_all.index_select(0, self.chosen))
