"""StarE: CompGCN over primary triples, relations blended with qualifiers (EMNLP 2020)."""

from collections.abc import Iterable
from typing import cast

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import owners_of
from hyperfact.kernels.compose import compose_aggregate
from hyperfact.kernels.edges import EdgeIndex
from hyperfact.models.encoders.compgcn import CompGCNLayer, CompositionSettings, check_even
from hyperfact.models.encoders.encoder import Encoder, glorot, table
from hyperfact.models.encoders.graph_view import GraphView
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.model_card import Card
from hyperfact.models.representations import Representations, rows_of
from hyperfact.models.shard import whole


class StarESettings(CompositionSettings):
    """Options of `stare`."""

    relation_share: float = Field(
        default=0.8,
        ge=0.0,
        le=1.0,
        description="share of the relation in what an edge carries; the rest are its qualifiers",
    )


class StarE(Encoder):
    """Each fact is an edge from subject to object, with a relation of its own.

    q_e = (sum over its qualifiers of phi(h_v, h_a)) W_q, 0 if there are none, and r_e = gamma h_r +
    (1 - gamma) q_e for both directions; what follows is CompGCN's layer with r_e in place of h_r.
    Values receive nothing from their facts. Published are other ways to blend too; this is the one
    that was used. Its normaliser silences nodes (see `normaliser`), so that it is not the default,
    and the residual form is that of all encoders here. Only facts with qualifiers have a row of
    their own, and W_q and W_dir multiply sums, never edges.
    """

    Settings = StarESettings
    settings: StarESettings
    reads = "facts"
    card = Card(
        title="StarE",
        year=2020,
        reference="Galkin, Trivedi, Maheshwari, Usbeck, Lehmann: Message passing for "
        "hyper-relational knowledge graphs, EMNLP 2020",
        cost="O((F + Q) d + V d²) with Q qualifiers on F facts",
        qualifiers="blended into the relation of their fact's edge; values receive no message",
        is_expressive=True,
    )

    divided = ("entities",)
    computes_own = True

    def prepare(self, graph: HKG, generator: torch.Generator) -> None:
        """h^0 of entities and relations, and the layers."""
        dim, settings = self.dim, self.settings
        check_even(settings.composition, dim)
        self.facts = QualifiedEdges(graph)
        self.view = GraphView(self.facts.edges, settings.normaliser)
        self.entities = table(self.num_entities, dim, settings.initial_scale, generator)
        self.relations = table(2 * self.num_relations, dim, settings.initial_scale, generator)
        self.layers = nn.ModuleList(
            StarELayer(dim, settings, generator) for _ in range(settings.layers)
        )

    def encode(self, step: GraphPass) -> Representations:
        """Representations after the last layer, the only one that may leave coordinates out."""
        h = whole(self.shard, self.entities, self.num_entities)
        z: Tensor = self.relations  # (2 * relations, dim)
        weights = self.view.weights(step.keep)
        everybody = self.view.receivers(slice(0, self.num_entities))
        wanted = self.view.receivers(step.rows(self.num_entities))
        inner = GraphPass(step.keep, step.generator)
        *earlier, last = cast("Iterable[StarELayer]", self.layers)
        for layer in earlier:
            blend = layer.blend(h, z, self.facts)
            h = layer(h, blend, receivers=everybody, weights=weights, step=inner)
            z = layer.relate(z, inner)
        blend = last.blend(h, z, self.facts)
        h = last(h, blend, receivers=wanted, weights=wanted.weights(weights), step=step)
        return Representations(h, last.relate(z[: self.num_relations], step))


class QualifiedEdges:
    """Facts as edges; those with qualifiers have relations of their own, after the common ones."""

    def __init__(self, graph: HKG) -> None:
        c, relations, entities = graph.columns, len(graph.relations), len(graph.entities)
        qualified = np.flatnonzero(graph.num_qualifiers)
        place = np.zeros(len(graph), dtype=np.int64)
        place[qualified] = np.arange(len(qualified))
        relation = c.relation.astype(np.int64)
        self.primary = torch.from_numpy(relation[qualified])  # (qualified facts,)
        relation[qualified] = relations + place[qualified]
        self.edges = EdgeIndex.build(
            c.subject,
            relation,
            c.object,
            num_nodes=entities,
            num_relations=relations + len(qualified),
        )
        self.qualifiers = EdgeIndex.build(  # from a value to its fact
            c.values,
            c.attributes,
            place[owners_of(c.offsets)],
            num_nodes=entities,
            num_relations=relations,
            num_targets=len(qualified),
        )


class StarELayer(CompGCNLayer):
    """One layer; all matrices act from the right."""

    def __init__(self, dim: int, settings: StarESettings, generator: torch.Generator) -> None:
        super().__init__(dim, settings, generator)
        self.share = settings.relation_share
        self.w_qualifier = glorot(dim, dim, generator=generator)

    def blend(
        self,
        h: Tensor,  # (entities, dim)
        z: Tensor,  # (2 * relations, dim)
        facts: QualifiedEdges,
    ) -> Tensor:  # (2 * (relations + qualified facts), dim)
        """The relations of the edges: of bare facts by relation, then of qualified ones by fact."""
        direct, inverse = z.chunk(2)
        sums = compose_aggregate(
            h,
            direct,
            edges=facts.qualifiers,
            weights=h.new_ones(len(facts.qualifiers)),
            composition=self.composition,
        )
        added = ((1 - self.share) * (sums @ self.w_qualifier)).to(z.dtype)
        primary = facts.primary.to(z.device)
        parts = []
        for half in (self.share * direct, self.share * inverse):
            parts += [half, rows_of(half, primary) + added]
        return torch.cat(parts)
