"""TransE: a relation moves the head to the tail (NIPS 2013)."""

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import ALL, LinearForm
from hyperfact.models.decoders.triple_distance import TripleDistance
from hyperfact.models.decoders.triple_edges import Edges, TripleSettings
from hyperfact.models.model_card import Card
from hyperfact.models.representations import Representations


class TransESettings(TripleSettings):
    """Options of `transe`."""

    norm: Literal[1, 2] = Field(
        default=2,
        description="distance: the sum of absolute differences, or the squared Euclidean one, "
        "whose scores are one product. With 1 set objective.negatives, say to 100",
    )
    dropout: float = Field(
        default=0.1, ge=0.0, lt=1.0, description="on the vectors of the known part"
    )


class TransE(TripleDistance):
    """f(h, r, t) = -tau D(h + r, t), summed over the edges of a fact.

    D is the published L1 distance or the square of L2. An edge that asks for h points to t - r. A
    sum of squared distances from the points u_1 … u_n is n |e|² - 2 (u_1 + … + u_n) · e + …, which
    is linear in [e, |e|²].
    """

    Settings = TransESettings
    settings: TransESettings
    card = Card(
        title="TransE",
        year=2013,
        reference="Bordes, Usunier, Garcia-Duran, Weston, Yakhnenko: Translating embeddings for "
        "modeling multi-relational data, NIPS 2013",
        cost="O(d) for an edge; one matrix product for all candidates with the squared L2 distance",
        qualifiers="an edge from each slot to each value, or none",
        is_expressive=False,
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Squared distances spread less than L1 distances."""
        super().prepare(generator)
        if self.settings.norm == 2:
            torch.nn.init.constant_(self.log_temperature, math.log(math.sqrt(self.dim) / 2))

    def points(self, edges: Edges) -> Tensor:  # (batch, edges, dim)
        """H + r, or t - r."""
        return edges.known + edges.by_end(edges.relation, -edges.relation)

    def distance(self, point: Tensor, relation: Tensor, candidates: Tensor) -> Tensor:
        """The sum of absolute or squared differences."""
        del relation
        if self.settings.norm == 2:
            return (point[:, None] - candidates).square().sum(dim=-1)
        if len(candidates) == 1:  # the same for all questions
            return torch.cdist(point, candidates[0], p=1.0)
        return torch.cdist(point[:, None], candidates, p=1.0)[:, 0]

    def linear_form(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> LinearForm | None:
        """-tau (n |e|² - 2 (u_1 + … + u_n) · e + |u_1|² + … + |u_n|²), squared distances only."""
        if self.settings.norm == 1:
            return None
        points, _, exists = self.known(facts, slots, z, generator)
        points = torch.where(exists[:, :, None], points, 0.0)
        count = exists.sum(dim=1, keepdim=True).to(points.dtype)
        table = self.candidates(z.entities[candidates])
        table = torch.cat([table, table.square().sum(dim=1, keepdim=True)], dim=1)
        queries = self.temperature * torch.cat([2 * points.sum(dim=1), -count], dim=1)
        constant = -self.temperature * points.square().sum(dim=(1, 2))
        return LinearForm(queries, table, constant=constant)

    def score_slot(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, candidates)
        """One product, or distance by distance."""
        form = self.linear_form(facts, slots, z, candidates=candidates, generator=generator)
        if form is not None:
            return form.scores()
        return super().score_slot(facts, slots, z, candidates=candidates, generator=generator)
