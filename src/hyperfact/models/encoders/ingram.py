"""InGram: relations attend to relations that share nodes, nodes to their edges (ICML 2023)."""

from typing import NamedTuple

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.errors import ConfigError
from hyperfact.graph.kg import KG
from hyperfact.kernels.attention_tables import AttentionTables
from hyperfact.kernels.edge_attention import attend
from hyperfact.kernels.edges import EdgeIndex
from hyperfact.models.encoders.encoder import Encoder, glorot, table
from hyperfact.models.encoders.graph_view import Mean, MeanView, edges_of
from hyperfact.models.encoders.layers import (
    MediatorSettings,
    NodeInput,
    RelationGate,
    Update,
    activate,
)
from hyperfact.models.encoders.relation_graph import relation_graph
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.model_card import Card
from hyperfact.models.representations import Representations


class InGramSettings(MediatorSettings):
    """Options of `ingram`."""

    relation_layers: int = Field(
        default=1, ge=1, le=4, description="number of layers over the relation graph"
    )
    heads: int = Field(default=8, ge=1, description="of attention; they divide training.dim")
    bins: int = Field(default=10, ge=1, description="of weights in the relation graph")
    strangers: float = Field(
        default=0.0, ge=0.0, lt=1.0, description="share of relations that training takes for new"
    )


class InGram(Encoder):
    """First relations hear relations, then nodes hear their edges, both by attention.

    h_i' = act(sum over j of beta_ij h_j V + h_i W_0) for relations i, j that share nodes, where
    beta is the softmax over j of p . LeakyReLU(h_i W_1 + h_j W_2) + c, and c belongs to the bin of
    the weight of (i, j). For nodes beta comes from h_t W_1 + h_u W_2 + h_r W_3, the value is
    h_u V_1 + h_r V_2, and each node hears itself over the mean of its relations. Inverse edges are
    edges with relations of their own.

    Published is a model for new entities and relations: random features, drawn anew for each epoch,
    which linear maps widen before and narrow after. Here names are known, so that features are
    learned, d wide throughout; the residual form is that of all encoders here.

    A relation that joins later begins as the mean of all, and is told from others by those that it
    shares nodes with. `strangers` prepares for it: in each step some relations begin that way.
    """

    Settings = InGramSettings
    settings: InGramSettings
    card = Card(
        title="InGram",
        year=2023,
        reference="Lee, Chung, Whang: InGram: inductive knowledge graph embedding via relation "
        "graphs, ICML 2023",
        cost="O(E d + V d² + P d) with P pairs of relations that share a node",
        qualifiers="edges from mediators to values; attributes are nodes of the relation graph",
        is_expressive=True,
    )

    @staticmethod
    def takes_new_relations(settings: InGramSettings) -> bool:
        """Where training has prepared for it."""
        return settings.strangers > 0

    def prepare(self, graph: KG, generator: torch.Generator) -> None:
        """h^0 of nodes and edge types, and the layers."""
        dim, settings = self.dim, self.settings
        if dim % settings.heads:
            raise ConfigError(f"encoder.heads = {settings.heads} do not divide d = {dim}")
        self.view = AttendedEdges(edges_of(graph), settings.bins)
        self.nodes = NodeInput(graph, dim=dim, settings=settings, generator=generator)
        types = 2 * graph.num_edge_types  # direct, then inverse
        self.relations = table(types, dim, settings.initial_scale, generator)
        self.relation_layers = nn.ModuleList(
            RelationAttention(dim, settings, generator) for _ in range(settings.relation_layers)
        )
        self.layers = nn.ModuleList(
            NodeAttention(dim, settings, generator) for _ in range(settings.layers)
        )

    def encode(self, step: GraphPass) -> Representations:
        """Representations after the last layers."""
        seen = self.view.seen(step.keep)
        inner = GraphPass(step.keep, step.generator)
        z = self._first_relations(step)  # (types, dim)
        for layer in self.relation_layers:
            z = layer(z, seen.relations, inner)
        h: Tensor = self.nodes()  # (nodes, dim)
        for number, layer in enumerate(self.layers, start=1):
            is_last = number == len(self.layers)
            rows = self.num_entities if is_last else len(h)
            h = layer(h, z, seen=seen, rows=rows, step=step if is_last else inner)
        return Representations(h, step.columns(z[: self.num_relations]))

    def _first_relations(self, step: GraphPass) -> Tensor:  # (types, dim)
        """Before any layer; of some the mean, while they are taken for new ones."""
        rows: Tensor = self.relations
        if not (self.training and self.settings.strangers):
            return rows
        drawn = torch.rand(self.num_relations, generator=step.generator) < self.settings.strangers
        new = drawn.to(rows.device).repeat(len(rows) // self.num_relations)
        return torch.where(new[:, None], rows.mean(dim=0), rows)


class Seen(NamedTuple):
    """What one pass attends to."""

    edges: EdgeIndex  # both directions, then each node's edge to itself
    keep: Tensor  # (edges,) bool
    mean: Mean  # over the edges that a node receives
    relations: EdgeIndex  # the relation graph


class AttendedEdges:
    """Both directions of a graph, its loops, and its relation graph."""

    def __init__(self, edges: EdgeIndex, bins: int) -> None:
        self.view, self.bins = MeanView(edges), bins
        both, node = self.view.edges, np.arange(edges.num_nodes)
        self.edges = EdgeIndex.build(
            np.concatenate([both.source, node]),
            np.concatenate([both.relation, both.num_relations + node]),
            np.concatenate([both.target, node]),
            num_nodes=both.num_nodes,
            num_relations=both.num_relations + len(node),
        )
        self._all = self._seen(None)

    def seen(self, keep: Tensor | None) -> Seen:
        """Without the edges that are not kept; the relation graph is then counted anew."""
        return self._all if keep is None else self._seen(keep)

    def _seen(self, keep: Tensor | None) -> Seen:
        both = self.view.edges
        twice = torch.ones(len(both)).bool() if keep is None else keep.repeat(2)
        loops = torch.ones(both.num_nodes).bool()
        mean = Mean(both, self.view.weights(keep))
        relations = relation_graph(both, twice.numpy(), self.bins)
        return Seen(self.edges, torch.cat([twice, loops]), mean, relations)


class RelationAttention(nn.Module):
    """One layer over the relation graph; all matrices act from the right."""

    def __init__(self, dim: int, settings: InGramSettings, generator: torch.Generator) -> None:
        super().__init__()
        self.activation, self.dropout = settings.activation, settings.dropout
        self.w_receiver, self.w_sender, self.w_value, self.w_self = (
            glorot(dim, dim, generator=generator) for _ in range(4)
        )
        self.vector = glorot(1, dim, generator=generator)
        self.bias = nn.Parameter(torch.zeros(settings.bins, settings.heads))
        self.gate = RelationGate(dim, settings)

    def forward(self, z: Tensor, graph: EdgeIndex, step: GraphPass) -> Tensor:  # (types, dim)
        """New vectors of all relations."""
        receiver, sender, values = (
            (z @ w).to(z.dtype) for w in (self.w_receiver, self.w_sender, self.w_value)
        )
        none = z.new_zeros(graph.num_relations, z.shape[1])  # bins have no vectors
        tables = AttentionTables(receiver, sender, none, values, none, self.vector, self.bias)
        heard = attend(tables, edges=graph, keep=torch.ones(len(graph)).bool())
        messages = step.dropout(heard, self.dropout) + z @ self.w_self
        updated: Tensor = self.gate(activate(messages, self.activation), z, step)
        return updated


class NodeAttention(nn.Module):
    """One layer over the edges; all matrices act from the right."""

    def __init__(self, dim: int, settings: InGramSettings, generator: torch.Generator) -> None:
        super().__init__()
        self.heads, self.dropout = settings.heads, settings.dropout
        self.w_receiver, self.w_sender, self.w_relation = (
            glorot(dim, dim, generator=generator) for _ in range(3)
        )
        self.w_value, self.w_relation_value, self.w_self = (
            glorot(dim, dim, generator=generator) for _ in range(3)
        )
        self.vector = glorot(1, dim, generator=generator)
        self.update = Update(dim, settings)

    def forward(
        self,
        h: Tensor,  # (nodes, dim)
        z: Tensor,  # (types, dim)
        *,
        seen: Seen,
        rows: int,
        step: GraphPass,
    ) -> Tensor:  # (rows, kept)
        """New vectors of the first `rows` nodes."""
        own = seen.mean.of_relations(z, len(h))  # (nodes, dim) the relation of each loop
        z = torch.cat([z, own])
        receiver, sender, values = (
            (h @ w).to(h.dtype) for w in (self.w_receiver, self.w_sender, self.w_value)
        )
        relation, added = ((z @ w).to(h.dtype) for w in (self.w_relation, self.w_relation_value))
        bias = h.new_zeros(len(z), self.heads)  # the relations themselves speak
        tables = AttentionTables(receiver, sender, relation, values, added, self.vector, bias)
        heard = attend(tables, edges=seen.edges, keep=seen.keep, rows=rows)
        messages = step.columns(step.dropout(heard, self.dropout))
        messages = messages + h[:rows] @ step.columns(self.w_self)
        updated: Tensor = self.update(messages, h[:rows], step)
        return updated
