"""HSimplE: one table of entities, shifted around by an amount of the role (IJCAI 2020)."""

import torch
from torch import Tensor

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
from hyperfact.models.representations import Representations

_GOLDEN = 0.6180339887498949  # multiples of it, without their whole parts, keep apart


class HSimplESettings(ProductSettings):
    """Options of `hsimple`."""


class HSimplE(OneQuery):
    """phi(x) = <varphi(h_r, h_a1, …), h_s, shift(h_o, t_o), shift(h_v1, t_a1), …>.

    shift(h, t)[k] = h[(k + t) mod d]. The published model shifts by the place of a slot, p d / 6
    for the slot p, which needs a largest arity. Here the role decides: nothing for the subject, an
    amount of its own for the object and for every attribute, so that pairs bind and the order of
    qualifiers does not matter. The shift of role number n is d times the fraction of n / golden
    ratio; numbers are 0 for subjects, 1 for objects, then attributes by id. Any number of shifts
    lies far apart, as far as d has room for them.
    """

    Settings = HSimplESettings
    settings: HSimplESettings
    card = Card(
        title="HSimplE",
        year=2020,
        reference="Fatemi, Taslakian, Vazquez, Poole: Knowledge hypergraphs: prediction beyond "
        "binary relations, IJCAI 2020; after SimplE, NeurIPS 2018",
        cost="O(m d), one matrix product for all candidates",
        qualifiers="a factor for each value, shifted by its attribute",
        is_expressive=True,
    )

    def query(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (batch, dim)
        """Q · shift(e, t) = shift(q, -t) · e: the query is shifted back, not the table."""
        p = self.settings.dropout
        unit, constant = units(self, normalise=self.settings.normalise)
        shifts = shifts_of(facts, self.dim)  # (batch, slots)
        vectors = dropout(z.vectors(facts, slots) / unit, p, generator)
        relation = dropout(pool(facts, z, self.settings.pooling), p, generator)
        known = facts.known(slots)[:, :, None]
        others = product(torch.where(known, shifted(vectors, shifts), 1.0))
        query = others * relation / (constant * unit)
        query = shifted(query, -shifts.gather(1, slots[:, None])[:, 0])
        return dropout(query, self.settings.query_dropout, generator)


def shifts_of(facts: FactBatch, dim: int) -> Tensor:  # (batch, slots)
    """By how much the role of each slot shifts."""
    attributes = facts.relations[:, 1:] + 2
    ends = torch.tensor([0, 1], device=attributes.device).expand(len(facts), 2)
    numbers = torch.cat([ends, attributes], dim=1).double()
    return ((numbers * _GOLDEN).frac() * dim).long()


def shifted(vectors: Tensor, shifts: Tensor) -> Tensor:  # (…, dim)
    """Each vector, its coordinate k being what was coordinate k + shift, all around."""
    dim = vectors.shape[-1]
    index = (torch.arange(dim, device=vectors.device) + shifts[..., None]) % dim
    return vectors.gather(-1, index)
