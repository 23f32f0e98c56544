"""RAM: roles are mixtures of a few bases, and say how entities fit each other (WWW 2021)."""

import math
from typing import NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.config import Section
from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import product
from hyperfact.models.decoders.one_query import OneQuery
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of


class RAMSettings(Section):
    """Options of `ram`."""

    bases: int = Field(default=10, ge=1, description="number K of bases that roles mix")
    multiplicity: int = Field(
        default=2, ge=1, description="number m of parts that an entity's vector has; must divide d"
    )
    dropout: float = Field(
        default=0.4, ge=0.0, lt=1.0, description="on the vectors of known entities"
    )
    role_dropout: float = Field(default=0.2, ge=0.0, lt=1.0, description="on the vectors of roles")


class Roles(NamedTuple):
    """The roles of a fact: subject and object of its relation, and its attributes."""

    vectors: Tensor  # (batch, roles, k) u; 0 where there is no role
    patterns: Tensor  # (batch, roles, slots, m) P: how the parts of a slot's entity fit a role


class RAM(OneQuery):
    """phi(x) = sum_a < u_a, prod_i sum_j P_a[i, j] v_i^(j) > over the roles a of the fact.

    alpha_a = softmax(W h_a) mixes K bases for each role: u_a = alpha_a U, and the pattern of slot i
    towards role a is P_a[i, j] = sum_kl alpha_a[k] alpha_i[l] Pi_k[l, j], Pi_k being a softmax over
    all (l, j). An entity's vector is m parts v^(1), …, v^(m). The roles of subject and object come
    from h_r by a map each, that of a value from its attribute.

    The published model has weights A_n and patterns for each arity n, and a row of Pi for each
    place i. Here the mixture of a slot's own role stands for its place, so that one block serves
    all arities and the order of qualifiers does not matter. Patterns are scaled to a mean of 1 and
    the sum is divided by the root of the number of roles: scores start with a deviation of about 1.
    """

    Settings = RAMSettings
    settings: RAMSettings
    card = Card(
        title="RAM",
        year=2021,
        reference="Liu, Yao, Li: Role-aware modeling for n-ary relational knowledge bases, "
        "WWW 2021",
        cost="O(m² d), one matrix product for all candidates",
        qualifiers="a role for each attribute, a factor in every role's term for each value",
        is_expressive=True,
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Weights of roles, vectors and patterns of the bases."""
        dim, bases, parts = self.dim, self.settings.bases, self.settings.multiplicity
        if dim % parts:
            raise ConfigError(f"decoder.multiplicity = {parts} must divide training.dim = {dim}")

        def drawn(*shape: int) -> nn.Parameter:
            return nn.Parameter(torch.empty(*shape).normal_(0.0, 1.0, generator=generator))

        self.weights = drawn(3, dim, bases)  # W of subjects, of objects, of values
        self.bases = drawn(bases, dim // parts)  # U
        self.patterns = drawn(bases, bases, parts)  # Pi before the softmax

    def query(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (batch, dim)
        """q_(j, c) = sum_a u_a[c] P_a[p, j] prod_{i != p} (…), against the entities as they are."""
        parts = self.settings.multiplicity
        vectors, patterns = self._roles(facts, z, generator)
        batch, count = facts.entities.shape
        entities = dropout(z.vectors(facts, slots) / self.scale, self.settings.dropout, generator)
        entities = entities.reshape(batch, count, parts, -1)  # (batch, slots, m, k)
        fitted = torch.einsum("baij,bijc->baic", patterns, entities)
        factors = torch.where(facts.known(slots)[:, None, :, None], fitted, 1.0)
        others = product(factors.flatten(0, 1)).view(batch, count, -1)
        index = slots[:, None, None, None].expand(-1, count, 1, parts)
        asked = patterns.gather(2, index)[:, :, 0]  # (batch, roles, m)
        query = torch.einsum("bac,baj->bjc", vectors * others, asked)
        return query.flatten(1) / self.scale

    def _roles(
        self, facts: FactBatch, z: Representations, generator: torch.Generator | None
    ) -> Roles:
        bases, parts = self.settings.bases, self.settings.multiplicity
        relations = rows_of(z.relations, facts.relations) / (self.scale * math.sqrt(self.dim))
        primary, attributes = relations[:, :1], relations[:, 1:]
        subject, target, value = self.weights
        logits = torch.cat([primary @ subject, primary @ target, attributes @ value], dim=1)
        alpha = torch.softmax(logits, dim=2)  # (batch, roles, K)
        vectors = dropout(alpha @ self.bases, self.settings.role_dropout, generator)
        present = facts.mask.to(vectors.dtype)
        present = present / (present.sum(dim=1, keepdim=True) * vectors.shape[2]).sqrt()
        pattern = torch.softmax(self.patterns.flatten(1), dim=1) * (bases * math.sqrt(parts))
        rows = (alpha @ pattern).view(*alpha.shape, parts)  # (batch, roles, K, m)
        patterns = torch.einsum("bakj,bik->baij", rows, alpha)
        return Roles(vectors * present[:, :, None], patterns)
