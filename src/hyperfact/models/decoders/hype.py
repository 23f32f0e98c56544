"""HypE: each entity passes through a filter of its role, then one product (IJCAI 2020)."""

import math

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import (
    ALL,
    Decoder,
    LinearForm,
    ProductSettings,
    pool,
    product,
    units,
)
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of


class HypESettings(ProductSettings):
    """Options of `hype`."""

    channels: int = Field(default=6, ge=1, description="number C of filters that roles mix")


class HypE(Decoder):
    """phi(x) = <varphi(h_r, h_a1, …), f_s(h_s), f_o(h_o), f_a1(h_v1), …>.

    f_p(h) = sum_c k_pc F_c h + b is what HypE's convolution and projection amount to (stride 1,
    width 1). The mix k of a value depends on its attribute, k_p = k + K h_a, instead of its place:
    an attribute names a role better than an index, and no place is ever unseen. F_1 starts as the
    identity and the others near 0, so that HypE starts as m-DistMult.
    """

    Settings = HypESettings
    settings: HypESettings
    card = Card(
        title="HypE",
        year=2020,
        reference="Fatemi, Taslakian, Vazquez, Poole: Knowledge hypergraphs: prediction beyond "
        "binary relations, IJCAI 2020",
        cost="O(m C d²), one matrix product for all candidates",
        qualifiers="a factor for each value, filtered by its attribute",
        is_expressive=True,
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Filters, and how roles mix them."""
        dim, channels = self.dim, self.settings.channels
        filters = torch.empty(channels, dim, dim).normal_(
            0.0, 0.1 / math.sqrt(dim), generator=generator
        )
        filters[0] += torch.eye(dim)
        mixes = torch.empty(3, channels).normal_(0.0, 0.1, generator=generator)
        mixes[:, 0] += 1.0
        self.filters = nn.Parameter(filters)  # F_c, acting from the right
        self.mixes = nn.Parameter(mixes)  # k of subject, object, any value
        spread = 0.1 / (self.scale * math.sqrt(dim))
        self.attribute_mix = nn.Parameter(
            torch.empty(dim, channels).normal_(0.0, spread, generator=generator)
        )
        self.bias = nn.Parameter(torch.zeros(dim))

    def score(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch,)
        """The product with the answer, filtered by the role that is asked for."""
        mix = self._mix(facts, z)
        answers = rows_of(z.entities, facts.answers(slots)) / self._unit  # (batch, dim)
        filtered = self._filter(answers, _asked(mix, slots))
        return (self._query(facts, slots, z, mix, generator) * filtered).sum(dim=1)

    def linear_form(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> LinearForm:
        """Filter the query, not the table: q · f_p(e) = (sum_c k_pc F_c^T q) · e + q · b."""
        mix = self._mix(facts, z)
        query = self._query(facts, slots, z, mix, generator)
        turned = torch.einsum("bd,ced->bce", query, self.filters)  # (batch, channels, dim)
        against = (_asked(mix, slots)[:, :, None] * turned).sum(dim=1) / self._unit
        return LinearForm(against, z.entities[candidates], constant=query @ self.bias)

    @property
    def _unit(self) -> float:
        return units(self, normalise=self.settings.normalise)[0]

    def _query(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        mix: Tensor,
        generator: torch.Generator | None,
    ) -> Tensor:  # (batch, dim)
        """The product of what is known, each entity filtered by its role, no other slot."""
        p = self.settings.dropout
        unit, constant = units(self, normalise=self.settings.normalise)
        raw = dropout(z.vectors(facts, slots) / unit, p, generator)  # (batch, slots, dim)
        known = facts.known(slots)  # (batch, slots)
        rows = known.flatten().nonzero()[:, 0]  # (tokens,)
        tokens, mixes = (rows_of(t.flatten(0, 1), rows) for t in (raw, mix))
        filtered = self._filter(tokens, mixes)
        factors = torch.ones_like(raw).masked_scatter(known[:, :, None], filtered)
        relation = dropout(pool(facts, z, self.settings.pooling), p, generator)
        query = product(factors) * relation / constant
        return dropout(query, self.settings.query_dropout, generator)

    def _mix(self, facts: FactBatch, z: Representations) -> Tensor:  # (batch, slots, channels)
        """The mix k of each slot by its role; padded slots get what the mask removes later."""
        values = rows_of(z.relations, facts.relations[:, 1:]) @ self.attribute_mix + self.mixes[2]
        ends = self.mixes[:2].expand(len(facts), 2, -1)
        return torch.cat([ends, values], dim=1)

    def _filter(self, raw: Tensor, mix: Tensor) -> Tensor:  # (tokens, dim)
        """f_p of each entity: all C filters, then the mix of the role."""
        stacked = self.filters.transpose(0, 1).flatten(1)  # (dim, channels * dim)
        outputs = (raw @ stacked).view(len(raw), -1, raw.shape[1])
        return (mix[:, :, None] * outputs).sum(dim=1) + self.bias


def _asked(mix: Tensor, slots: Tensor) -> Tensor:  # (batch, channels)
    """The mix of the slot that is asked for."""
    return mix.gather(1, slots[:, None, None].expand(-1, 1, mix.shape[2]))[:, 0]
