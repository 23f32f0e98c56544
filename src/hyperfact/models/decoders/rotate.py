"""RotatE: a relation turns each complex number of the head into that of the tail (ICLR 2019)."""

import torch
from torch import Tensor

from hyperfact.graph.batches import FactBatch
from hyperfact.kernels import all_complex_distances, complex_distance, reference
from hyperfact.kernels.dispatch import has_kernels
from hyperfact.models.decoders.complex import conjugate, multiply, refuse_odd
from hyperfact.models.decoders.decoder import ALL
from hyperfact.models.decoders.triple_distance import TripleDistance
from hyperfact.models.decoders.triple_edges import Edges, TripleSettings
from hyperfact.models.model_card import Card
from hyperfact.models.representations import Representations

_TINY = 1e-12


class RotatESettings(TripleSettings):
    """Options of `rotate`."""


class RotatE(TripleDistance):
    """f(h, r, t) = -tau sum_k |h_k r_k - t_k| with |r_k| = 1, summed over the edges of a fact.

    The halves of a vector are the real and the imaginary parts of d / 2 complex numbers; those of a
    relation are divided by their lengths, where the published model stores angles. For |r_k| = 1 an
    edge that asks for h points to t conj(r). Negatives compete in one softmax, which weighs hard
    ones as the published self-adversarial sampling does.
    """

    Settings = RotatESettings
    settings: RotatESettings
    negatives = 100
    first_temperature = 2.0
    card = Card(
        title="RotatE",
        year=2019,
        reference="Sun, Deng, Nie, Tang: RotatE: knowledge graph embedding by relational rotation "
        "in complex space, ICLR 2019",
        cost="O(d) for an edge and a candidate",
        qualifiers="an edge from each slot to each value, or none",
        is_expressive=False,
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Two real numbers for each complex one."""
        refuse_odd(self.dim, "rotate")
        super().prepare(generator)

    def points(self, edges: Edges) -> Tensor:  # (batch, edges, dim)
        """H r, or t conj(r)."""
        r = turns(edges.relation)
        return multiply(edges.known, edges.by_end(r, conjugate(r)))

    def distance(self, point: Tensor, relation: Tensor, candidates: Tensor) -> Tensor:
        """The sum of the lengths of complex differences."""
        del relation
        return reference.complex_distance(point[:, None], candidates)

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
        known, table = self.known(facts, slots, z, generator), self.candidates(z.entities)
        return self._summed(known, lambda point: complex_distance(point, table, candidates))

    def score_slot(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, candidates)
        """The same for all of them, where no gradient is wanted."""
        if torch.is_grad_enabled() or not has_kernels(z.entities):
            return super().score_slot(facts, slots, z, candidates=candidates, generator=generator)
        known, table = self.known(facts, slots, z, generator), self.candidates(z.entities)
        return self._summed(known, lambda point: all_complex_distances(point, table[candidates]))


def turns(relation: Tensor) -> Tensor:  # (…, dim)
    """Complex numbers of length 1."""
    real, imaginary = relation.chunk(2, dim=-1)
    length = (real.square() + imaginary.square() + _TINY).sqrt()
    return torch.cat([real / length, imaginary / length], dim=-1)
