"""BoxE: entities bump each other, and every bumped point must lie in its box (NeurIPS 2020)."""

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.config import Section
from hyperfact.graph.batches import FactBatch
from hyperfact.kernels import Boxes, all_box_distances, box_distance, expanded_box_distance
from hyperfact.kernels.dispatch import has_kernels
from hyperfact.models.decoders.decoder import ALL
from hyperfact.models.decoders.kindwise import Kindwise, whole_blocks
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of

_WIDEST = 3.0  # of the logarithm of a side, both ways


class BoxESettings(Section):
    """Options of `boxe`."""

    dropout: float = Field(
        default=0.1, ge=0.0, lt=1.0, description="on the vectors of the known part"
    )


class BoxE(Kindwise):
    """phi(x) = -tau sum_p ||delta(x_p, box of the role of p)||, x_p = tanh(P e_p + sum_j B e_j).

    j are the other slots. A box has centre C h and the logarithms of its sides L h, its corners
    pass tanh too; h is that of the relation for subject and object, with maps of their own, and
    that of the attribute for a value. With c the centre and v = 1 + side, delta is |x - c| / v
    inside and v |x - c| - (v - 1) (v - 1 / v) / 2 outside.

    The published model has boxes for each place of a composed relation; boxes by role share what
    attributes mean, but do not see which relation an attribute qualifies, and are therefore not
    fully expressive. tau is learned, which takes the place of the published margin.
    """

    Settings = BoxESettings
    settings: BoxESettings
    negatives = 50
    card = Card(
        title="BoxE",
        year=2020,
        reference="Abboud, Ceylan, Lukasiewicz, Salvatori: BoxE: a box embedding model for "
        "knowledge base completion, NeurIPS 2020",
        cost="O(m d + d²), O(m d) for each candidate",
        qualifiers="a point and a box for each, the box by its attribute; values bump all others",
        is_expressive=False,
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Maps of entities to points and bumps, of relations to boxes, and tau."""
        dim = self.dim
        entities = torch.empty(dim, 2 * dim).normal_(0.0, 0.3 * dim**-0.5, generator=generator)
        boxes = torch.empty(3, dim, 2 * dim).normal_(0.0, 0.3 * dim**-0.5, generator=generator)
        self.places = nn.Parameter(entities)  # P and B
        self.boxes = nn.Parameter(boxes)  # C and L of subjects, objects and values
        self.log_temperature = nn.Parameter(torch.tensor(0.3))

    @property
    def width(self) -> int:
        """Coordinates of the points of a fact."""
        return 4 * self.dim

    def groups(self, facts: FactBatch, slots: Tensor) -> Tensor:  # (batch,)
        """A candidate is the same in every slot."""
        del facts
        return torch.zeros_like(slots)

    def known(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Boxes:
        """Points moved by all that is given, and boxes."""
        p, given = self.settings.dropout, facts.known(slots)[:, :, None]
        e = dropout(z.vectors(facts, slots), p, generator)
        points, bumps = torch.where(given, self._place(e), 0.0).chunk(2, dim=-1)
        others = bumps.sum(dim=1, keepdim=True) - bumps
        return Boxes(points + others, self._boxes(facts, z, generator), slots, facts.mask)

    def candidates(self, kind: int, known: Boxes, entities: Tensor) -> Tensor:  # (…, k, 2 * dim)
        """Points and bumps."""
        del kind, known
        return self._place(entities)

    def judge(self, kind: int, known: Boxes, candidates: Tensor) -> Tensor:  # (batch, k)
        """Distances of all points from their boxes, the candidate being one and moving the rest."""
        del kind
        return self._closeness(expanded_box_distance(known, candidates))

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
        known, table = self.known(facts, slots, z, generator), self._table(z.entities)
        return self._closeness(box_distance(known, table, candidates))

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
        known, table = self.known(facts, slots, z, generator), self._table(z.entities[candidates])
        return self._closeness(all_box_distances(known, table))

    def _closeness(self, distances: Tensor) -> Tensor:
        return -self.log_temperature.exp() * distances

    def _table(self, entities: Tensor) -> Tensor:  # (entities, 2 * dim)
        """Points and bumps of all."""
        return self._place(whole_blocks(entities))[: len(entities)]

    def _place(self, entities: Tensor) -> Tensor:  # (…, 2 * dim)
        return ((entities / self.scale) @ self.places).to(entities.dtype)

    def _boxes(
        self, facts: FactBatch, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (batch, slots, 2 * dim)
        """The centre of the box of each slot, and 1 more than its sides."""
        r = dropout(rows_of(z.relations, facts.relations), self.settings.dropout, generator)
        r = r / self.scale  # (batch, slots - 1, dim)
        ends = [(r[:, :1] @ self.boxes.select(0, kind)) for kind in (0, 1)]
        centre, side = torch.cat([*ends, r[:, 1:] @ self.boxes[2]], dim=1).chunk(2, dim=-1)
        half = side.clamp(-_WIDEST, _WIDEST).exp() / 2
        low, high = torch.tanh(centre - half), torch.tanh(centre + half)
        return torch.cat([(low + high) / 2, high - low + 1], dim=-1).to(z.relations.dtype)
