"""CompGCN: messages compose a neighbour with a relation (ICLR 2020), the paper's encoder."""

from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from typing import cast

import torch
from pydantic import Field, field_validator
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from hyperfact.errors import ConfigError
from hyperfact.graph.kg import KG
from hyperfact.kernels.compose import compose_aggregate
from hyperfact.kernels.compositions import COMPOSITIONS
from hyperfact.kernels.edges import EdgeIndex
from hyperfact.models.encoders.encoder import Encoder, glorot, table
from hyperfact.models.encoders.graph_view import GraphView, Normaliser, Receivers, edges_of
from hyperfact.models.encoders.layers import LayerSettings, MediatorSettings, NodeInput, Update
from hyperfact.models.encoders.merging import Merged
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.model_card import Card
from hyperfact.models.representations import Representations

_TOGETHER = 100  # coordinates of all nodes that a shard holds at a time


class CompositionSettings(LayerSettings):
    """Options of layers that compose a neighbour with a relation."""

    composition: str = Field(
        default="rotate", description=f"phi(h_u, h_r): {', '.join(COMPOSITIONS)}"
    )
    normaliser: Normaliser = Field(
        default="symmetric", description="weight of a message: symmetric, mean or published"
    )

    @field_validator("composition")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in COMPOSITIONS:
            raise ValueError(f"expected one of {', '.join(COMPOSITIONS)}")
        return name


class CompGCNSettings(CompositionSettings, MediatorSettings):
    """Options of `compgcn`."""


class CompGCN(Encoder):
    """L layers over direct edges, inverse edges and a self-loop.

    MSG^ent = w_e phi(h_u, h_r) W_dir, AGG^ent = sum over edges, then a third of each direction;
    MSG^rel and AGG^rel are empty and UPD^rel is h_r W_rel (plus h_r when residual). The sum is
    taken before the product with W_dir, once for each node; the last layer computes no mediator.
    """

    Settings = CompGCNSettings
    settings: CompGCNSettings
    computes_own = samples = True
    card = Card(
        title="CompGCN",
        year=2020,
        reference="Vashishth, Sanyal, Nitin, Talukdar: Composition-based multi-relational graph "
        "convolutional networks, ICLR 2020",
        cost="O(E d + V d²)",
        qualifiers="edges from mediators to values, each composed with its attribute",
        is_expressive=True,
    )

    def prepare(self, graph: KG, generator: torch.Generator) -> None:
        """h^0 of nodes and edge types, and the layers."""
        dim, settings = self.dim, self.settings
        check_even(settings.composition, dim)
        self.view = GraphView(edges_of(graph), settings.normaliser)
        self.nodes = NodeInput(graph, dim=dim, settings=settings, generator=generator)
        types = 2 * graph.num_edge_types  # direct, then inverse
        self.relations = table(types, dim, settings.initial_scale, generator)
        self.layers = nn.ModuleList(
            CompGCNLayer(dim, settings, generator) for _ in range(settings.layers)
        )

    @cached_property
    def merged(self) -> tuple[Merged, Merged] | None:
        """What entities hear in either direction where mediators of a relation have one vector."""
        kinds, edges = self.nodes.kinds, self.view.edges
        if kinds is None or len(self.layers) > 1:
            return None
        rows = self.num_entities
        return Merged.of(edges, kinds, rows=rows), Merged.of(edges.reversed, kinds, rows=rows)

    def encode(self, step: GraphPass) -> Representations:
        """Representations after the last layer, the only one that may leave coordinates out."""
        z: Tensor = self.relations  # (2 * types, dim)
        if step.shard is not None and len(self.layers) == 1:
            return self._encode_own(z, step)
        merged = None if step.near is not None else self.merged
        h = self.nodes.of(step.near, merged=merged is not None)  # (nodes, dim)
        inner = GraphPass(step.keep, step.generator)
        *earlier, last = cast("Iterable[CompGCNLayer]", self.layers)
        *hops, (wanted, weights) = self._hops(step, len(h))
        for layer, (receivers, inner_weights) in zip(earlier, hops, strict=True):
            h = layer(h, z, receivers=receivers, weights=inner_weights, step=inner)
            z = layer.relate(z, inner)
        h = last(h, z, receivers=wanted, weights=weights, step=step)
        return Representations(h, last.relate(z[: self.num_relations], step))

    @staticmethod
    def held(settings: CompGCNSettings, dim: int) -> float:
        """One layer holds a block of coordinates at a time, and slopes from either direction."""
        return 4.0 * min(1.0, _TOGETHER / dim) if settings.layers == 1 else 3.0

    def _encode_own(self, z: Tensor, step: GraphPass) -> Representations:
        """The rows of a shard by one layer, which hears the others by some coordinates at a time.

        Neither their vectors nor the slopes of those are ever here whole: a block is gathered for
        the sums over edges, forgotten, and gathered again where slopes are wanted.
        """
        layer = cast("CompGCNLayer", self.layers[0])
        ((receivers, weights),) = self._hops(step, self.view.edges.num_nodes)

        def hear(block: Tensor) -> tuple[Tensor, ...]:
            h = self.nodes.columns(block)
            some = z.index_select(1, block)
            return tuple(layer.heard(h, some, receivers=receivers, weights=weights))

        blocks = COMPOSITIONS[layer.composition].blocks(self.dim, _TOGETHER)
        forget = partial(checkpoint, use_reentrant=False, preserve_rng_state=False)
        sides = zip(*(forget(hear, block.to(z.device)) for block in blocks), strict=True)
        order = torch.argsort(torch.cat(blocks)).to(z.device)
        heard = (torch.cat(side, dim=1).index_select(1, order) for side in sides)
        h = layer.combine(self.nodes.entities, heard, step, first=receivers.rows.start)
        return Representations(h, layer.relate(z[: self.num_relations], step))

    def _hops(self, step: GraphPass, nodes: int) -> list[tuple[Receivers, tuple[Tensor, Tensor]]]:
        """Who is computed by each layer, and the weights of the edges that they hear."""
        weights = self.view.weights(step.keep)
        if step.near is not None:
            return [Receivers.near(hop) for hop in step.near.hops(torch.cat(weights))]
        if self.merged is not None and step.shard is None:
            direct, inverse = self.merged
            receivers = Receivers(slice(0, self.num_entities), (direct.edges, inverse.edges))
            return [(receivers, (direct.weights(weights[0]), inverse.weights(weights[1])))]
        everybody = self.view.receivers(slice(0, nodes))
        wanted = self.view.receivers(step.rows(self.num_entities))
        inner = [(everybody, weights)] * (len(self.layers) - 1)
        return [*inner, (wanted, wanted.weights(weights))]

    def heard(self) -> EdgeIndex:
        """Direct edges, then inverse ones."""
        return self.view.both


def check_even(composition: str, dim: int) -> None:
    """Refuse an odd dimension where coordinates are paired.

    Raises:
        ConfigError: With the setting to change.
    """
    if COMPOSITIONS[composition].needs_even and dim % 2:
        raise ConfigError(f"{composition} pairs coordinates: training.dim must be even, got {dim}")


class CompGCNLayer(nn.Module):
    """One layer; all matrices act from the right."""

    def __init__(self, dim: int, settings: CompositionSettings, generator: torch.Generator) -> None:
        super().__init__()
        self.composition, self.dropout = settings.composition, settings.dropout
        self.loop = table(1, dim, settings.initial_scale, generator)
        self.w_direct, self.w_inverse, self.w_loop, self.w_relation = (
            glorot(dim, dim, generator=generator) for _ in range(4)
        )
        self.update = Update(dim, settings)
        gate = settings.gate if settings.residual else 0.0
        self.relation_gate = nn.Parameter(torch.full((dim,), gate)) if settings.residual else None

    def forward(
        self,
        h: Tensor,  # (nodes, dim)
        z: Tensor,  # (2 * types, dim)
        *,
        receivers: Receivers,
        weights: tuple[Tensor, Tensor],
        step: GraphPass,
    ) -> Tensor:  # (rows, kept)
        """New vectors of the receivers."""
        heard = self.heard(h, z, receivers=receivers, weights=weights)
        return self.combine(h[receivers.rows], heard, step, first=receivers.rows.start)

    def heard(
        self,
        h: Tensor,  # (nodes, dim)
        z: Tensor,  # (2 * types, dim)
        *,
        receivers: Receivers,
        weights: tuple[Tensor, Tensor],
    ) -> Iterator[Tensor]:  # (rows, dim), (rows, dim)
        """What the receivers hear over direct edges, then over inverse ones."""
        for edges, relations, weight in zip(receivers.edges, z.chunk(2), weights, strict=True):
            yield compose_aggregate(
                h,
                relations,
                edges=edges,
                weights=weight,
                composition=self.composition,
                rows=receivers.count,
            )

    def combine(
        self,
        old: Tensor,  # (rows, dim)
        heard: Iterable[Tensor],  # (rows, dim), (rows, dim)
        step: GraphPass,
        *,
        first: int = 0,
    ) -> Tensor:  # (rows, kept)
        """New vectors of nodes from their old ones and what they hear in either direction."""
        phi = COMPOSITIONS[self.composition]
        w_loop, bias = phi.fold(self.loop[0], step.columns(self.w_loop))
        messages = old @ (w_loop / 3)
        if bias is not None:
            messages = messages + bias / 3
        for sums, matrix in zip(heard, (self.w_direct, self.w_inverse), strict=True):
            third = step.columns(matrix) / 3
            if step.generator is None or self.dropout == 0.0:
                messages = torch.addmm(messages, sums, third)
            else:
                messages = messages + step.dropout(sums @ third, self.dropout, first=first)
        updated: Tensor = self.update(messages, old, step, first=first)
        return updated

    def relate(self, z: Tensor, step: GraphPass) -> Tensor:  # (relations, kept)
        """UPD^rel: h_r W_rel, plus h_r when residual."""
        update = (z @ step.columns(self.w_relation)).to(z.dtype)
        if self.relation_gate is None:
            return update
        return step.columns(z) + step.columns(self.relation_gate) * update
