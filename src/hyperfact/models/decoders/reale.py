"""ReAlE: entities add up inside small windows of coordinates, which are squashed (JMLR 2023)."""

import math
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from hyperfact.config import Section
from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.kernels import all_window_sums, window_sums
from hyperfact.kernels.dispatch import has_kernels
from hyperfact.models.decoders.candidatewise import Candidatewise
from hyperfact.models.decoders.decoder import ALL
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of

_EVEN = 192  # candidates; vectorised loops then end in candidates that only fill

_SQUASHES: Mapping[str, Callable[[Tensor], Tensor]] = {
    "none": lambda x: x,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}
Squash = Literal["none", "relu", "sigmoid", "tanh"]


class ReAlESettings(Section):
    """Options of `reale`."""

    window: int = Field(
        default=2, ge=1, description="coordinates w that are added up; must divide d"
    )
    squash: Squash = Field(default="sigmoid", description="sigma, on the sum of a window")
    entity_squash: Squash = Field(default="tanh", description="tau, on the vectors of entities")
    start: float = Field(
        default=1.0,
        gt=0.0,
        description="deviation of the coordinates of entities at the start, before tau",
    )
    dropout: float = Field(
        default=0.2, ge=0.0, lt=1.0, description="on the vectors of known entities"
    )


class Known(NamedTuple):
    """What a question says: the sum of each window so far, and the weights of the asked slot."""

    sums: Tensor  # (batch, windows)
    weights: Tensor  # (batch, dim)


class ReAlE(Candidatewise):
    """phi(x) = sum_j sigma( beta_j + sum_p sum_t w_p[t, j] tau(h_p)[t, j] ), j being windows.

    The weights w_p of a slot are linear in its role, beta in h_r: W_s h_r for the subject, W_o h_r
    for the object, W_v h_a for a value. The published model has free weights for each relation and
    place, and padded places that add tau(0) of them; here an attribute names the place, and slots
    that do not exist add nothing. tau is tanh, which is 0 at 0, where the published one is sigmoid.
    Sums start with a deviation of about 1.
    """

    Settings = ReAlESettings
    settings: ReAlESettings
    negatives = 100
    card = Card(
        title="ReAlE",
        year=2023,
        reference="Fatemi, Taslakian, Vazquez, Poole: Knowledge hypergraph embedding meets "
        "relational algebra, JMLR 24, 2023",
        cost="O(m d²) for a question, O(d) for each of its candidates",
        qualifiers="a term in every window for each value, weighed by its attribute",
        is_expressive=True,
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Maps from relations to weights of slots, and to the bias of windows."""
        dim, window = self.dim, self.settings.window
        if dim % window:
            raise ConfigError(f"decoder.window = {window} must divide training.dim = {dim}")
        spread = 1.0 / math.sqrt(dim)
        self.roles = nn.Parameter(
            torch.empty(3, dim, dim).normal_(0.0, spread, generator=generator)
        )  # W of subjects, of objects, of values
        self.bias = nn.Parameter(
            torch.empty(dim, dim // window).normal_(0.0, 0.1 * spread, generator=generator)
        )

    @property
    def width(self) -> int:
        """The sum of each window."""
        return self.dim // self.settings.window

    def known(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Known:
        """Add up what is given."""
        weights, bias = self._weights(facts, z)
        entities = self.candidates(z.vectors(facts, slots))
        entities = dropout(entities, self.settings.dropout, generator)
        terms = torch.where(facts.known(slots)[:, :, None], weights * entities, 0.0)
        sums = self._windows(terms.sum(dim=1)).sum(dim=1)  # (batch, windows)
        asked = weights.gather(1, slots[:, None, None].expand(-1, 1, self.dim))[:, 0]
        dtype = z.entities.dtype  # products may have been found in less
        return Known((sums + bias).to(dtype), asked.to(dtype))

    def candidates(self, entities: Tensor) -> Tensor:  # (…, dim)
        """Tau of their coordinates."""
        return _SQUASHES[self.settings.entity_squash](entities * (self.settings.start / self.scale))

    def judge(self, known: Known, candidates: Tensor) -> Tensor:  # (batch, k)
        """Add the candidate to every window."""
        count = candidates.shape[1]
        if len(candidates) < len(known.sums) or count > 1:
            candidates = functional.pad(candidates, (0, 0, 0, -count % _EVEN))
        sums = known.sums[:, None]  # (batch, 1, windows)
        parts = zip(
            self._windows(known.weights).unbind(dim=1),
            self._windows(candidates).unbind(dim=-2),
            strict=True,
        )
        for weights, coordinates in parts:
            sums = torch.addcmul(sums, weights[:, None], coordinates)  # (batch, k, windows)
        return _SQUASHES[self.settings.squash](sums).sum(dim=2)[:, :count]

    def score_candidates(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: Tensor,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, k)
        """A kernel walks the rows of the candidates where they lie."""
        if self.settings.squash != "sigmoid" or not has_kernels(z.entities):
            return super().score_candidates(
                facts, slots, z, candidates=candidates, generator=generator
            )
        known = self.known(facts, slots, z, generator)
        weights, table = self._windows(known.weights), self._windows(self.candidates(z.entities))
        return window_sums(known.sums, weights, table, candidates)

    def score_slot(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, candidates)
        """The same for all of them."""
        if self.settings.squash != "sigmoid" or not has_kernels(z.entities):
            return super().score_slot(facts, slots, z, candidates=candidates, generator=generator)
        known = self.known(facts, slots, z, generator)
        weights = self._windows(known.weights)
        table = self._windows(self.candidates(z.entities[candidates]))
        if not torch.is_grad_enabled():
            return all_window_sums(known.sums, weights, table)
        everyone = torch.arange(len(table)).expand(len(slots), -1)
        return window_sums(known.sums, weights, table, everyone)

    def _windows(self, vectors: Tensor) -> Tensor:  # (…, window, windows)
        """Coordinates j, j + n, j + 2 n, … are one window."""
        return vectors.reshape(*vectors.shape[:-1], self.settings.window, -1)

    def _weights(self, facts: FactBatch, z: Representations) -> tuple[Tensor, Tensor]:
        """Of each slot the weights (batch, slots, dim), and the bias (batch, windows)."""
        relations = rows_of(z.relations, facts.relations) / self.scale
        primary, attributes = relations[:, :1], relations[:, 1:]
        subject, target, value = self.roles
        weights = torch.cat([primary @ subject, primary @ target, attributes @ value], dim=1)
        share = math.sqrt(2 * self.settings.window)  # of a sum over the two ends of a plain fact
        return weights / share, primary[:, 0] @ self.bias
