"""TransH: a relation moves the head to the tail on a hyperplane of its own (AAAI 2014)."""

import math

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import ALL, even_products
from hyperfact.models.decoders.triple_distance import TripleDistance
from hyperfact.models.decoders.triple_edges import Edges, TripleSettings
from hyperfact.models.model_card import Card
from hyperfact.models.representations import Representations


class TransHSettings(TripleSettings):
    """Options of `transh`."""

    dropout: float = Field(
        default=0.1, ge=0.0, lt=1.0, description="on the vectors of the known part"
    )


class TransH(TripleDistance):
    """f(h, r, t) = -tau |P h + t_r - P t|², P e = e - (w_r · e) w_r, summed over a fact's edges.

    The translation t_r and the unit normal w_r are linear maps of h_r. The published soft
    constraints (unit balls, t_r on the hyperplane) are left out.
    """

    Settings = TransHSettings
    settings: TransHSettings
    negatives = 100
    card = Card(
        title="TransH",
        year=2014,
        reference="Wang, Zhang, Feng, Chen: Knowledge graph embedding by translating on "
        "hyperplanes, AAAI 2014",
        cost="O(d²) for an edge, two matrix products of it with all candidates",
        qualifiers="an edge from each slot to each value, or none",
        is_expressive=False,
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Maps to translation and normal."""
        super().prepare(generator)
        torch.nn.init.constant_(self.log_temperature, math.log(math.sqrt(self.dim) / 2))
        self.translation, self.normal = (
            nn.Parameter(
                torch.empty(self.dim, self.dim).normal_(
                    0.0, 1.0 / math.sqrt(self.dim), generator=generator
                )
            )
            for _ in range(2)
        )

    def points(self, edges: Edges) -> Tensor:  # (batch, edges, dim)
        """P h + t_r, or P t - t_r."""
        move = edges.relation @ self.translation
        projected = flat(edges.known, self._normals(edges.relation))
        return projected + edges.by_end(move, -move)

    def candidates(self, entities: Tensor) -> Tensor:  # (…, k, dim + 1)
        """[e, |e|²]."""
        e = super().candidates(entities)
        return torch.cat([e, e.square().sum(dim=-1, keepdim=True)], dim=-1)

    def distance(self, point: Tensor, relation: Tensor, candidates: Tensor) -> Tensor:
        """|u - P e|² = |u|² - 2 (P u) · e + |e|² - (w · e)², with no table of P e."""
        e, lengths = candidates[..., :-1], candidates[..., -1]
        normals = self._normals(relation)
        both = torch.stack([flat(point, normals), normals], dim=2)  # (batch, dim, 2)
        across, along = (e @ both).unbind(dim=2)  # (batch, k) each
        constant = point.square().sum(dim=1, keepdim=True)
        return constant - 2 * across + lengths - along.square()

    def score_slot(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, candidates)
        """The same, the terms that are linear in e for all edges at once."""
        points, relation, exists = self.known(facts, slots, z, generator)
        table = self.candidates(z.entities[candidates])
        table, lengths, normals = table[:, :-1], table[:, -1], self._normals(relation)
        points = torch.where(exists[:, :, None], points, 0.0)
        constant = points.square().sum(dim=(1, 2))[:, None]
        total = constant - 2 * even_products(flat(points, normals).sum(dim=1), table)
        for normal, there in zip(normals.unbind(dim=1), exists.unbind(dim=1), strict=True):
            along = lengths - even_products(normal, table).square()
            total = total + torch.where(there[:, None], along, 0.0)
        return -self.temperature * total

    def _normals(self, relation: Tensor) -> Tensor:  # (…, dim)
        return functional.normalize(relation @ self.normal, dim=-1)


def flat(vectors: Tensor, normals: Tensor) -> Tensor:  # (…, dim)
    """The projections on hyperplanes with these unit normals."""
    return vectors - (vectors * normals).sum(dim=-1, keepdim=True) * normals
