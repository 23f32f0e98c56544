"""m-CP: a table of entities for every role, tied through heads (canonical polyadic form)."""

import math

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import (
    ProductSettings,
    pool,
    product,
    units,
)
from hyperfact.models.decoders.one_query import OneQuery
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of


class MCPSettings(ProductSettings):
    """Options of `mcp`."""

    rank: int = Field(default=0, ge=0, description="number d' of terms; 0: as many as d")


class MCP(OneQuery):
    """phi(x) = <R varphi(h_r, h_a1, …), W_s h_s, W_o h_o, W_v (g_a1 * h_v1), …> over d' terms.

    The published model has a table of entities for each place, which share nothing: what is learned
    of an entity as subject says nothing of it as value. Here tables are tied, E^(p) = H W_p, with a
    head for each role instead of each place: subject, object, and one for all values, before which
    the attribute weighs the coordinates, g_a = 1 + G h_a. Pairs bind, and the order of qualifiers
    does not matter. Heads start at random, as different as the published tables are.
    """

    Settings = MCPSettings
    settings: MCPSettings
    card = Card(
        title="m-CP",
        year=2020,
        reference="Fatemi, Taslakian, Vazquez, Poole: Knowledge hypergraphs: prediction beyond "
        "binary relations, IJCAI 2020; after Hitchcock, 1927",
        cost="O(m d d'), one matrix product for all candidates",
        qualifiers="a factor for each value, weighed by its attribute",
        is_expressive=True,
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Heads of the roles and of the relation, and how attributes weigh."""
        dim, rank = self.dim, self.settings.rank or self.dim
        spread = 1.0 / math.sqrt(dim)

        def drawn(deviation: float, *shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape).normal_(0.0, deviation, generator=generator))

        self.heads = drawn(spread, 3, dim, rank)  # W of subjects, of objects, of values
        self.relation_head = drawn(spread, dim, rank)  # R
        self.gate = drawn(0.3 * spread, dim, dim)  # G

    def query(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (batch, dim)
        """The head acts on the query, not on the table: q · W (g * e) = (g * W^T q) · e."""
        p = self.settings.dropout
        unit, _ = units(self, normalise=self.settings.normalise)
        gates = 1 + (rows_of(z.relations, facts.relations[:, 1:]) / self.scale) @ self.gate
        vectors = dropout(z.vectors(facts, slots) / unit, p, generator)
        relation = dropout(pool(facts, z, self.settings.pooling) / unit, p, generator)
        subject, target, value = self.heads
        seen = [vectors[:, :1] @ subject, vectors[:, 1:2] @ target]
        seen.append((vectors[:, 2:] * gates) @ value)  # (batch, values, rank)
        factors = torch.where(facts.known(slots)[:, :, None], torch.cat(seen, dim=1), 1.0)
        query = product(factors) * (relation @ self.relation_head)
        query = dropout(query, self.settings.query_dropout, generator)
        return self._back(query, gates, slots) / (unit * math.sqrt(query.shape[1]))

    def _back(self, query: Tensor, gates: Tensor, slots: Tensor) -> Tensor:  # (batch, dim)
        """What the asked role's head makes of a query, for entities as they are."""
        subject, target, value = (query @ head.T for head in self.heads)
        ones = torch.ones_like(subject)[:, None].expand(-1, 2, -1)
        index = slots[:, None, None].expand(-1, 1, self.dim)
        gate = torch.cat([ones, gates], dim=1).gather(1, index)[:, 0]
        role = slots[:, None]
        return torch.where(role == 0, subject, torch.where(role == 1, target, value * gate))
