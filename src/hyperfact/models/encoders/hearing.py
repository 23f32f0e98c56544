"""What nodes have heard in a CompGCN of one layer, so that further edges are heard alone.

An edge more changes what its two ends hear, and by the normaliser what weighs at their other edges.
Only those messages are computed again, and the vectors of the entities that they reach.
"""

from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from torch import Tensor

from hyperfact.graph.ragged import places_of
from hyperfact.kernels.compositions import COMPOSITIONS
from hyperfact.kernels.edges import Grouping
from hyperfact.models.encoders.compgcn import CompGCN, CompGCNLayer
from hyperfact.models.graph_pass import GraphPass


@dataclass(frozen=True)
class Further:
    """Edges that join a graph, and the nodes that they bring.

    Nodes are numbered as in the graph; behind them come new entities, then new mediators.
    """

    source: Tensor  # (edges,)
    type: Tensor  # (edges,)
    target: Tensor  # (edges,)
    entities: int  # how many are new
    vectors: Tensor  # (new nodes, dim) what enters the encoder for them
    replaced: Tensor  # (others,) entities of the graph that nothing joined yet
    replacements: Tensor  # (others, dim) what enters the encoder for those


class Heard:
    """Sums of messages of every entity.

    Args:
        encoder: Of one layer, in evaluation mode.
    """

    def __init__(self, encoder: CompGCN) -> None:
        self.encoder = encoder
        self.layer = cast("CompGCNLayer", encoder.layers[0])
        self.z: tuple[Tensor, ...] = encoder.relations.detach().chunk(2)
        view, edges = encoder.view, encoder.view.edges
        with torch.no_grad():
            self.h: Tensor = encoder.nodes()  # (nodes, dim)
            everybody = view.receivers(slice(0, encoder.num_entities))
            parts = self.layer.heard(
                self.h, encoder.relations, receivers=everybody, weights=view.weights(None)
            )
            self.sums = tuple(parts)  # (entities, dim), (entities, dim)
        self.degrees = tuple(d.double() for d in edges.degrees())  # (nodes,), (nodes,)

    def with_edges(self, more: Further) -> tuple[Tensor, Tensor]:  # (changed,), (changed, dim)
        """Entities whose vectors change, by the numbers of `Further`, and their new vectors."""
        count, nodes = self.encoder.num_entities, len(self.h)
        source, kind, target, is_new = self._affected(more)
        old, new = self._weights(source, target, is_new)
        ways = ((source, target), (target, source))
        is_entity = [
            (end < count) | (nodes <= end) & (end < nodes + more.entities) for _, end in ways
        ]
        moved = [after - before for before, after in zip(old, new, strict=True)]
        keep = [some & (by != 0) for some, by in zip(is_entity, moved, strict=True)]
        reached = torch.cat([end[k] for (_, end), k in zip(ways, keep, strict=True)])
        changed = torch.unique(torch.cat([reached, more.replaced]))
        sums = []
        for way, ((start, end), some) in enumerate(zip(ways, keep, strict=True)):
            relation = self.z[way][kind[some]]
            message = COMPOSITIONS[self.layer.composition].dense(
                self._vectors(start[some], more), relation
            )
            message = message * moved[way][some, None].to(message)
            known = changed < count
            total = self.h.new_zeros(len(changed), self.h.shape[1])
            total[known] = self.sums[way][changed[known]]
            sums.append(total.index_add_(0, torch.searchsorted(changed, end[some]), message))
        rows: Tensor = self.layer.combine(self._vectors(changed, more), sums, GraphPass())
        return changed, rows

    def _affected(self, more: Further) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """All edges at the ends of new ones, and the new ones: source, type, target, is new."""
        edges = self.encoder.view.edges
        ends = torch.unique(torch.cat([more.source, more.target]))
        ends_ = ends[ends < len(self.h)].numpy()
        sides: tuple[Grouping, ...] = (edges.by_target, edges.by_source)
        ids = np.unique(np.concatenate([s.edges[places_of(s.offsets, ends_)] for s in sides]))
        found = (
            torch.cat([torch.from_numpy(column[ids].astype(np.int64)), own])
            for column, own in (
                (edges.source, more.source),
                (edges.relation, more.type),
                (edges.target, more.target),
            )
        )
        is_new = torch.arange(len(ids) + len(more.source)) >= len(ids)
        return (*found, is_new)  # type: ignore[return-value]  # three columns and one more

    def _weights(
        self, source: Tensor, target: Tensor, is_new: Tensor
    ) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Weights of these edges in both directions, before and after; a new one had none."""
        view = self.encoder.view
        nodes, ends = torch.unique(torch.cat([source, target]), return_inverse=True)
        source, target = ends.chunk(2)
        known = nodes < len(self.h)
        before, after = [], []
        for degree, end in zip(self.degrees, (target, source), strict=True):  # received, sent
            count = torch.zeros(len(nodes), dtype=torch.float64)
            count[known] = degree[nodes[known]]
            before.append(count)
            after.append(count + torch.bincount(end[is_new], minlength=len(nodes)))
        direct, inverse = view.of(source, target, *before)
        old = torch.where(is_new, 0.0, direct), torch.where(is_new, 0.0, inverse)
        return old, view.of(source, target, *after)

    def _vectors(self, nodes: Tensor, more: Further) -> Tensor:  # (nodes, dim)
        """What enters the encoder for nodes, old and new."""
        found = self.h.new_empty(len(nodes), self.h.shape[1])
        known = nodes < len(self.h)
        found[known] = self.h[nodes[known]]
        found[~known] = more.vectors[nodes[~known] - len(self.h)]
        if len(more.replaced):
            at = torch.searchsorted(more.replaced, nodes).clamp(max=len(more.replaced) - 1)
            same = more.replaced[at] == nodes
            found[same] = more.replacements[at[same]]
        return found
