"""HyConvE: weighted sums of all vectors, and entities filtered by relation and role (WWW 2023)."""

from typing import NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.config import Section
from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.kernels import Units
from hyperfact.models.decoders.decoder import pool
from hyperfact.models.decoders.unitwise import Unitwise
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of

_FILTERS = 3  # of the relation


class HyConvESettings(Section):
    """Options of `hyconve`."""

    channels: int = Field(default=8, ge=2, multiple_of=2, description="weighted sums, in pairs")
    dropout: float = Field(
        default=0.2, ge=0.0, lt=1.0, description="on the vectors of the known part"
    )


class Known(NamedTuple):
    """What a question says without the candidate."""

    sums: Tensor  # (batch, 2, units) the two channels of each pair
    rest: Tensor  # (batch, units) of the other branch
    filters: Tensor  # (batch, 3) of the asked slot, alpha


class HyConvE(Unitwise):
    """phi(x) = v · ReLU(x_1 + x_2), from two branches of as many units.

    x_1 = max over pairs of channels of w_c0 varphi + sum_p w_cp e_p, which is what a convolution
    without extent in space amounts to. x_2 = b + sum_p F_p ReLU(maxpool(alpha_pc e_p)): each entity
    times three filters alpha_p = K_p (W varphi + u), the larger of two neighbouring coordinates.

    The published model has weights w, K and F for each place of each arity. Here w and F are those
    of subjects, objects and values, and K of a value depends on its attribute: any arity, any order
    of qualifiers. Both normalisations are left out: the first is one number, that of the initial
    scale, the second comes before a linear unit and changes no rank.
    """

    Settings = HyConvESettings
    settings: HyConvESettings
    negatives = 50
    card = Card(
        title="HyConvE",
        year=2023,
        reference="Wang, Wang, Lin, Wang: HyConvE: a novel embedding model for knowledge "
        "hypergraph link prediction with convolutional neural networks, WWW 2023",
        cost="O(m C d²) for C channels, O(C d) for each candidate",
        qualifiers="each value is filtered by relation and attribute, and added",
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Weights of channels, filters of roles, maps of filtered entities, the last unit."""
        dim, half = self.dim, self.settings.channels // 2
        if dim % 2:
            raise ConfigError(f"hyconve pairs coordinates: training.dim must be even, got {dim}")

        def normal(*shape: int, spread: float) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape).normal_(0.0, spread, generator=generator))

        self.channels = normal(4, 2, half, spread=0.5)  # w of s, o, values, varphi
        self.relation_filter = normal(dim, _FILTERS, spread=dim**-0.5)  # W
        self.relation_bias = nn.Parameter(torch.ones(_FILTERS))  # u
        self.kinds = normal(3, _FILTERS, _FILTERS, spread=0.5)  # K of s, o, values
        self.roles = normal(dim, _FILTERS**2, spread=0.5 * dim**-0.5)
        self.maps = normal(3, _FILTERS * dim // 2, half * dim, spread=dim**-0.5)  # F
        self.bias = nn.Parameter(torch.zeros(half * dim))
        self.weight = normal(half * dim, spread=(half * dim) ** -0.5)

    @property
    def units(self) -> int:
        """Of each branch."""
        return self.settings.channels // 2 * self.dim

    @property
    def width(self) -> int:
        """Both channels of each pair."""
        return 2 * self.units

    def known(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Known:
        """Both branches without the asked slot."""
        p, known = self.settings.dropout, facts.known(slots)[:, :, None]
        e = dropout(z.vectors(facts, slots), p, generator) / self.scale
        e = torch.where(known, e, 0.0)
        pooled = dropout(pool(facts, z, "mean"), p, generator) / self.scale
        alpha = self._filters(facts, z, pooled)  # (batch, slots, 3)
        rows = torch.stack([*_by_kind(e), pooled], dim=1)  # (batch, 4, dim)
        sums = torch.einsum("bkd,kpc->bpcd", rows, self.channels).flatten(2)
        seen = torch.relu(_larger(alpha[:, :, :, None] * e[:, :, None])).flatten(2)
        parts = torch.stack(_by_kind(seen))  # (3, batch, filters * dim / 2)
        rest = torch.bmm(parts, self.maps).sum(dim=0) + self.bias
        index = slots[:, None, None].expand(-1, 1, _FILTERS)
        found = (sums, rest, alpha.gather(1, index)[:, 0])
        return Known(*(part.to(z.entities.dtype) for part in found))

    def candidates(self, kind: int, known: Known, entities: Tensor) -> Tensor:  # (…, k, width)
        """Their part of both channels, and of x_2: exact, or for all signs of filters.

        A filter is a number: its sign says which coordinate is larger, its size is a factor.
        """
        e = entities / self.scale
        sums = torch.einsum("bkd,pc->bkpcd", e, self.channels[kind]).flatten(2)
        if len(entities) == len(known.filters) > 1:
            alpha = known.filters[:, None, :, None]
            seen = torch.relu(_larger(alpha * e[:, :, None])).flatten(2)
            return torch.cat([sums, seen @ self.maps[kind]], dim=-1)
        signs = torch.relu(_larger(torch.stack([e, -e], dim=2)))  # (1, k, 2, dim / 2)
        maps = self.maps[kind].view(_FILTERS, 1, -1, self.units)
        both = signs.transpose(1, 2) @ maps  # (filters, 2, k, units)
        return torch.cat([sums, both.permute(2, 0, 1, 3).flatten(1)[None]], dim=-1)

    def judge(self, kind: int, known: Known, candidates: Tensor) -> Tensor:  # (batch, k)
        """The last linear unit on both branches."""
        del kind
        one, two, *rest = torch.split(candidates, self.units, dim=-1)
        sums = torch.maximum(known.sums[:, :1] + one, known.sums[:, 1:] + two)
        seen = rest[0] if len(rest) == 1 else self._seen(known.filters, rest)
        units = torch.relu(sums + known.rest[:, None] + seen)  # (batch, k, units)
        return (units.flatten(0, 1) @ self.weight).view(units.shape[:2])

    def units_of(self, known: Known) -> Units:
        """Filters of either sign have a size, where they have that sign."""
        sums = known.sums + known.rest[:, None]
        return Units(sums, _sizes(known.filters), self.weight)

    def rows_of_units(self, candidates: Tensor) -> Tensor:  # (k, 8, units)
        """Both channels, and a part for each filter and sign."""
        return candidates.view(len(candidates), -1, self.units)

    def _seen(self, filters: Tensor, parts: list[Tensor]) -> Tensor:  # (batch, k, units)
        """The sum over filters of their size times the part of their sign."""
        found = torch.relu(_sizes(filters)) @ torch.stack([part[0] for part in parts], dim=1)
        return found.transpose(0, 1)

    def _filters(
        self, facts: FactBatch, z: Representations, pooled: Tensor
    ) -> Tensor:  # (batch, slots, filters)
        """The filters alpha_p of each slot; padded slots get what the mask removes later."""
        g = pooled @ self.relation_filter + self.relation_bias  # (batch, filters)
        r = rows_of(z.relations, facts.relations) / self.scale
        own = (r @ self.roles).view(*r.shape[:2], _FILTERS, _FILTERS)
        ends = own[:, :1] + self.kinds[:2]
        k = torch.cat([ends, own[:, 1:] + self.kinds[2]], dim=1)  # (batch, slots, 3, 3)
        return (k @ g[:, None, :, None])[..., 0]


def _sizes(filters: Tensor) -> Tensor:  # (batch, 6)
    """Each filter and its opposite: of the two the positive one counts."""
    return torch.stack([filters, -filters], dim=2).flatten(1)


def _by_kind(slots: Tensor) -> list[Tensor]:  # (batch, width) each
    """Of the subject, of the object, and the sum of those of values."""
    return [slots[:, 0], slots[:, 1], slots[:, 2:].sum(dim=1)]


def _larger(vectors: Tensor) -> Tensor:  # (…, dim / 2)
    """The larger of two neighbouring coordinates."""
    return torch.maximum(vectors[..., ::2], vectors[..., 1::2])
