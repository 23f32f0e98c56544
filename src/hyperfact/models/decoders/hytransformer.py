"""Hy-Transformer: normalised, thinned tables and a masked Transformer, no graph (2021)."""

import math

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.attention import AttentionSettings, Stack, linear
from hyperfact.models.decoders.packing import Packing
from hyperfact.models.decoders.readout import ROLES, ReadOut, tokens_of, with_hole
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of


class HyTransformerSettings(AttentionSettings):
    """Options of `hytransformer`."""

    table_dropout: float = Field(
        default=0.3,
        ge=0.0,
        lt=1.0,
        description="on the table of entities, once in a step, for tokens and candidates alike",
    )
    bind: bool = Field(
        default=True,
        description="whether a value carries its attribute; published: no, so that nothing says "
        "which attribute a missing value belongs to",
    )


class HyTransformer(ReadOut):
    """phi(x) = (W y_hole + b) · E_e / sqrt(d), y = blocks([s, o, v_1, …, r, a_1, …]).

    E = dropout(LN(h)) over all entities at once: tokens and candidates of one step lack the same
    coordinates. A token is its row of E, or LN(h) of a relation, plus a vector of its role; the
    asked entity is replaced by a learned vector.

    As published but for: any slot can be asked, where reciprocal facts left only objects; a value
    carries its attribute, for then a missing value must say whose it is (`bind = false` goes
    without); the softmax of all decoders instead of a logistic loss; no dropout inside the
    two-layer network.
    """

    Settings = HyTransformerSettings
    settings: HyTransformerSettings
    card = Card(
        title="Hy-Transformer",
        year=2021,
        reference="Yu, Yang: Improving hyper-relational knowledge graph completion, "
        "arXiv 2104.08167",
        cost="O(L (m d² + m² d)), one matrix product for all candidates",
        qualifiers="two tokens for each pair; a value carries its attribute",
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Vectors of roles and blocks; there is no bias of entities."""
        dim, settings = self.dim, self.settings
        self.roles = nn.Parameter(torch.empty(ROLES, dim).normal_(0.0, 0.3, generator=generator))
        self.hole = nn.Parameter(torch.empty(dim).normal_(0.0, 0.3, generator=generator))
        self.entity_norm, self.relation_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.blocks = Stack(dim, settings, generator)
        self.output = linear(dim, dim, generator)
        self.entity_bias = None

    def table(self, entities: Tensor) -> Tensor:  # (…, dim)
        """Candidates are normalised as tokens are."""
        normalised: Tensor = self.entity_norm(entities)
        return normalised

    def ask(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor | None]:  # (batch, dim), (entities, dim)
        """What attention makes of the missing entity; the last block looks at no other token."""
        noise, there = None, facts.mask
        entities = self.entity_norm(z.vectors(facts, slots, there))
        if generator is not None and self.settings.table_dropout:
            ones = z.entities.new_ones(self.num_entities, z.entities.shape[1])
            noise = z.of_entities(dropout(ones, self.settings.table_dropout, generator))
            entities = entities * rows_of(noise, facts.entities[there])
        entities = with_hole(entities, facts.asked(slots)[there], self.hole)
        packing = Packing.of(there, facts.relation_mask)
        relations = self.relation_norm(rows_of(z.relations, facts.relations[facts.relation_mask]))
        bind = self.settings.bind
        x = packing.join(*tokens_of(entities, relations, self.roles, packing=packing, bind=bind))
        query: Tensor = self.output(self.blocks.asked(slots, x, packing, generator))
        return query / math.sqrt(self.dim), noise
