"""ComplEx: the product of DistMult in complex numbers, which tells h from t (ICML 2016)."""

import torch
from torch import Tensor

from hyperfact.errors import ConfigError
from hyperfact.models.decoders.triple_edges import Edges, TripleSettings
from hyperfact.models.decoders.triple_scorer import TripleScorer
from hyperfact.models.model_card import Card


class ComplExSettings(TripleSettings):
    """Options of `complex`."""


class ComplEx(TripleScorer):
    """f(h, r, t) = Re sum_k h_k r_k conj(t_k), summed over the edges of a fact.

    The halves of a vector are the real and the imaginary parts of d / 2 complex numbers. Dropout
    takes the place of the published penalty on lengths.
    """

    Settings = ComplExSettings
    settings: ComplExSettings
    card = Card(
        title="ComplEx",
        year=2016,
        reference="Trouillon, Welbl, Riedel, Gaussier, Bouchard: Complex embeddings for simple "
        "link prediction, ICML 2016",
        cost="O(d) for an edge, one matrix product for all candidates",
        qualifiers="an edge from each slot to each value, or none",
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Two real numbers for each complex one."""
        refuse_odd(self.dim, "complex")
        super().prepare(generator)

    def queries(
        self, edges: Edges, generator: torch.Generator | None
    ) -> Tensor:  # (batch, edges, dim)
        """H r, or t conj(r): Re(h r conj(t)) = Re(h conj(t conj(r)))."""
        edges = edges.thinned(self.settings.dropout, generator)
        relation = edges.by_end(edges.relation, conjugate(edges.relation))
        return multiply(edges.known, relation)


def multiply(x: Tensor, y: Tensor) -> Tensor:  # (…, dim)
    """The product of complex numbers whose parts are the halves."""
    (a, b), (c, d) = x.chunk(2, dim=-1), y.chunk(2, dim=-1)
    return torch.cat([a * c - b * d, a * d + b * c], dim=-1)


def conjugate(x: Tensor) -> Tensor:  # (…, dim)
    """The conjugates of complex numbers whose parts are the halves."""
    real, imaginary = x.chunk(2, dim=-1)
    return torch.cat([real, -imaginary], dim=-1)


def refuse_odd(dim: int, name: str) -> None:
    """Complex numbers need an even number of coordinates.

    Raises:
        ConfigError: It is odd.
    """
    if dim % 2:
        raise ConfigError(f"{name} pairs coordinates: training.dim must be even, got {dim}")
