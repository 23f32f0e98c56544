"""The relation graph of InGram: how near two relations are by the nodes that they share."""

import numpy as np

from hyperfact.graph.ragged import Array, offsets_of
from hyperfact.kernels.affinity import column_affinity
from hyperfact.kernels.edges import EdgeIndex


def relation_graph(edges: EdgeIndex, keep: Array | None, bins: int) -> EdgeIndex:
    """Edges between relations that share a node, each with the bin of its weight as relation.

    The weight is A = E_h^T D_h^-2 E_h + E_t^T D_t^-2 E_t with E_h (E_t) the number of times that a
    node is the source (target) of a relation and D their sums by node. Weights are ranked and put
    into bins of about equal size, equal weights into one; they are compared in single precision,
    for the order of a sum must not decide.

    Args:
        edges: Both directions, each with its own relations.
        keep: Which edges exist; None: all.  # (edges,) bool
        bins: Number of bins.
    """
    kept = np.arange(len(edges)) if keep is None else np.flatnonzero(keep)
    used, relation = np.unique(edges.relation[kept], return_inverse=True)
    weights = sum(
        (_shared(end[kept], relation, len(used)) for end in (edges.source, edges.target)),
        np.zeros((len(used), len(used))),
    )
    receiver, sender = np.nonzero(weights)
    found = weights[receiver, sender].astype(np.float32)
    below = np.searchsorted(np.sort(found), found, side="left")
    return EdgeIndex.build(
        used[sender],
        below * bins // max(1, len(found)),
        used[receiver],
        num_nodes=edges.num_relations,
        num_relations=bins,
    )


def _shared(node: Array, relation: Array, size: int) -> Array:  # (size, size)
    """The sum over nodes of the shares that two relations have in its edges."""
    codes, counts = np.unique(node.astype(np.int64) * max(1, size) + relation, return_counts=True)
    nodes, row = np.unique(codes // max(1, size), return_inverse=True)
    totals = np.bincount(row, weights=counts, minlength=len(nodes))
    offsets = offsets_of(np.bincount(row, minlength=len(nodes)))
    return column_affinity(offsets, codes % max(1, size), counts / totals[row], size)
