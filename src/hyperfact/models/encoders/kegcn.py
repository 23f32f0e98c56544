"""KE-GCN: messages are gradients of a score of the edge (WWW 2021), in closed form."""

from collections.abc import Iterable
from typing import Literal, NamedTuple, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from hyperfact.graph.kg import KG
from hyperfact.kernels.edges import EdgeIndex
from hyperfact.models.encoders.compgcn import check_even
from hyperfact.models.encoders.encoder import Encoder, glorot, table
from hyperfact.models.encoders.graph_view import Mean, MeanView, edges_of, shares
from hyperfact.models.encoders.layers import (
    MediatorSettings,
    NodeInput,
    RelationGate,
    Update,
    activate,
)
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.model_card import Card
from hyperfact.models.representations import Representations

Score = Literal["transe", "distmult", "rotate"]
_COMPOSITIONS: dict[Score, str] = {"transe": "sub", "distmult": "mult", "rotate": "rotate"}


class KEGCNSettings(MediatorSettings):
    """Options of `kegcn`."""

    score: Score = Field(
        default="rotate", description="of an edge: transe h + r, distmult h * r, rotate (complex)"
    )
    entity_step: float = Field(
        default=0.3, ge=0.0, description="how far nodes go along the mean gradient of their edges"
    )
    relation_step: float = Field(
        default=0.3, ge=0.0, description="how far relations go along that of theirs"
    )


class KEGCN(Encoder):
    """h_x' = act((h_x + a m_x / deg x) W), h_r' = act(h_r + b m_r / cnt r).

    m_x and m_r sum the gradients of f = -|q(h_u, h_r) - h_t|^2 over the edges of x and of r, where
    q = h_u + h_r, h_u * h_r or the complex product. Every gradient is 2 (a composition of the other
    two - a multiple of x itself), so that means over edges are all that is computed: no edge has
    a vector, and backward passes do not differentiate twice. The publication calls the steps alpha
    and beta. Relations of `rotate` have modulus 1 inside a layer. Batch normalisation and the
    residual form (h_x + g * act(…), likewise for r) are those of all encoders here.
    """

    Settings = KEGCNSettings
    settings: KEGCNSettings
    card = Card(
        title="KE-GCN",
        year=2021,
        reference="Yu, Yang, Zhang, Wu: Knowledge embedding based graph convolutional network, "
        "WWW 2021",
        cost="O(E d + V d²)",
        qualifiers="edges from mediators to values, each with a score of its own",
        is_expressive=True,
    )

    def prepare(self, graph: KG, generator: torch.Generator) -> None:
        """h^0 of nodes and edge types, and the layers."""
        dim, settings = self.dim, self.settings
        check_even(_COMPOSITIONS[settings.score], dim)
        self.view = ScoredEdges(edges_of(graph))
        self.nodes = NodeInput(graph, dim=dim, settings=settings, generator=generator)
        self.relations = table(graph.num_edge_types, dim, settings.initial_scale, generator)
        self.layers = nn.ModuleList(
            KEGCNLayer(dim, settings, generator) for _ in range(settings.layers)
        )

    def encode(self, step: GraphPass) -> Representations:
        """Representations after the last layer, the only one that may leave coordinates out."""
        h: Tensor = self.nodes()  # (nodes, dim)
        z: Tensor = self.relations  # (types, dim)
        means = self.view.means(step.keep)
        inner = GraphPass(step.keep, step.generator)
        *earlier, last = cast("Iterable[KEGCNLayer]", self.layers)
        for layer in earlier:
            h, z = layer(h, z, means=means, sizes=(len(h), len(z)), step=inner)
        sizes = self.num_entities, self.num_relations
        return Representations(*last(h, z, means=means, sizes=sizes, step=step))


class ScoredEdges:
    """Edges as their nodes and as their relations hear them."""

    def __init__(self, edges: EdgeIndex) -> None:
        self.edges, self.nodes = edges, MeanView(edges)
        self.relations = EdgeIndex.build(  # a relation hears the target, composed with the source
            edges.target,
            edges.source,
            edges.relation,
            num_nodes=edges.num_nodes,
            num_relations=edges.num_nodes,
            num_targets=edges.num_relations,
        )
        self._all = self._means(None)

    def means(self, keep: Tensor | None) -> "Means":
        """Means over the edges that exist."""
        return self._all if keep is None else self._means(keep)

    def _means(self, keep: Tensor | None) -> "Means":
        relation = self.edges.columns(torch.device("cpu"))[1]
        of_nodes = Mean(self.nodes.edges, self.nodes.weights(keep))
        return Means(of_nodes, Mean(self.relations, shares(relation, keep)))


class Means(NamedTuple):
    """Of the edges of a node, and of those of a relation."""

    of_node: Mean
    of_relation: Mean


class KEGCNLayer(nn.Module):
    """One layer; W acts from the right."""

    def __init__(self, dim: int, settings: KEGCNSettings, generator: torch.Generator) -> None:
        super().__init__()
        self.score, self.activation = settings.score, settings.activation
        self.steps = 2.0 * settings.entity_step, 2.0 * settings.relation_step
        self.dropout = settings.dropout
        self.w_entity = glorot(dim, dim, generator=generator)
        self.update = Update(dim, settings)
        self.gate = RelationGate(dim, settings)

    def forward(
        self,
        h: Tensor,  # (nodes, dim)
        z: Tensor,  # (types, dim)
        *,
        means: Means,
        sizes: tuple[int, int],
        step: GraphPass,
    ) -> tuple[Tensor, Tensor]:  # (rows, kept), (types, kept)
        """New vectors of the first nodes and of the first edge types, as many as `sizes` say."""
        rows, types = sizes
        r = unit(z) if self.score == "rotate" else z
        pull = step.dropout(self._pull_of_nodes(h, r, means.of_node, rows), self.dropout)
        messages = (h[:rows] + self.steps[0] * pull) @ step.columns(self.w_entity)
        new = self.update(messages, h[:rows], step)
        moved = r[:types] + self.steps[1] * self._pull_of_relations(h, r, means.of_relation, types)
        return new, self.gate(activate(step.columns(moved), self.activation), z[:types], step)

    def _pull_of_nodes(self, h: Tensor, r: Tensor, mean: Mean, rows: int) -> Tensor:  # (rows, dim)
        """Half of the mean gradient: what its edges want a node to be, less the node itself."""
        direct = -r if self.score == "transe" else r  # `sub` subtracts
        inverse = conjugate(r) if self.score == "rotate" else r
        phi = _COMPOSITIONS[self.score]
        wanted = mean(h, torch.cat([direct, inverse]), phi=phi, rows=rows)
        if self.score == "distmult":  # as a target a node counts once, as a source r * r times
            own = mean.of_relations(torch.cat([torch.ones_like(r), r * r]), rows)
        else:
            own = mean.has_edges[:rows].to(h)
        return wanted - h[:rows] * own

    def _pull_of_relations(self, h: Tensor, r: Tensor, mean: Mean, rows: int) -> Tensor:
        """The same for relations."""  # (rows, dim)
        sources = conjugate(h) if self.score == "rotate" else h
        wanted = mean(h, sources, phi=_COMPOSITIONS[self.score], rows=rows)
        if self.score == "transe":
            return wanted - r[:rows] * mean.has_edges[:rows].to(h)
        squares = modulus2(h) if self.score == "rotate" else h * h
        return wanted - r[:rows] * mean.of_relations(squares, rows)


def conjugate(x: Tensor) -> Tensor:
    """Of complex numbers whose parts are the halves."""
    real, imaginary = x.chunk(2, dim=-1)
    return torch.cat([real, -imaginary], dim=-1)


def unit(x: Tensor) -> Tensor:
    """Complex numbers (parts are the halves) divided by their modulus."""
    parts = torch.stack(x.chunk(2, dim=-1))  # (2, rows, dim / 2)
    return torch.cat([*functional.normalize(parts, dim=0)], dim=-1)


def modulus2(x: Tensor) -> Tensor:
    """The squared modulus of complex numbers (parts are the halves), at both parts."""
    real, imaginary = x.chunk(2, dim=-1)
    return (real * real + imaginary * imaginary).repeat(1, 2)
