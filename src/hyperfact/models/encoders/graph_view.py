"""The encoder's view of a graph: both directions of every edge, and what each message weighs."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from hyperfact.graph.kg import KG
from hyperfact.kernels.compose import compose_aggregate
from hyperfact.kernels.edges import EdgeIndex
from hyperfact.models.neighbourhood import Hop

Normaliser = Literal["symmetric", "mean", "published"]


def edges_of(graph: KG) -> EdgeIndex:
    """The edges of a KG as they are, by their types."""
    return EdgeIndex.build(
        graph.source,
        graph.edge_type,
        graph.target,
        num_nodes=graph.num_nodes,
        num_relations=graph.num_edge_types,
    )


def both_directions(edges: EdgeIndex) -> EdgeIndex:
    """Direct edges, then inverse ones, which have relations of their own."""
    return EdgeIndex.build(
        np.concatenate([edges.source, edges.target]),
        np.concatenate([edges.relation, edges.relation + edges.num_relations]),
        np.concatenate([edges.target, edges.source]),
        num_nodes=edges.num_nodes,
        num_relations=2 * edges.num_relations,
    )


class GraphView:
    """Edges (u, r, t) on which t hears u (direct) and u hears t (inverse), with weights w_e.

    `symmetric`: d_in(t)^-1/2 d_out(u)^-1/2, receivers and senders counted apart. `mean`: one over
    the edges that the receiver has in this direction. `published`: CompGCN's code, which counts
    received edges only and uses them for both ends; a mediator, which receives nothing in one
    direction, is silent in it.
    """

    def __init__(self, edges: EdgeIndex, normaliser: Normaliser) -> None:
        self.edges, self.normaliser = edges, normaliser
        self._receivers: dict[tuple[int, int], Receivers] = {}
        self._all = self._weights(None)

    @cached_property
    def both(self) -> EdgeIndex:
        """Direct edges, then inverse ones."""
        return both_directions(self.edges)

    def weights(self, keep: Tensor | None) -> tuple[Tensor, Tensor]:  # (edges,), (edges,)
        """Weights of direct and inverse messages; an edge not kept weighs 0 and counts nowhere."""
        return self._all if keep is None else self._weights(keep)

    def receivers(self, rows: slice) -> "Receivers":
        """The nodes of a range and what they hear; made once, for a range does not change."""
        bounds = (rows.start, rows.stop)
        if bounds not in self._receivers:
            self._receivers[bounds] = Receivers.of(self.edges, rows)
        return self._receivers[bounds]

    def _weights(self, keep: Tensor | None) -> tuple[Tensor, Tensor]:
        received, sent = (d.double() for d in self.edges.degrees(keep))  # (nodes,)
        source, _, target = self.edges.columns(torch.device("cpu"))
        direct, inverse = self.of(source, target, received, sent)
        if keep is not None:
            direct, inverse = direct * keep, inverse * keep
        return direct, inverse

    def of(
        self, source: Tensor, target: Tensor, received: Tensor, sent: Tensor
    ) -> tuple[Tensor, Tensor]:  # (edges,), (edges,)
        """Weights of any edges, given how many edges each node receives and sends."""
        if self.normaliser == "mean":
            direct = _inverse(received, 1.0).index_select(0, target)
            return direct, _inverse(sent, 1.0).index_select(0, source)
        if self.normaliser == "published":
            direct = _product(received, target, received, source)
            return direct, _product(sent, source, sent, target)
        both = _product(received, target, sent, source)
        return both, both


@dataclass(frozen=True)
class Receivers:
    """Nodes that a layer computes: the first ones, or those of a shard with the edges they hear."""

    rows: slice
    edges: tuple[EdgeIndex, EdgeIndex]  # direct, inverse; a shard numbers targets from its first
    chosen: tuple[Tensor, Tensor] | None = None  # which edges these are; None: all

    @classmethod
    def of(cls, edges: EdgeIndex, rows: slice) -> "Receivers":
        """Of all edges those that a row of the range receives."""
        if rows.start == 0:
            return cls(rows, (edges, edges.reversed))
        direct, inverse = (_received(side, rows) for side in (edges, edges.reversed))
        return cls(rows, (direct[0], inverse[0]), (direct[1], inverse[1]))

    def weights(self, of_all: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Of these edges, from those of all."""
        if self.chosen is None:
            return of_all
        direct, inverse = (w[ids] for w, ids in zip(of_all, self.chosen, strict=True))
        return direct, inverse

    @classmethod
    def near(cls, hop: Hop) -> "tuple[Receivers, tuple[Tensor, Tensor]]":
        """The first nodes of a neighbourhood with the edges drawn for them, and their weights."""
        edges, sides, weights = hop.edges, [], []
        relations = edges.num_relations // 2
        is_inverse = edges.relation >= relations
        for ids in (np.flatnonzero(~is_inverse), np.flatnonzero(is_inverse)):
            sides.append(
                EdgeIndex.build(
                    edges.source[ids],
                    edges.relation[ids] % relations,
                    edges.target[ids],
                    num_nodes=edges.num_nodes,
                    num_relations=relations,
                )
            )
            weights.append(hop.weights[torch.from_numpy(ids)])
        return cls(slice(0, hop.rows), (sides[0], sides[1])), (weights[0], weights[1])

    @property
    def count(self) -> int:
        """How many rows are computed."""
        return int(self.rows.stop - self.rows.start)


def _received(edges: EdgeIndex, rows: slice) -> tuple[EdgeIndex, Tensor]:
    ids = np.flatnonzero((edges.target >= rows.start) & (edges.target < rows.stop))
    own = EdgeIndex.build(
        edges.source[ids],
        edges.relation[ids],
        edges.target[ids] - rows.start,
        num_nodes=edges.num_nodes,
        num_relations=edges.num_relations,
        num_targets=rows.stop - rows.start,
    )
    return own, torch.from_numpy(ids)


def shares(group: Tensor, keep: Tensor | None) -> Tensor:  # (edges,)
    """For each edge one over the number of edges in its group, 0 where it is not kept."""
    kept = torch.ones(len(group)).double() if keep is None else keep.double()
    counts = torch.bincount(group, weights=kept)
    return kept / counts.clamp(min=1.0).index_select(0, group)


class MeanView:
    """Both directions in one list of edges, on which each node takes the mean of what it hears."""

    def __init__(self, edges: EdgeIndex) -> None:
        self.edges = both_directions(edges)
        self._all = self._weights(None)

    def weights(self, keep: Tensor | None) -> Tensor:  # (2 * edges,)
        """One over the number of edges at the receiver; an edge not kept counts nowhere."""
        return self._all if keep is None else self._weights(keep.repeat(2))

    def _weights(self, keep: Tensor | None) -> Tensor:
        return shares(self.edges.columns(torch.device("cpu"))[2], keep)


@dataclass(frozen=True)
class Mean:
    """Means over the edges that somebody receives."""

    edges: EdgeIndex
    weights: Tensor  # (edges,) one over the number of the receiver's edges, 0 if it is hidden

    def __call__(self, x: Tensor, z: Tensor, *, phi: str, rows: int) -> Tensor:  # (rows, dim)
        """Of phi(row of who sends, row of the relation)."""
        edges, weights = self.edges, self.weights
        return compose_aggregate(x, z, edges=edges, weights=weights, composition=phi, rows=rows)

    def of_relations(self, z: Tensor, rows: int) -> Tensor:  # (rows, dim)
        """Of the relation's row alone."""
        return self(z.new_zeros(self.edges.num_nodes, z.shape[1]), -z, phi="sub", rows=rows)

    @cached_property
    def has_edges(self) -> Tensor:  # (receivers, 1)
        """1 for who receives anything, else 0."""
        target = self.edges.columns(torch.device("cpu"))[2]
        totals = torch.bincount(target, self.weights, minlength=self.edges.num_targets)
        return (totals > 0)[:, None]


def _product(count: Tensor, end: Tensor, other_count: Tensor, other: Tensor) -> Tensor:
    """The product of the inverse square roots of both ends' counts."""  # (edges,)
    one = _inverse(count, 0.5).index_select(0, end)
    return one * _inverse(other_count, 0.5).index_select(0, other)


def _inverse(count: Tensor, power: float) -> Tensor:
    return torch.where(count > 0, count.clamp(min=1.0) ** -power, 0.0)
