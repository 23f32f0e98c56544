"""OneQuery: decoders whose scores are products of one vector with the entities as they are."""

from abc import abstractmethod

import torch
from torch import Tensor

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import ALL, Decoder, LinearForm
from hyperfact.models.representations import Representations, rows_of


class OneQuery(Decoder):
    """phi(x) = q · h_e, where q holds all that is known, and e stands in the asked slot."""

    @abstractmethod
    def query(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (batch, dim)
        """What is known, as the vector that candidates are multiplied with."""

    def score(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch,)
        """The product with the answer, summed over coordinates."""
        query = self.query(facts, slots, z, generator)
        return (query * rows_of(z.entities, facts.answers(slots))).sum(dim=1)

    def linear_form(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> LinearForm:
        """The query, against the entities as they are."""
        return LinearForm(self.query(facts, slots, z, generator), z.entities[candidates])
