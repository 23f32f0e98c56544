"""Transformer: attention over the tokens of a fact, read out at the missing one."""

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


class TransformerSettings(AttentionSettings):
    """Options of `transformer`."""

    thins_attention = False
    dropout: float = Field(default=0.1, ge=0.0, lt=1.0, description="on tokens and on each block")


class Transformer(ReadOut):
    """phi(x) = (W y_hole) · LN(h_e) / sqrt(d) + b_e, y = blocks([s, o, v_1, …, r, a_1, …]).

    A token is LN(h) plus a vector of its role; a value also carries its attribute, which binds the
    pair. The asked entity is replaced by a learned vector. Nothing depends on the order of
    qualifiers, and there is no largest number of them.
    """

    Settings = TransformerSettings
    settings: TransformerSettings
    card = Card(
        title="Transformer",
        year=2024,
        reference="the decoder Transformer of the TransEQ paper, which leaves its details open; "
        "after StarE, EMNLP 2020",
        cost="O(L (m d² + m² d)), one matrix product for all candidates",
        qualifiers="two tokens for each pair; a value carries its attribute",
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Vectors of roles, blocks, and a bias for each entity."""
        dim, settings = self.dim, self.settings
        self.roles = nn.Parameter(torch.empty(ROLES, dim).normal_(0.0, 0.3, generator=generator))
        self.hole = nn.Parameter(torch.empty(dim).normal_(0.0, 0.3, generator=generator))
        self.entity_norm, self.relation_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.blocks = Stack(dim, settings, generator)
        self.output = linear(dim, dim, generator)
        self.entity_bias = nn.Parameter(torch.zeros(self.num_entities))

    def table(self, entities: Tensor) -> Tensor:  # (…, dim)
        """Candidates are normalised as tokens are."""
        normalised: Tensor = self.entity_norm(entities)
        return normalised

    def ask(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> tuple[Tensor, None]:  # (batch, dim)
        """What attention makes of the missing entity; the last block looks at no other token."""
        there, others = facts.mask, facts.relation_mask
        packing = Packing.of(there, others)
        entities = self.entity_norm(z.vectors(facts, slots, there))
        entities = with_hole(entities, facts.asked(slots)[there], self.hole)
        relations = self.relation_norm(rows_of(z.relations, facts.relations[others]))
        x = packing.join(*tokens_of(entities, relations, self.roles, packing=packing))
        x = dropout(x, self.settings.dropout, generator)
        query: Tensor = self.output(self.blocks.asked(slots, x, packing, generator))
        return query / math.sqrt(self.dim), None
