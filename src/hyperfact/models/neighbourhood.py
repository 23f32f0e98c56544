"""Who some nodes hear, and whom those hear: a small graph around the seeds of a batch.

Of the edges that a node receives, in either direction, at most k are drawn; each of them then
stands for d / k of its d, so that a sum over them is right on average. With k at least as large as
every d nothing is drawn and nothing differs from the whole graph.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hyperfact.kernels.edges import EdgeIndex

Array = NDArray[Any]


class Hop(NamedTuple):
    """What one layer reads: edges among the first nodes of a neighbourhood, and their weights."""

    edges: EdgeIndex  # in both directions
    weights: Tensor  # (edges,)
    rows: int  # nodes that the layer computes: the first ones


@dataclass(frozen=True)
class Neighbourhood:
    """Nodes around seeds, the seeds first, then whom they hear, and so on."""

    graph: EdgeIndex  # of the whole graph, in both directions
    nodes: Array  # (nodes,) their numbers there
    counts: tuple[int, ...]  # nodes after each hop, first of all the seeds
    edges: Array  # (edges,) their numbers there, hop after hop
    source: Array  # (edges,) places among the nodes
    target: Array  # (edges,)
    ends: tuple[int, ...]  # edges after each hop
    factor: Tensor  # (edges,) for how many edges each stands

    def hops(self, weights: Tensor) -> list[Hop]:
        """What each layer reads, the first layer first.

        Args:
            weights: Of all edges of the graph.  # (edges of the graph,)
        """
        own = weights.index_select(0, torch.from_numpy(self.edges)) * self.factor.to(weights)
        relation = self.graph.relation[self.edges]
        found = []
        for rows, nodes, end in zip(self.counts[:-1], self.counts[1:], self.ends, strict=True):
            edges = EdgeIndex.build(
                self.source[:end],
                relation[:end],
                self.target[:end],
                num_nodes=nodes,
                num_relations=self.graph.num_relations,
            )
            found.append(Hop(edges, own[:end], rows))
        return found[::-1]


def neighbourhood(
    graph: EdgeIndex,
    seeds: Array,
    sizes: Sequence[int],
    *,
    keep: Array | None = None,
    generator: torch.Generator | None,
) -> Neighbourhood:
    """Draw a neighbourhood.

    Args:
        graph: Edges in both directions.
        seeds: Whose vectors are wanted, each once.
        sizes: How many edges a node hears at most: a seed, one that a seed hears, and so on.
        keep: Which edges exist; None: all.  # (edges,) bool
        generator: Source of what is drawn, if there is more than is taken.
    """
    place = np.full(graph.num_nodes, -1, dtype=np.int64)
    place[seeds] = np.arange(len(seeds))
    nodes, counts, fresh = [seeds], [len(seeds)], seeds
    edges, targets, factors, ends = [], [], [], []
    for size in sizes:
        chosen, owner, factor = _draw(graph, fresh, size, keep, generator)
        target = place[fresh[owner]]
        sources = np.unique(graph.source[chosen])
        fresh = sources[place[sources] < 0]
        place[fresh] = counts[-1] + np.arange(len(fresh))
        nodes.append(fresh)
        counts.append(counts[-1] + len(fresh))
        edges.append(chosen)
        targets.append(target)
        factors.append(factor)
        ends.append(sum(map(len, edges)))
    every = np.concatenate(edges)
    return Neighbourhood(
        graph,
        np.concatenate(nodes),
        tuple(counts),
        every,
        place[graph.source[every]],
        np.concatenate(targets),
        tuple(ends),
        torch.from_numpy(np.concatenate(factors)),
    )


def _draw(
    graph: EdgeIndex,
    nodes: Array,
    size: int,
    keep: Array | None,
    generator: torch.Generator | None,
) -> tuple[Array, Array, Array]:
    """At most so many edges that each node receives: ids, which node, for how many each stands."""
    side = graph.by_target
    counts = side.offsets[nodes + 1] - side.offsets[nodes]
    owner = np.repeat(np.arange(len(nodes)), counts)
    first = np.repeat(side.offsets[nodes] - (np.cumsum(counts) - counts), counts)
    ids = side.edges[first + np.arange(len(owner))].astype(np.int64)
    if keep is not None:
        kept = keep[ids]
        ids, owner = ids[kept], owner[kept]
        counts = np.bincount(owner, minlength=len(nodes))
    factor = np.maximum(counts, size) / size if len(counts) else np.zeros(0)
    crowded = np.flatnonzero(counts[owner] > size)
    if len(crowded):
        chance = torch.rand(len(crowded), generator=generator, dtype=torch.float64).numpy()
        order = np.lexsort((chance, owner[crowded]))
        who = owner[crowded][order]
        starts = np.flatnonzero(np.append(True, who[1:] != who[:-1]))
        rank = np.arange(len(who)) - np.repeat(starts, np.diff(np.append(starts, len(who))))
        left_out = crowded[order[rank >= size]]
        ids, owner = np.delete(ids, left_out), np.delete(owner, left_out)
    return ids, owner, factor[owner]
