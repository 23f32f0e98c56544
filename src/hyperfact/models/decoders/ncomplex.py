"""n-ary ComplEx: one product of complex numbers, the object's conjugated."""

import math

import torch
from torch import Tensor

from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import ProductSettings, pool
from hyperfact.models.decoders.one_query import OneQuery
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations


class NComplexSettings(ProductSettings):
    """Options of `ncomplex`."""


class NComplex(OneQuery):
    """phi(x) = Re < varphi(h_r, h_a1, …), h_s, conj(h_o), h_v1, … >, over d / 2 complex numbers.

    The first half of a vector holds the real parts, the second the imaginary ones. In the terms of
    S2S this is the core with two segments whose block (k_r, k_s, k_o, …) is the real part of
    i^(k_r + k_s + k_v1 + …) (-i)^k_o; without qualifiers it is ComplEx. It costs what m-DistMult
    does and tells subject from object. Lengths of complex numbers are divided by their first mean
    square, so that scores start with a deviation of about 1 at any arity.
    """

    Settings = NComplexSettings
    settings: NComplexSettings
    card = Card(
        title="n-ary ComplEx",
        year=2021,
        reference="a core of S2S (Di, Yao, Chen: Searching to sparse tensor decomposition for "
        "n-ary relational data, WWW 2021); after ComplEx, ICML 2016",
        cost="O(m d), one matrix product for all candidates",
        qualifiers="a complex factor for each value; attributes are pooled with the relation, so "
        "that pairs do not bind",
        is_expressive=False,
    )

    def prepare(self, generator: torch.Generator) -> None:
        """There are no parameters; only whether there is a real part for every imaginary one."""
        del generator
        if self.dim % 2:
            raise ConfigError(f"complex numbers are pairs: dim must be even, got {self.dim}")

    def query(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (batch, dim)
        """Re(q e) = (Re q, -Im q) · (Re e, Im e), and Re(q conj(e)) = (Re q, Im q) · (…)."""
        p = self.settings.dropout
        unit = self.scale * math.sqrt(2) if self.settings.normalise else 1.0
        vectors = dropout(z.vectors(facts, slots) / unit, p, generator)
        relation = dropout(pool(facts, z, self.settings.pooling) / unit, p, generator)
        if self.settings.normalise:
            relation = relation * (2 / math.sqrt(self.dim))
        known = facts.known(slots)[:, :, None]
        real, imaginary = vectors.chunk(2, dim=2)  # (batch, slots, dim / 2)
        signs = torch.ones_like(real[:1, :, :1])
        signs[:, 1] = -1.0  # the object's conjugate
        real = torch.where(known, real, 1.0)
        imaginary = torch.where(known, imaginary * signs, 0.0)
        first, second = (part[:, None] for part in relation.chunk(2, dim=1))
        real, imaginary = complex_product(
            torch.cat([first, real], dim=1), torch.cat([second, imaginary], dim=1)
        )
        sign = torch.where(slots == 1, 1.0, -1.0).to(real.dtype)[:, None]
        query = torch.cat([real, sign * imaginary], dim=1) / unit
        return dropout(query, self.settings.query_dropout, generator)


def complex_product(real: Tensor, imaginary: Tensor) -> tuple[Tensor, Tensor]:  # (batch, k) each
    """The product over slots, (batch, slots, k) each, by halves."""
    while real.shape[1] > 1:
        half = real.shape[1] // 2
        (a, c, e), (b, d, f) = (
            (part[:, :half], part[:, half : 2 * half], part[:, 2 * half :])
            for part in (real, imaginary)
        )
        real = torch.cat([a * c - b * d, e], dim=1)
        imaginary = torch.cat([a * d + b * c, f], dim=1)
    return real[:, 0], imaginary[:, 0]
