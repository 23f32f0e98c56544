"""The encoder's view of a graph: both directions of every edge, and what each message weighs."""

from typing import Literal

import torch
from torch import Tensor

from hyperfact.graph.kg import KG
from hyperfact.kernels.edges import EdgeIndex

Normaliser = Literal["symmetric", "mean", "published"]


class GraphView:
    """Edges (u, r, t) on which t hears u (direct) and u hears t (inverse), with weights w_e.

    `symmetric`: d_in(t)^-1/2 d_out(u)^-1/2, receivers and senders counted apart. `mean`: one over
    the edges that the receiver has in this direction. `published`: CompGCN's code, which counts
    received edges only and uses them for both ends; a mediator, which receives nothing in one
    direction, is silent in it.
    """

    def __init__(self, graph: KG, normaliser: Normaliser) -> None:
        self.edges = EdgeIndex.build(
            graph.source,
            graph.edge_type,
            graph.target,
            num_nodes=graph.num_nodes,
            num_relations=graph.num_edge_types,
        )
        self.normaliser = normaliser
        self._all = self._weights(None)

    def weights(self, keep: Tensor | None) -> tuple[Tensor, Tensor]:  # (edges,), (edges,)
        """Weights of direct and inverse messages; an edge not kept weighs 0 and counts nowhere."""
        return self._all if keep is None else self._weights(keep)

    def _weights(self, keep: Tensor | None) -> tuple[Tensor, Tensor]:
        received, sent = (d.double() for d in self.edges.degrees(keep))  # (nodes,)
        source, _, target = self.edges.columns(torch.device("cpu"))
        if self.normaliser == "mean":
            direct = _inverse(received, 1.0).index_select(0, target)
            inverse = _inverse(sent, 1.0).index_select(0, source)
        elif self.normaliser == "published":
            direct = _product(received, target, received, source)
            inverse = _product(sent, source, sent, target)
        else:
            direct = inverse = _product(received, target, sent, source)
        if keep is not None:
            direct, inverse = direct * keep, inverse * keep
        return direct, inverse


def _product(count: Tensor, end: Tensor, other_count: Tensor, other: Tensor) -> Tensor:
    """The product of the inverse square roots of both ends' counts."""  # (edges,)
    one = _inverse(count, 0.5).index_select(0, end)
    return one * _inverse(other_count, 0.5).index_select(0, other)


def _inverse(count: Tensor, power: float) -> Tensor:
    return torch.where(count > 0, count.clamp(min=1.0) ** -power, 0.0)
