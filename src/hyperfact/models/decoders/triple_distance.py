"""Scorers of triples by distance: where (h, r, ?) and (?, r, t) point to, and how far that is."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.candidatewise import Candidatewise
from hyperfact.models.decoders.triple_edges import Edges, FactEdges, TripleSettings
from hyperfact.models.representations import Representations


class Pointed(NamedTuple):
    """Where the edges at the asked slot point to."""

    points: Tensor  # (batch, edges, dim)
    relation: Tensor  # (batch, edges, dim)
    exists: Tensor  # (batch, edges)


class TripleDistance(Candidatewise):
    """phi(x) = -tau times the sum over the edges at the asked slot of D(point of the edge, e).

    A member writes points and D. Entities are scaled to about unit length; the temperature tau is
    learned. The published models fit a margin and keep entities in the unit ball instead.
    """

    Settings: ClassVar[type[TripleSettings]]
    settings: TripleSettings
    takes_means = False  # the middle of all is near to everything
    first_temperature: ClassVar[float] = 1.0

    def prepare(self, generator: torch.Generator) -> None:
        """How facts become edges, and the temperature."""
        self.edges = FactEdges(self.dim, self.settings, generator)
        self.log_temperature = nn.Parameter(torch.tensor(math.log(self.first_temperature)))

    @abstractmethod
    def points(self, edges: Edges) -> Tensor:  # (batch, edges, dim)
        """Where (h, r, ?) points to, or (?, r, t), from vectors of about unit length."""

    @abstractmethod
    def distance(self, point: Tensor, relation: Tensor, candidates: Tensor) -> Tensor:
        """D of the points of one edge of each fact, (batch, dim), from candidates (…, k, dim)."""

    @staticmethod
    def fills_values(settings: Any) -> bool:
        """Only where qualifiers are read."""
        return bool(settings.qualifiers == "hyperedge")

    @property
    def _unit(self) -> float:
        return self.scale * math.sqrt(self.dim)

    @property
    def temperature(self) -> Tensor:
        """Tau."""
        return self.log_temperature.exp()

    def known(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Pointed:
        """The points of all edges."""
        edges = self.edges(facts, slots, z).scaled(self._unit)
        edges = edges.thinned(self.settings.dropout, generator)
        return Pointed(self.points(edges), edges.relation, edges.exists)

    def candidates(self, entities: Tensor) -> Tensor:  # (…, k, dim)
        """Vectors of about unit length."""
        return entities / self._unit

    def judge(self, known: Pointed, candidates: Tensor) -> Tensor:  # (batch, k)
        """All edges, one after the other: candidates are many, edges are few."""
        relations = iter(known.relation.unbind(dim=1))
        return self._summed(known, lambda p: self.distance(p, next(relations), candidates))

    def _summed(self, known: Pointed, distance: Callable[[Tensor], Tensor]) -> Tensor:  # (batch, k)
        """Scores, from the distances of the points of one edge of each fact."""
        total: Tensor | float = 0.0
        for point, exists in zip(known.points.unbind(1), known.exists.unbind(1), strict=True):
            total = total + torch.where(exists[:, None], distance(point), 0.0)
        return -self.temperature * total
