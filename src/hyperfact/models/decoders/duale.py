"""DualE: a relation turns and moves entities, all being dual quaternions (AAAI 2021)."""

import torch
from torch import Tensor
from torch.nn import functional

from hyperfact.errors import ConfigError
from hyperfact.models.decoders.triple_edges import Edges, TripleSettings
from hyperfact.models.decoders.triple_scorer import TripleScorer
from hyperfact.models.model_card import Card


class DualESettings(TripleSettings):
    """Options of `duale`."""


class DualE(TripleScorer):
    """f(h, r, t) = <h ⊗ r', t>, summed over the edges of a fact.

    A vector is d / 8 dual quaternions a + ε b. The relation c + ε d is made to one of length 1, c'
    = c / |c|, d' = d - (d · c') c', and h ⊗ r' = a c' + ε (a d' + b c') in Hamilton's product.
    Dropout takes the place of the published penalty on lengths.
    """

    Settings = DualESettings
    settings: DualESettings
    card = Card(
        title="DualE",
        year=2021,
        reference="Cao, Xu, Yang, Cao, Huang: Dual quaternion knowledge graph embeddings, "
        "AAAI 2021",
        cost="O(d) for an edge, one matrix product for all candidates",
        qualifiers="an edge from each slot to each value, or none",
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Eight real numbers for each dual quaternion."""
        if self.dim % 8:
            raise ConfigError(
                f"duale reads dual quaternions: training.dim must be a multiple of 8, "
                f"got {self.dim}"
            )
        super().prepare(generator)

    def queries(
        self, edges: Edges, generator: torch.Generator | None
    ) -> Tensor:  # (batch, edges, dim)
        """H ⊗ r', or what h meets there: <a c, t> = <a, t c*> in each of the three products."""
        edges = edges.thinned(self.settings.dropout, generator)
        (a, b), (c, d) = halves(edges.known), unit(edges.relation)
        target = joined(hamilton(a, c), hamilton(a, d) + hamilton(b, c))
        c, d = turned_back(c), turned_back(d)
        return edges.by_end(target, joined(hamilton(a, c) + hamilton(b, d), hamilton(b, c)))


def halves(vectors: Tensor) -> tuple[Tensor, Tensor]:  # (…, 4, dim / 8) each
    """The real and the dual parts."""
    real, dual = vectors.view(*vectors.shape[:-1], 2, 4, -1).unbind(dim=-3)
    return real, dual


def joined(real: Tensor, dual: Tensor) -> Tensor:  # (…, dim)
    """The vectors whose parts these are."""
    return torch.stack([real, dual], dim=-3).flatten(-3)


def unit(relation: Tensor) -> tuple[Tensor, Tensor]:  # (…, 4, dim / 8) each
    """The parts of dual quaternions of length 1: c of length 1, d at a right angle to it."""
    c, d = halves(relation)
    c = functional.normalize(c, dim=-2)
    return c, d - (d * c).sum(dim=-2, keepdim=True) * c


def hamilton(x: Tensor, y: Tensor) -> Tensor:  # (…, 4, dim / 8)
    """Hamilton's product of quaternions."""
    (a, b, c, d), (e, f, g, h) = x.unbind(dim=-2), y.unbind(dim=-2)
    parts = (
        a * e - b * f - c * g - d * h,
        a * f + b * e + c * h - d * g,
        a * g - b * h + c * e + d * f,
        a * h + b * g - c * f + d * e,
    )
    return torch.stack(parts, dim=-2)


def turned_back(x: Tensor) -> Tensor:  # (…, 4, dim / 8)
    """The conjugates of quaternions."""
    return torch.cat([x[..., :1, :], -x[..., 1:, :]], dim=-2)
