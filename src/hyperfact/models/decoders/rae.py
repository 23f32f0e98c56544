"""RAE: m-TransH, and whether entities go together at all (WWW 2018)."""

import torch
from torch import Tensor, nn

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import ALL, even_products
from hyperfact.models.decoders.mtransh import MTransH
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of


class RAE(MTransH):
    """phi(x) = -tau D² + sum_j e_j M e, the distance D of m-TransH and how related entities are.

    e is the asked entity and e_j are the given ones. The published model learns relatedness by a
    network and a loss of its own, pairs that share a fact against pairs that do not, and scores by
    the distance alone. Here it is a term of the score: its softmax over candidates is that loss,
    and there is no second one. Bilinear, it stays one matrix product for all candidates.
    """

    card = Card(
        title="RAE",
        year=2018,
        reference="Zhang, Li, Mei, Mao: Scalable instance reconstruction in knowledge bases via "
        "relatedness affiliated embedding, WWW 2018",
        cost="O(m d + d²), three matrix products for all candidates",
        qualifiers="a term of the weighted sum for each value, its weight by the attribute; and a "
        "term for how it is related to the answer",
        is_expressive=False,
    )

    def prepare(self, generator: torch.Generator) -> None:
        """What m-TransH has, and M, small at the start."""
        super().prepare(generator)
        relatedness = torch.empty(self.dim, self.dim).normal_(0.0, 0.1, generator=generator)
        self.relatedness = nn.Parameter(relatedness)

    def score(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch,)
        """The score of m-TransH, and relatedness."""
        distance = super().score(facts, slots, z, generator=generator)
        related = self._related(facts, slots, z, generator)
        return distance + (related * rows_of(z.entities, facts.answers(slots))).sum(dim=1)

    def score_slot(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, candidates)
        """The same for all candidates."""
        distance = super().score_slot(facts, slots, z, candidates=candidates, generator=generator)
        related = self._related(facts, slots, z, generator)
        return distance + even_products(related, z.entities[candidates])

    def _related(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (batch, dim)
        """The sum of the given entities through M, in units of about unit length."""
        e = dropout(z.vectors(facts, slots), self.settings.dropout, generator)
        given = torch.where(facts.known(slots)[:, :, None], e, 0.0).sum(dim=1)
        return given @ self.relatedness / self._unit**2
