"""Transformer: attention over the tokens of a fact, read out at the missing one."""

import math

import torch
from torch import Tensor, nn

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.attention import AttentionSettings, Block, linear
from hyperfact.models.decoders.decoder import ALL, Decoder, LinearForm
from hyperfact.models.decoders.readout import ROLES, tokens_of, with_hole
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of


class TransformerSettings(AttentionSettings):
    """Options of `transformer`."""


class Transformer(Decoder):
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
        self.blocks = nn.ModuleList(Block(dim, settings, generator) for _ in range(settings.layers))
        self.output = linear(dim, dim, generator)
        self.entity_bias = nn.Parameter(torch.zeros(self.num_entities))

    def score(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch,)
        """The read-out at the asked slot against the entity that stands there."""
        answers = facts.answers(slots)
        table = self.entity_norm(rows_of(z.entities, answers))
        bias = rows_of(z.of_entities(self.entity_bias)[:, None], answers)[:, 0]
        products: Tensor = self._query(facts, slots, z, generator) * table
        return products.sum(dim=1) + bias

    def linear_form(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> LinearForm:
        """One pass over the tokens, against the normalised table."""
        table = self.entity_norm(z.entities[candidates])
        query = self._query(facts, slots, z, generator)
        return LinearForm(query, table, bias=z.of_entities(self.entity_bias)[candidates])

    def _query(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (batch, dim)
        x = dropout(self._tokens(facts, slots, z), self.settings.dropout, generator)
        absent = ~torch.cat([facts.mask, facts.relation_mask], dim=1)  # (batch, tokens)
        for block in self.blocks:
            x = block(x, absent, generator)
        index = slots[:, None, None].expand(-1, 1, self.dim)
        query: Tensor = self.output(x.gather(1, index)[:, 0]) / math.sqrt(self.dim)
        return query

    def _tokens(self, facts: FactBatch, slots: Tensor, z: Representations) -> Tensor:
        """Entities of all slots, then the primary relation and the attributes."""
        entities = with_hole(self.entity_norm(z.vectors(facts, slots)), slots, self.hole)
        relations = self.relation_norm(rows_of(z.relations, facts.relations))
        return tokens_of(entities, relations, self.roles)
