"""HyCubE: a convolution over the known part of a fact gives one vector (TKDE 2025)."""

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

_GROUP = 4  # channels, of which the largest counts


class HyCubESettings(Section):
    """Options of `hycube`."""

    kernel: int = Field(default=3, ge=1, description="side of a filter; odd")
    channels: int = Field(default=8, ge=4, multiple_of=_GROUP, description="filters")
    dropout: float = Field(default=0.3, ge=0.0, lt=1.0, description="on vectors and on features")


class HyCubE(Decoder):
    """phi(x) = (W max(K * [maps of s; of o; of all values])) · e + b_e, e being the asked entity.

    Vectors are seen as images whose edges meet. A slot has three maps: its role (h_r, or h_a of a
    value), its entity, and their product; a learned vector stands for the asked entity. K is a
    kernel for subject, object and the mean value times sqrt(n). The largest of four channels
    counts, which is all that is not linear.

    The published model has a kernel for each arity and place, and adds a vector of the asked place
    to all candidates, which changes no rank: nothing says what is asked. Here the asked slot takes
    part in the convolution. Products bind a value to its attribute, whatever its place. One number
    that normalises the input is the initial scale.
    """

    Settings = HyCubESettings
    settings: HyCubESettings
    card = Card(
        title="HyCubE",
        year=2025,
        reference="Li, Wang, Wang, Li, Xu: HyCubE: efficient knowledge hypergraph 3D circular "
        "convolutional embedding, TKDE 2025",
        cost="O(C k² d + C d²) for C channels, one matrix product for all candidates",
        qualifiers="values, attributes and their products, added before the convolution",
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Kernels, the last map, the vector of a hole, and a bias for each entity."""
        dim, k, channels = self.dim, self.settings.kernel, self.settings.channels
        self.sides = sides_of(dim)
        if k % 2 == 0 or k // 2 > min(self.sides):
            raise ConfigError(
                f"decoder.kernel = {k} must be odd and fit images of {self.sides[0]} x "
                f"{self.sides[1]}"
            )

        def normal(*shape: int, spread: float) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape).normal_(0.0, spread, generator=generator))

        self.kernels = normal(channels, 9, k, k, spread=1 / (3 * k))
        self.channel_bias = nn.Parameter(torch.zeros(channels))
        features = channels // _GROUP * dim
        self.output = normal(features, dim, spread=features**-0.5)
        self.hole = normal(dim, spread=1.0)  # in units of the initial scale
        self.entity_bias = nn.Parameter(torch.zeros(self.num_entities))

    def score(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch,)
        """The vector of the question against the entity that stands in the asked slot."""
        answers = facts.answers(slots)
        bias = rows_of(z.of_entities(self.entity_bias)[:, None], answers)[:, 0]
        query = self._query(facts, slots, z, generator)
        return (query * rows_of(z.entities, answers)).sum(dim=1) + bias

    def linear_form(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> LinearForm:
        """The vector of the question, against the entities as they are."""
        query = self._query(facts, slots, z, generator)
        return LinearForm(
            query, z.entities[candidates], bias=z.of_entities(self.entity_bias)[candidates]
        )

    def _query(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (batch, dim)
        p, pad = self.settings.dropout, self.settings.kernel // 2
        images = self._maps(facts, slots, z, generator).view(len(facts), -1, *self.sides)
        around = functional.pad(images, (pad, pad, pad, pad), mode="circular")
        channels = functional.conv2d(around, self.kernels, self.channel_bias)
        groups = channels.view(len(facts), -1, _GROUP, self.dim)
        largest = groups.amax(dim=2).flatten(1)  # (batch, features)
        query = dropout(largest, p, generator) @ self.output
        return query / (self.scale * math.sqrt(self.dim))

    def _maps(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (batch, 9, dim)
        """Role, entity and product of the subject, of the object, and summed over values."""
        p = self.settings.dropout
        e = dropout(z.vectors(facts, slots), p, generator) / self.scale
        asked = torch.arange(e.shape[1], device=slots.device) == slots[:, None]
        e = torch.where(asked[:, :, None], self.hole, e)
        r = dropout(rows_of(z.relations, facts.relations), p, generator) / self.scale
        roles = torch.cat([r[:, :1], r], dim=1)  # (batch, slots, dim)
        maps = torch.stack([roles, e, roles * e], dim=2)  # (batch, slots, 3, dim)
        exists = facts.mask[:, 2:, None, None]
        values = torch.where(exists, maps[:, 2:], 0.0).sum(dim=1)
        count = exists.sum(dim=1).clamp(min=1).to(values.dtype)
        return torch.cat([maps[:, 0], maps[:, 1], values / count.sqrt()], dim=1)


def sides_of(dim: int) -> tuple[int, int]:
    """The image nearest to a square that holds so many numbers."""
    side = next(n for n in range(math.isqrt(dim), 0, -1) if dim % n == 0)
    return side, dim // side
