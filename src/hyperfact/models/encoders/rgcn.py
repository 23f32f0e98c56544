"""R-GCN: a matrix for each relation (ESWC 2018), made affordable by bases or blocks."""

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.errors import ConfigError
from hyperfact.graph.kg import KG
from hyperfact.kernels.basis import aggregate_mixed, aggregate_weighted
from hyperfact.kernels.blocks import block_aggregate
from hyperfact.kernels.edges import EdgeIndex
from hyperfact.models.encoders.encoder import Encoder, glorot, table
from hyperfact.models.encoders.graph_view import both_directions, shares
from hyperfact.models.encoders.layers import MediatorSettings, NodeInput, Update
from hyperfact.models.encoders.merging import Merged
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.model_card import Card
from hyperfact.models.neighbourhood import Hop
from hyperfact.models.representations import Representations


class RGCNSettings(MediatorSettings):
    """Options of `rgcn`."""

    decomposition: Literal["basis", "block", "full"] = Field(
        default="basis", description="W_r: a mix of bases, block-diagonal, or free"
    )
    parts: int = Field(
        default=5, ge=1, description="number of bases, or of blocks; of no use to full matrices"
    )
    normaliser: Literal["relation", "global"] = Field(
        default="relation", description="c: received edges of this relation, or of any"
    )

    def unused(self) -> Mapping[str, str]:
        """Full matrices have no parts."""
        mine = {"parts": "decomposition basis or block"} if self.decomposition == "full" else {}
        return {**super().unused(), **mine}


class RGCN(Encoder):
    """h_t' = act(sum_r sum_(u in N_t^r) (1 / c_tr) h_u W_r + h_t W_0), r also inverse.

    Basis: W_r = sum_b a_rb V_b. Block: W_r = blockdiag(Q_r1, …). Relations of the decoder are a
    free table, for R-GCN does not update them. Only relations that have edges own a matrix.
    """

    Settings = RGCNSettings
    settings: RGCNSettings
    samples = True
    card = Card(
        title="R-GCN",
        year=2018,
        reference="Schlichtkrull, Kipf, Bloem, van den Berg, Titov, Welling: Modeling relational "
        "data with graph convolutional networks, ESWC 2018",
        cost="O(B E d + B V d²) with B bases",
        qualifiers="edges from mediators to values, with a matrix for each attribute",
        is_expressive=True,
    )

    def prepare(self, graph: KG, generator: torch.Generator) -> None:
        """h^0 of nodes, the decoder's relations, and the layers."""
        dim, settings = self.dim, self.settings
        if settings.decomposition == "block" and dim % settings.parts:
            raise ConfigError(f"encoder.parts = {settings.parts} blocks do not divide d = {dim}")
        self.nodes = NodeInput(graph, dim=dim, settings=settings, generator=generator)
        self.relations = table(self.num_relations, dim, settings.initial_scale, generator)
        self.edges = both_directions(_occurring(graph))
        self.normaliser = settings.normaliser
        self._weights = self._count(None)
        self.layers = nn.ModuleList(
            RGCNLayer(self.edges.num_relations, dim, settings, generator)
            for _ in range(settings.layers)
        )

    @cached_property
    def merged(self) -> Merged | None:
        """What entities hear where mediators of a relation have one vector."""
        kinds = self.nodes.kinds if len(self.layers) == 1 else None
        return None if kinds is None else Merged.of(self.edges, kinds, rows=self.num_entities)

    def encode(self, step: GraphPass) -> Representations:
        """Representations after the last layer, the only one that may leave coordinates out."""
        merged = None if step.near is not None else self.merged
        h = self.nodes.of(step.near, merged=merged is not None)  # (nodes, dim)
        inner = GraphPass(step.keep, step.generator)
        passes = [inner] * (len(self.layers) - 1) + [step]
        for layer, hop, here in zip(self.layers, self._hops(step, len(h)), passes, strict=True):
            h = layer(h, edges=hop.edges, weights=hop.weights, rows=hop.rows, step=here)
        return Representations(h, step.columns(self.relations))

    def _hops(self, step: GraphPass, nodes: int) -> list[Hop]:
        """What each layer reads."""
        weights = self._weights if step.keep is None else self._count(step.keep.repeat(2))
        if step.near is not None:
            return step.near.hops(weights)
        if self.merged is not None:
            return [Hop(self.merged.edges, self.merged.weights(weights), self.num_entities)]
        rows = [nodes] * (len(self.layers) - 1) + [self.num_entities]
        return [Hop(self.edges, weights, count) for count in rows]

    def heard(self) -> EdgeIndex:
        """Direct edges, then inverse ones."""
        return self.edges

    def _count(self, keep: Tensor | None) -> Tensor:  # (2 * edges,)
        """1 / c of each edge, 0 where it is not kept."""
        _, relation, target = self.edges.columns(torch.device("cpu"))
        group = target
        if self.normaliser == "relation":
            group = torch.unique(target * self.edges.num_relations + relation, return_inverse=True)[
                1
            ]
        return shares(group, keep)


class RGCNLayer(nn.Module):
    """One layer; all matrices act from the right."""

    def __init__(
        self, relations: int, dim: int, settings: RGCNSettings, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.dropout = settings.dropout
        self.w_self = glorot(dim, dim, generator=generator)
        basis = settings.decomposition == "basis"
        blocks = 1 if settings.decomposition == "full" else settings.parts
        self.coefficients = table(relations, settings.parts, 1.0, generator) if basis else None
        shape = (
            (settings.parts * dim, dim)
            if basis
            else (relations, blocks, dim // blocks, dim // blocks)
        )
        self.matrices = glorot(*shape, generator=generator)
        self.update = Update(dim, settings)

    def forward(
        self,
        h: Tensor,  # (nodes, dim)
        *,
        edges: EdgeIndex,
        weights: Tensor,
        rows: int,
        step: GraphPass,
    ) -> Tensor:  # (rows, kept)
        """New vectors of the first `rows` nodes."""
        if self.coefficients is not None:
            bases, hop = step.columns(self.matrices), Hop(edges, weights, rows)
            messages = _by_bases(h, self.coefficients, bases, hop)
        else:
            every = block_aggregate(h, self.matrices, edges=edges, weights=weights, rows=rows)
            messages = step.columns(every)
        messages = step.dropout(messages, self.dropout) + h[:rows] @ step.columns(self.w_self)
        updated: Tensor = self.update(messages, h[:rows], step)
        return updated


def _by_bases(
    h: Tensor,  # (nodes, dim)
    coefficients: Tensor,  # (relations, bases)
    bases: Tensor,  # (bases * dim, kept)
    hop: Hop,
) -> Tensor:  # (rows, kept)
    """What nodes hear: the vectors of senders are multiplied, or the sums of receivers."""
    edges, weights, rows = hop.edges, hop.weights, hop.rows
    dim, kept = h.shape[1], bases.shape[1]
    if len(h) * kept > rows * dim:
        sums = aggregate_weighted(
            h, coefficients, edges=edges, weights=weights, rows=rows
        )  # (rows, bases, dim)
        return sums.flatten(1) @ bases
    side_by_side = bases.view(-1, dim, kept).transpose(0, 1).flatten(1)
    sent = (h @ side_by_side).to(h.dtype).view(len(h), -1, kept)  # (nodes, bases, kept)
    return aggregate_mixed(sent, coefficients, edges=edges, weights=weights, rows=rows)


def _occurring(graph: KG) -> EdgeIndex:
    """The edges, over the types that occur."""
    kinds, relation = np.unique(graph.edge_type, return_inverse=True)
    nodes = graph.num_nodes
    return EdgeIndex.build(
        graph.source, relation, graph.target, num_nodes=nodes, num_relations=len(kinds)
    )
