"""NaLP: all pairs of role and entity must be related to each other (WWW 2019)."""

from typing import NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn.functional import leaky_relu

from hyperfact.config import Section
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.role_index import role_number
from hyperfact.models.decoders.fact_norm import FactNorm
from hyperfact.models.decoders.kindwise import Kindwise, kinds_of
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of

_NONE = float("inf")  # what a slot that is not given brings to a minimum
_SLOPE = 0.1  # of the last ReLU below 0


class NaLPSettings(Section):
    """Options of `nalp`."""

    filters: int = Field(default=200, ge=1, description="features of a pair of role and entity")
    units: int = Field(default=400, ge=1, description="features of two such pairs")
    dropout: float = Field(
        default=0.1, ge=0.0, lt=1.0, description="on the vectors of the known part"
    )


class Known(NamedTuple):
    """What a question brings to the minima."""

    role: Tensor  # (batch, filters) of the asked slot, normalised
    gain: Tensor  # (batch, filters) of the normalisation, the same for all
    least: Tensor  # (batch, 2 * units) over the given pairs, as first and as second of two


class NaLP(Kindwise):
    """phi(x) = w · min_ij f(A o_i + C o_j + b), o_i = ReLU(BN(W [rho_i; e_i])).

    i and j are slots, also the same one. The role rho of a value is h_a, that of subject and object
    is h_r + u_s and h_r + u_o. As f rises and all pairs of slots are there, the minimum is
    f(min_i A o_i + min_j C o_j + b), linear in the arity.

    f is ReLU with a small slope below 0, where the published one has none: minima over many slots
    are negative, and all candidates would tie. The published model has 1000 units (`units`), and a
    last bias, which changes no rank. Statistics of BN are those of true facts; dropout is new.
    """

    Settings = NaLPSettings
    settings: NaLPSettings
    negatives = 50
    card = Card(
        title="NaLP",
        year=2019,
        reference="Guan, Jin, Wang, Cheng: Link prediction on n-ary relational data, WWW 2019",
        cost="O(m (F d + G F)) for F filters and G units, O(G F) for each role and candidate",
        qualifiers="pairs of role and entity like subject and object; the weakest relation counts",
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Filters of roles and entities, their normalisation, and the network of two pairs."""
        dim, filters, units = self.dim, self.settings.filters, self.settings.units

        def normal(*shape: int, spread: float) -> nn.Parameter:
            return nn.Parameter(torch.empty(shape).normal_(0.0, spread, generator=generator))

        self.role_filters = normal(dim, filters, spread=dim**-0.5)
        self.filters = normal(dim, filters, spread=dim**-0.5)
        self.ends = normal(2, dim, spread=1.0)  # u_s and u_o, in units of the initial scale
        self.norm = FactNorm(filters)
        self.maps = normal(filters, 2 * units, spread=filters**-0.5)  # A and C
        self.bias = nn.Parameter(torch.ones(units))  # minima are negative at the start
        self.weight = normal(units, spread=2 * units**-0.5)

    @property
    def width(self) -> int:
        """Units of both places."""
        return 2 * self.settings.units

    def groups(self, facts: FactBatch, slots: Tensor) -> Tensor:  # (batch,)
        """Features of a candidate depend on the asked role."""
        place = (slots - 1).clamp(min=0)[:, None]
        relations = facts.relations.gather(1, place)[:, 0]
        numbers: Tensor = role_number(kinds_of(slots), relations, int(relations.max()) + 1)
        return numbers

    def known(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Known:
        """Minima over the given pairs."""
        p = self.settings.dropout
        e = dropout(z.vectors(facts, slots), p, generator) / self.scale
        r = dropout(rows_of(z.relations, facts.relations), p, generator) / self.scale
        ends = r[:, :1] + self.ends  # (batch, 2, dim)
        roles = torch.cat([ends, r[:, 1:]], dim=1) @ self.role_filters  # (batch, slots, filters)
        sums = roles + e @ self.filters
        gain, shift = self.norm(sums, facts.mask)
        pairs = torch.relu(gain * sums + shift) @ self.maps  # (batch, slots, 2 * units)
        given = torch.where(facts.known(slots)[:, :, None], pairs, _NONE)
        asked = roles.gather(1, slots[:, None, None].expand(-1, 1, roles.shape[2]))[:, 0]
        return Known(gain * asked + shift, gain.expand_as(asked), given.amin(dim=1))

    def candidates(self, kind: int, known: Known, entities: Tensor) -> Tensor:  # (…, k, width)
        """Their features in the asked role, as first and as second of two."""
        del kind
        sums = (entities / self.scale) @ self.filters
        return torch.relu(known.gain[:, None] * sums + known.role[:, None]) @ self.maps

    def judge(self, kind: int, known: Known, candidates: Tensor) -> Tensor:  # (batch, k)
        """The last linear unit, on the weakest relation of two pairs."""
        del kind
        least = torch.minimum(known.least[:, None], candidates)
        first, second = least.chunk(2, dim=-1)
        units = leaky_relu(first + second + self.bias, _SLOPE)  # (batch, k, units)
        return (units.flatten(0, 1) @ self.weight).view(units.shape[:2])
