"""DistMult: one product of two entities and a relation (ICLR 2015)."""

import torch
from torch import Tensor

from hyperfact.models.decoders.triple_edges import Edges, TripleSettings
from hyperfact.models.decoders.triple_scorer import TripleScorer
from hyperfact.models.model_card import Card


class DistMultSettings(TripleSettings):
    """Options of `distmult`."""


class DistMult(TripleScorer):
    """f(h, r, t) = sum_k h_k r_k t_k, summed over the edges of a fact.

    Symmetric in h and t, unless relations have inverses. The published model fits a margin and
    keeps entities at unit length; here scale and dropout take their place.
    """

    Settings = DistMultSettings
    settings: DistMultSettings
    card = Card(
        title="DistMult",
        year=2015,
        reference="Yang, Yih, He, Gao, Deng: Embedding entities and relations for learning and "
        "inference in knowledge bases, ICLR 2015",
        cost="O(d) for an edge, one matrix product for all candidates",
        qualifiers="an edge from each slot to each value, or none",
        is_expressive=False,
    )

    def queries(
        self, edges: Edges, generator: torch.Generator | None
    ) -> Tensor:  # (batch, edges, dim)
        """The product of what is known."""
        edges = edges.thinned(self.settings.dropout, generator)
        return edges.known * edges.relation
