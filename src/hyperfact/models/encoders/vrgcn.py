"""VR-GCN: translations inside the convolution, relations are updated too (IJCAI 2019)."""

from collections.abc import Iterable
from typing import cast

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.graph.kg import KG
from hyperfact.kernels.compose import compose_aggregate
from hyperfact.kernels.edges import EdgeIndex
from hyperfact.models.encoders.encoder import Encoder, glorot, table
from hyperfact.models.encoders.graph_view import MeanView, edges_of
from hyperfact.models.encoders.layers import MediatorSettings, NodeInput, RelationGate, Update
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.model_card import Card
from hyperfact.models.neighbourhood import Hop
from hyperfact.models.representations import Representations


class VRGCNSettings(MediatorSettings):
    """Options of `vrgcn`."""

    self_loop: bool = Field(
        default=True, description="whether a node's own vector has a matrix W_0 in its messages"
    )


class VRGCN(Encoder):
    """h_t' = act(m_t W + h_t W_0), m_t the mean of what both ends of its edges should be.

    m_t = 1/c_t [sum over (u, r, t) of (h_u + h_r) + sum over (t, r, u) of (h_u - h_r)], c_t the
    number of edges at t; h_r' = h_r W_rel. The publication shares W between both roles; whether it
    has a W_0 is not told by what is public, so that `self_loop` decides. Batch normalisation and
    the residual form are those of all encoders here; without them it is the formula above.
    """

    Settings = VRGCNSettings
    settings: VRGCNSettings
    samples = True
    card = Card(
        title="VR-GCN",
        year=2019,
        reference="Ye, Li, Fang, Zang, Wang: A vectorized relational graph convolutional network "
        "for multi-relational network alignment, IJCAI 2019",
        cost="O(E d + V d²)",
        qualifiers="edges from mediators to values, each a translation by its attribute",
        is_expressive=True,
    )

    def prepare(self, graph: KG, generator: torch.Generator) -> None:
        """h^0 of nodes and edge types, and the layers."""
        dim, settings = self.dim, self.settings
        self.view = MeanView(edges_of(graph))
        self.nodes = NodeInput(graph, dim=dim, settings=settings, generator=generator)
        self.relations = table(graph.num_edge_types, dim, settings.initial_scale, generator)
        self.layers = nn.ModuleList(
            VRGCNLayer(dim, settings, generator) for _ in range(settings.layers)
        )

    def encode(self, step: GraphPass) -> Representations:
        """Representations after the last layer, the only one that may leave coordinates out."""
        h: Tensor = self.nodes.of(step.near)  # (nodes, dim)
        z: Tensor = self.relations  # (types, dim)
        inner = GraphPass(step.keep, step.generator)
        *earlier, last = cast("Iterable[VRGCNLayer]", self.layers)
        *hops, wanted = self._hops(step, len(h))
        for layer, hop in zip(earlier, hops, strict=True):
            h = layer(h, z, hop=hop, step=inner)
            z = layer.relate(z, inner)
        h = last(h, z, hop=wanted, step=step)
        return Representations(h, last.relate(z[: self.num_relations], step))

    def _hops(self, step: GraphPass, nodes: int) -> list[Hop]:
        """What each layer reads."""
        weights = self.view.weights(step.keep)
        if step.near is not None:
            return step.near.hops(weights)
        rows = [nodes] * (len(self.layers) - 1) + [self.num_entities]
        return [Hop(self.view.edges, weights, count) for count in rows]

    def heard(self) -> EdgeIndex:
        """Direct edges, then inverse ones."""
        return self.view.edges


class VRGCNLayer(nn.Module):
    """One layer; all matrices act from the right."""

    def __init__(self, dim: int, settings: VRGCNSettings, generator: torch.Generator) -> None:
        super().__init__()
        self.dropout = settings.dropout
        self.w_message, self.w_relation = (glorot(dim, dim, generator=generator) for _ in range(2))
        self.w_self = glorot(dim, dim, generator=generator) if settings.self_loop else None
        self.update = Update(dim, settings)
        self.gate = RelationGate(dim, settings)

    def forward(
        self,
        h: Tensor,  # (nodes, dim)
        z: Tensor,  # (types, dim)
        *,
        hop: Hop,
        step: GraphPass,
    ) -> Tensor:  # (rows, kept)
        """New vectors of the first nodes."""
        rows = hop.rows
        both = torch.cat([-z, z])  # x - (-r) along an edge, x - r against it
        means = compose_aggregate(
            h, both, edges=hop.edges, weights=hop.weights, composition="sub", rows=rows
        )
        messages = step.dropout(means @ step.columns(self.w_message), self.dropout)
        if self.w_self is not None:
            messages = messages + h[:rows] @ step.columns(self.w_self)
        updated: Tensor = self.update(messages, h[:rows], step)
        return updated

    def relate(self, z: Tensor, step: GraphPass) -> Tensor:  # (relations, kept)
        """UPD^rel: h_r W_rel, plus h_r when residual."""
        updated: Tensor = self.gate(z @ step.columns(self.w_relation), z, step)
        return updated
