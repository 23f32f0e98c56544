"""HINGE: a fact is as good as its weakest part, triple or triple with a qualifier (WWW 2020)."""

import math
from typing import NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from hyperfact.config import Section
from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.role_index import VALUE
from hyperfact.kernels import Units
from hyperfact.models.decoders.fact_norm import FactNorm
from hyperfact.models.decoders.kindwise import asked_part
from hyperfact.models.decoders.unitwise import Unitwise
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of

_NONE = float("inf")  # what a part that does not exist brings to a minimum
_SPAN = 3  # coordinates under a filter


class HINGESettings(Section):
    """Options of `hinge`."""

    width: int = Field(
        default=32,
        ge=0,
        description="coordinates that are convolved, a linear map of the vectors; 0: the vectors",
    )
    filters: int = Field(default=32, ge=1, description="of the triple, and of triple and qualifier")
    dropout: float = Field(
        default=0.1, ge=0.0, lt=1.0, description="on the vectors of the known part"
    )


class Known(NamedTuple):
    """What a question brings to the minimum, normalised."""

    fixed: Tensor  # (batch, units) of the triple; where a value is asked, of all other parts
    open: Tensor  # (batch, units) of the weakest quintuple; where a value is asked, of its own
    gains: Tensor  # (batch, 2, filters) of BN and BN', the same for all


class HINGE(Unitwise):
    """phi(x) = w · min(phi_0, phi_1, …), phi_0 = ReLU(BN(K * [s; r; o])).

    phi_i = ReLU(BN'(K' * [s; r; o; a_i; v_i])) for each qualifier; a filter covers all rows and
    three neighbouring coordinates. A convolution is a sum over rows and ReLU keeps the order, so
    that the minimum is one of sums: a candidate costs a sum for each filter and place.

    The published model has 400 filters over 100 coordinates, which no pass over all entities
    bears; here the vectors are mapped to fewer coordinates first (`width`). Statistics of BN are
    those of true facts. There is dropout, and no last bias, which changes no rank.
    """

    Settings = HINGESettings
    settings: HINGESettings
    negatives = 50
    card = Card(
        title="HINGE",
        year=2020,
        reference="Rosso, Yang, Cudré-Mauroux: Beyond triplets: hyper-relational knowledge graph "
        "embedding for link prediction, WWW 2020",
        cost="O(m F d) for F filters, O(F d) for each candidate",
        qualifiers="each is convolved together with the triple; the weakest counts",
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Maps to what is convolved, kernels, normalisation, and the last linear unit."""
        dim, filters = self.dim, self.settings.filters
        self.convolved = self.settings.width or dim
        if self.convolved < _SPAN:
            raise ConfigError(f"hinge convolves at least {_SPAN} coordinates, not {self.convolved}")
        if self.settings.width:
            maps = torch.empty(2, dim, self.convolved).normal_(0.0, dim**-0.5, generator=generator)
            self.maps = nn.Parameter(maps)  # of entities, of relations
        kernels = torch.empty(2, 5, _SPAN, filters).normal_(0.0, 0.3, generator=generator)
        self.triple_kernels = nn.Parameter(kernels[0, :3].clone())  # K: s, r, o
        self.kernels = nn.Parameter(kernels[1].clone())  # K': s, r, o, a, v
        self.triple_norm, self.norm = FactNorm(filters), FactNorm(filters)
        spread = 4.0 / math.sqrt(self.width)  # minima are small
        weight = torch.empty(self.width).normal_(0.0, spread, generator=generator)
        self.weight = nn.Parameter(weight)

    @property
    def width(self) -> int:
        """Units: filters times places."""
        return self.settings.filters * (self.convolved - _SPAN + 1)

    def known(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Known:
        """Sums over all rows but the asked one, and the weakest of those that are complete."""
        p, mask = self.settings.dropout, facts.mask[:, 2:]
        e = self._rows(0, dropout(z.vectors(facts, slots), p, generator))
        r = self._rows(1, dropout(rows_of(z.relations, facts.relations), p, generator))
        triple, base, pairs = self._sums(e, r)  # of the true facts
        gain_0, shift_0 = self.triple_norm(triple, facts.mask[:, 0])
        gain_1, shift_1 = self.norm(base[:, None] + pairs, mask)
        triple, base, pairs = self._sums(torch.where(facts.known(slots)[:, :, None], e, 0.0), r)
        triple, base = gain_0 * triple + shift_0, gain_1 * base + shift_1  # (batch, places, F)
        parts = torch.cat([gain_1 * pairs, torch.full_like(base[:, None], _NONE)], dim=1)
        asked_value = (slots >= VALUE)[:, None]
        complete = facts.known(slots)[:, 2:, None, None]
        rest = torch.where(complete, parts[:, :-1], _NONE)
        weakest = base + torch.cat([rest, parts[:, -1:]], dim=1).amin(dim=1)
        own = base.flatten(1) + asked_part(parts.flatten(2), slots)
        triple, weakest = triple.flatten(1), weakest.flatten(1)
        return Known(
            torch.where(asked_value, torch.minimum(triple, weakest), triple),
            torch.where(asked_value, own, weakest),
            torch.stack([gain_0, gain_1]).expand(len(facts), 2, -1),
        )

    def candidates(self, kind: int, known: Known, entities: Tensor) -> Tensor:  # (…, k, width)
        """Their sums with the kernels of the asked row: of quintuples, and of the triple."""
        x, gains, row = self._rows(0, entities), known.gains[0], (0, 2, 4)[kind]
        kernels = [self.kernels.select(0, row) * gains[1]]
        if kind != VALUE:
            kernels.append(self.triple_kernels.select(0, row) * gains[0])
        return torch.cat([convolve(x, k).flatten(-2) for k in kernels], dim=-1)

    def judge(self, kind: int, known: Known, candidates: Tensor) -> Tensor:  # (batch, k)
        """The last linear unit, on the weakest part."""
        weakest = known.open[:, None] + candidates[..., : self.width]
        fixed = known.fixed[:, None]
        if kind != VALUE:
            fixed = fixed + candidates[..., self.width :]
        parts = torch.relu(torch.minimum(weakest, fixed))  # (batch, k, units)
        return (parts.flatten(0, 1) @ self.weight).view(parts.shape[:2])

    def units_of(self, known: Known) -> Units:
        """The lesser of two sums; there is no third."""
        sums = torch.stack([known.open, known.fixed], dim=1)
        return Units(sums, sums.new_zeros(len(sums), 0), self.weight, least=True)

    def rows_of_units(self, candidates: Tensor) -> Tensor:  # (k, 2, units)
        """Of quintuples and of the triple, which a value is no part of."""
        missing = 2 * self.width - candidates.shape[1]
        return functional.pad(candidates, (0, missing)).view(len(candidates), 2, self.width)

    def _rows(self, which: int, vectors: Tensor) -> Tensor:  # (…, convolved)
        """What is convolved of vectors of entities (0) or relations (1)."""
        vectors = vectors / self.scale
        return vectors @ self.maps.select(0, which) if self.settings.width else vectors

    def _sums(self, e: Tensor, r: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """K * [s; r; o] and K' * [s; r; o] (batch, places, filters), and K' * [a_i; v_i]."""
        rows = (e[:, 0], r[:, 0], e[:, 1])
        triple, base = (
            sum((convolve(x, k) for x, k in zip(rows, kernels, strict=False)), e.new_zeros(()))
            for kernels in (self.triple_kernels, self.kernels)
        )
        pairs = convolve(r[:, 1:], self.kernels[3]) + convolve(e[:, 2:], self.kernels[4])
        return triple, base, pairs  # the last (batch, qualifiers, places, filters)


def convolve(rows: Tensor, kernel: Tensor) -> Tensor:  # (…, places, filters)
    """Every filter (span, filters) at every place of rows (…, coordinates)."""
    places = rows.shape[-1] - len(kernel) + 1
    windows = [rows[..., i : i + places] for i in range(len(kernel))]
    return torch.stack(windows, dim=-1) @ kernel
