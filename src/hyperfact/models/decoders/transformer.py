"""Transformer: attention over the tokens of a fact, read out at the missing one."""

import math

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from hyperfact.config import Section
from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import ALL, Decoder, LinearForm
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of

_SUBJECT, _OBJECT, _VALUE, _RELATION, _ATTRIBUTE = range(5)


class TransformerSettings(Section):
    """Options of `transformer`."""

    layers: int = Field(default=2, ge=1, description="encoder blocks, normalised after each sum")
    heads: int = Field(default=4, ge=1, description="attention heads; must divide d")
    feedforward: int = Field(default=512, ge=1, description="width of the inner layer")
    dropout: float = Field(default=0.1, ge=0.0, lt=1.0, description="on tokens and on each block")


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
        if dim % settings.heads:
            raise ConfigError(f"decoder.heads = {settings.heads} must divide training.dim = {dim}")
        self.roles = nn.Parameter(torch.empty(5, dim).normal_(0.0, 0.3, generator=generator))
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
        bias = rows_of(self.entity_bias[:, None], answers)[:, 0]
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
        return LinearForm(query, table, bias=self.entity_bias[candidates])

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
        batch, slots_count = facts.entities.shape
        entities = self.entity_norm(z.vectors(facts, slots))
        asked = torch.arange(slots_count, device=slots.device) == slots[:, None]  # (batch, slots)
        entities = torch.where(asked[:, :, None], self.hole, entities)
        relations = self.relation_norm(rows_of(z.relations, facts.relations))
        values = slots_count - 2
        kinds = [_SUBJECT, _OBJECT, *[_VALUE] * values, _RELATION, *[_ATTRIBUTE] * values]
        roles = rows_of(self.roles, torch.tensor(kinds, device=slots.device))  # (tokens, dim)
        none = relations.new_zeros(batch, 2, self.dim)
        bound = torch.cat([none, relations[:, 1:]], dim=1)  # the attribute of each value
        return torch.cat([entities + bound, relations], dim=1) + roles


class Block(nn.Module):
    """Self-attention and a two-layer network, each added to its input and then normalised."""

    def __init__(self, dim: int, settings: TransformerSettings, generator: torch.Generator) -> None:
        super().__init__()
        self.heads, self.dropout = settings.heads, settings.dropout
        self.qkv, self.out = linear(dim, 3 * dim, generator), linear(dim, dim, generator)
        self.inner = linear(dim, settings.feedforward, generator)
        self.outer = linear(settings.feedforward, dim, generator)
        self.norm_1, self.norm_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(
        self, x: Tensor, absent: Tensor, generator: torch.Generator | None
    ) -> Tensor:  # (batch, tokens, dim)
        """The next vectors of all tokens; absent ones are never attended to."""
        batch, tokens, dim = x.shape
        q, k, v = (
            part.view(batch, tokens, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )  # (batch, heads, tokens, dim / heads)
        mask = ~absent[:, None, None, :]
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        mixed = self.out(mixed.transpose(1, 2).reshape(batch, tokens, dim))
        x = self.norm_1(x + dropout(mixed, self.dropout, generator))
        inner = self.outer(torch.relu(self.inner(x)))
        result: Tensor = self.norm_2(x + dropout(inner, self.dropout, generator))
        return result


def linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A linear map with Glorot weights from `generator` and no bias at the start."""
    module = nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")
    bound = (6.0 / (inputs + outputs)) ** 0.5
    with torch.no_grad():
        module.weight.uniform_(-bound, bound, generator=generator)
        module.bias.zero_()
    return module
