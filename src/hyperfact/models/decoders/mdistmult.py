"""m-DistMult: one product of all vectors of a fact, the paper's default scoring function."""

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import (
    ProductSettings,
    paired,
    pool,
    product,
    units,
)
from hyperfact.models.decoders.one_query import OneQuery
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations

_TINY = 1e-30


class MDistMultSettings(ProductSettings):
    """Options of `mdistmult`."""

    coordinate_dropout: float = Field(
        default=0.0,
        ge=0.0,
        lt=1.0,
        description="share of the coordinates that a step goes without; like `query_dropout`, but "
        "the same for all queries, so that encoder and products cost less",
    )
    turn: Literal["none", "binary", "all"] = Field(
        default="none",
        description="turn the object by half of its coordinates, which tells it from the subject: "
        "in no fact, in facts without qualifiers, or in all",
    )
    offset: float = Field(
        default=0.0,
        ge=0.0,
        lt=1.0,
        description="what the factor of a known entity varies around; 0: its vector alone. Near 1 "
        "it says little until it has learned much: a question about somebody of whom few facts "
        "tell falls back to what its relation and the other slots say",
    )
    limit: float = Field(
        default=0.0,
        ge=0.0,
        description="largest length of a query's vector, where first ones have about 1; 0: none. "
        "It changes no rank, and keeps facts with many qualifiers from drowning all others",
    )


class MDistMult(OneQuery):
    """phi(x) = <varphi(h_r, h_a1, …), h_s, h_o, h_v1, …>.

    Vectors are divided by their initial scale and the relation by sqrt(d), so that scores start
    with a standard deviation of about 1 at any arity. Symmetric in all slots, but for objects that
    are turned: h_o then stands for h_o with its halves exchanged. With an offset c the vector h of
    a known slot stands for c + sqrt(1 - c²) h, so that the product is a sum over all subsets of the
    known slots, the empty one included: how often the relation asks for the candidate at all.
    """

    Settings = MDistMultSettings
    settings: MDistMultSettings
    reads_apart = True
    card = Card(
        title="m-DistMult",
        year=2020,
        reference="Fatemi, Taslakian, Vazquez, Poole: Knowledge hypergraphs: prediction beyond "
        "binary relations, IJCAI 2020; after DistMult, ICLR 2015",
        cost="O(m d), one matrix product for all candidates",
        qualifiers="a factor for each value; attributes are pooled with the relation, so that "
        "pairs do not bind",
        is_expressive=False,
    )

    def prepare(self, generator: torch.Generator) -> None:
        """There are no parameters; only whether coordinates come in pairs."""
        del generator
        if self.settings.coordinate_dropout and self.dim % 2:
            raise ConfigError(
                f"coordinate_dropout pairs coordinates: dim must be even, got {self.dim}"
            )

    def coordinates(self, generator: torch.Generator | None) -> Tensor | None:  # (kept,)
        """Those not dropped; a coordinate and its partner in the other half go together."""
        p = self.settings.coordinate_dropout
        if generator is None or p == 0.0:
            return None
        half = self.dim // 2
        count = max(1, round(half * (1 - p)))
        first = torch.randperm(half, generator=generator)[:count].sort().values
        return torch.cat([first, first + half])

    def query(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (batch, dim)
        """The product of what is known, against the entities as they are."""
        p = self.settings.dropout
        known = facts.known(slots)[:, :, None]  # (batch, slots, 1)
        unit, constant = units(self, normalise=self.settings.normalise)
        turned = self._turned(facts)[:, None]  # (batch, 1)
        first = facts.first
        vectors = self._offset(z.vectors(facts, slots) / unit)
        vectors = dropout(vectors, p, generator, first=first)
        if self.settings.turn != "none":
            objects = torch.where(turned, self._turn(vectors[:, 1]), vectors[:, 1])
            vectors = torch.cat([vectors[:, :1], objects[:, None], vectors[:, 2:]], dim=1)
        relation = dropout(pool(facts, z, self.settings.pooling), p, generator, first=first)
        share = vectors.shape[2] / self.dim  # of the coordinates; mean scores stay the same
        relation = relation / (constant * unit * share)
        factors = torch.where(known, vectors, 1.0)
        if self.settings.limit:
            longest = self.settings.limit / (unit * math.sqrt(share))
            query = bounded_product(factors, relation, longest)
        else:
            query = product(factors) * relation
        if self.settings.turn != "none":
            query = torch.where(turned & (slots == 1)[:, None], self._turn(query), query)
        return dropout(query, self.settings.query_dropout, generator, first=first)

    def _offset(self, vectors: Tensor) -> Tensor:  # (…, dim)
        """With an offset c: c + sqrt(1 - c²) h; squares keep their mean at the start."""
        offset = self.settings.offset
        return vectors if offset == 0.0 else offset + math.sqrt(1.0 - offset**2) * vectors

    def _turned(self, facts: FactBatch) -> Tensor:  # (batch,) bool
        """In which facts objects are turned."""
        if self.settings.turn == "binary":
            return facts.mask.sum(dim=1) == 2  # subject and object
        return torch.full_like(facts.mask[:, 0], self.settings.turn == "all")

    def _turn(self, vectors: Tensor) -> Tensor:  # (…, dim)
        """Halves exchanged, which undoes itself; of an odd number the last coordinate stays."""
        half = vectors.shape[-1] // 2
        parts = vectors[..., half : 2 * half], vectors[..., :half], vectors[..., 2 * half :]
        return torch.cat(parts, dim=-1)


def bounded_product(factors: Tensor, last: Tensor, longest: float) -> Tensor:  # (batch, dim)
    """The product over slots, times `last`, shortened where it is longer than that.

    Products are brought to one size at every step, sizes being multiplied as logarithms: a product
    of dozens of vectors would leave the range of float32.
    """
    growth = torch.zeros_like(last[:, :1])
    while True:
        sizes = factors.detach().square().mean(dim=2, keepdim=True).sqrt().clamp(min=_TINY)
        growth, factors = growth + sizes.log().sum(dim=1), factors / sizes
        if factors.shape[1] == 1:
            break
        factors = paired(factors)
    direction = factors[:, 0] * last
    length = torch.linalg.vector_norm(direction, dim=1, keepdim=True).clamp(min=_TINY)
    return direction * torch.exp(torch.minimum(growth, math.log(longest) - length.log()))
