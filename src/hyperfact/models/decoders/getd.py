"""GETD: a Tucker core that is never built, kept as a ring of small tensors (WWW 2020)."""

import math

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.config import Section
from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import pool, product
from hyperfact.models.decoders.one_query import OneQuery
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of


class GETDSettings(Section):
    """Options of `getd`."""

    width: int = Field(default=50, ge=1, description="length of the vectors that enter the ring")
    rank: int = Field(default=50, ge=1, description="size of the ring's matrices")
    dropout: float = Field(
        default=0.2, ge=0.0, lt=1.0, description="on the vectors of the known part"
    )
    query_dropout: float = Field(
        default=0.4, ge=0.0, lt=1.0, description="on the contraction of the known part"
    )


class GETD(OneQuery):
    """phi(x) = trace( Z_r(x_r) Z_s(x_s) Z_o(x_o) Z_v(g_a1 * x_v1) Z_v(g_a2 * x_v2) … ).

    Z(x) = sum_i x[i] Z[:, i, :] is a matrix that is linear in x, the entity's vector brought to the
    width of the ring; x_r comes from varphi(h_r, h_a1, …). The core of the published model, one for
    each arity, is the ring with a tensor for each place and a reshaped one where sizes differ; here
    it is never built, and the tensors of subject, object and values serve all arities. Z_v is
    diagonal: links of qualifiers then commute, so that their order does not matter. The attribute
    weighs the coordinates of its value, g_a = 1 + G h_a, which binds the pair. There are no batch
    norms: vectors come at a known size.
    """

    Settings = GETDSettings
    settings: GETDSettings
    card = Card(
        title="GETD",
        year=2020,
        reference="Liu, Yao, Li: Generalizing tensor decomposition for n-ary relational knowledge "
        "bases, WWW 2020",
        cost="O(width rank² + rank³), one matrix product for all candidates",
        qualifiers="a diagonal link of the ring for each value, weighed by its attribute",
        is_expressive=True,
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Maps into the ring, and its tensors."""
        dim, width, rank = self.dim, self.settings.width, self.settings.rank

        def drawn(deviation: float, *shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape).normal_(0.0, deviation, generator=generator))

        self.entity_map = drawn(1 / math.sqrt(dim), dim, width)
        self.relation_map = drawn(1 / math.sqrt(dim), dim, width)
        self.gate = drawn(0.3 / math.sqrt(dim), dim, width)  # G
        spread = 1 / math.sqrt(width * rank)
        self.relation_ring = drawn(spread, width, rank, rank)
        self.subject_ring = drawn(spread, width, rank, rank)
        self.object_ring = drawn(spread, width, rank, rank)
        self.value_ring = drawn(1 / math.sqrt(width), width, rank)  # the diagonals

    def query(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (batch, dim)
        """The ring without the asked link is one vector, against the entities as they are."""
        p = self.settings.dropout
        entities = dropout(z.vectors(facts, slots) / self.scale @ self.entity_map, p, generator)
        relation = dropout(pool(facts, z, "mean") / self.scale @ self.relation_map, p, generator)
        gates = 1 + (rows_of(z.relations, facts.relations[:, 1:]) / self.scale) @ self.gate
        weights = self._weights(facts, slots, entities[:, 2:] * gates)  # (batch, rank)
        start = weights[:, :, None] * link(relation, self.relation_ring)  # Z_v … Z_r
        first = link(entities[:, 0], self.subject_ring)
        second = link(entities[:, 1], self.object_ring)
        asked = slots[:, None, None]
        open_ring = torch.where(asked == 0, second, start) @ torch.where(asked == 0, start, first)
        around = (open_ring * second.transpose(1, 2)).sum(dim=2)  # the diagonal of Z_v … Z_o
        answers = (
            open_end(open_ring, self.subject_ring),
            open_end(open_ring, self.object_ring),
            (around @ self.value_ring.T) * self._asked(gates, slots),
        )
        role = slots[:, None]
        query = torch.where(role == 0, answers[0], torch.where(role == 1, answers[1], answers[2]))
        query = dropout(query, self.settings.query_dropout, generator)
        return query @ self.entity_map.T / self.scale

    def _weights(self, facts: FactBatch, slots: Tensor, values: Tensor) -> Tensor:  # (batch, rank)
        """The product of the diagonals of known values."""
        known = facts.known(slots)[:, 2:, None]
        ones = values.new_ones(len(facts), 1, self.settings.rank)
        return product(torch.cat([ones, torch.where(known, values @ self.value_ring, 1.0)], dim=1))

    def _asked(self, gates: Tensor, slots: Tensor) -> Tensor:  # (batch, width)
        """The weights g of the asked value; any where an end is asked."""
        ends = gates.new_ones(len(gates), 1, gates.shape[2])
        index = (slots - 1).clamp(min=0)[:, None, None].expand(-1, 1, gates.shape[2])
        return torch.cat([ends, gates], dim=1).gather(1, index)[:, 0]


def link(vectors: Tensor, ring: Tensor) -> Tensor:  # (batch, rank, rank)
    """Z(x) of each vector."""
    return (vectors @ ring.flatten(1)).view(-1, *ring.shape[1:])


def open_end(open_ring: Tensor, ring: Tensor) -> Tensor:  # (batch, width)
    """trace(Z[:, i, :] C) for every i, of the rest C of a ring."""
    return open_ring.transpose(1, 2).flatten(1) @ ring.flatten(1).T
