"""BoxE: entities bump each other, and every bumped point must lie in its box (NeurIPS 2020)."""

from typing import NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.config import Section
from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.kindwise import Kindwise
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of

_WIDEST = 3.0  # of the logarithm of a side, both ways
_TINY = 1e-12  # under a root, whose slope at 0 is infinite


class BoxESettings(Section):
    """Options of `boxe`."""

    dropout: float = Field(
        default=0.1, ge=0.0, lt=1.0, description="on the vectors of the known part"
    )


class Known(NamedTuple):
    """Points of the given slots before the candidate's bump, and all boxes."""

    points: Tensor  # (batch, slots, dim) the asked one has only what others bump it
    low: Tensor  # (batch, slots, dim)
    high: Tensor  # (batch, slots, dim)
    asked: Tensor  # (batch, slots) true where the candidate stands
    mask: Tensor  # (batch, slots)


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
    ) -> Known:
        """Points moved by all that is given, and boxes."""
        p, given = self.settings.dropout, facts.known(slots)[:, :, None]
        e = dropout(z.vectors(facts, slots), p, generator)
        points, bumps = torch.where(given, self._place(e), 0.0).chunk(2, dim=-1)
        low, high = self._boxes(facts, z, generator)
        asked = torch.arange(given.shape[1], device=slots.device) == slots[:, None]
        others = bumps.sum(dim=1, keepdim=True) - bumps
        return Known(points + others, low, high, asked, facts.mask)

    def candidates(self, kind: int, known: Known, entities: Tensor) -> Tensor:  # (…, k, 2 * dim)
        """Points and bumps."""
        del kind, known
        return self._place(entities)

    def judge(self, kind: int, known: Known, candidates: Tensor) -> Tensor:  # (batch, k)
        """Distances of all points from their boxes, the candidate being one and moving the rest."""
        del kind
        point, bump = candidates[:, :, None].chunk(2, dim=-1)  # (…, k, 1, dim)
        asked = known.asked[:, None, :, None]
        x = torch.tanh(known.points[:, None] + torch.where(asked, point, bump))
        away = distances(x, known.low[:, None], known.high[:, None])  # (batch, k, slots)
        total = torch.where(known.mask[:, None], away, 0.0).sum(dim=2)
        return -self.log_temperature.exp() * total

    def _place(self, entities: Tensor) -> Tensor:  # (…, 2 * dim)
        return (entities / self.scale) @ self.places

    def _boxes(
        self, facts: FactBatch, z: Representations, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:  # (batch, slots, dim) each
        """Corners of the box of each slot."""
        r = dropout(rows_of(z.relations, facts.relations), self.settings.dropout, generator)
        r = r / self.scale  # (batch, slots - 1, dim)
        ends = [(r[:, :1] @ self.boxes.select(0, kind)) for kind in (0, 1)]
        centre, side = torch.cat([*ends, r[:, 1:] @ self.boxes[2]], dim=1).chunk(2, dim=-1)
        half = side.clamp(-_WIDEST, _WIDEST).exp() / 2
        return torch.tanh(centre - half), torch.tanh(centre + half)


def distances(x: Tensor, low: Tensor, high: Tensor) -> Tensor:  # (…,)
    """Length of delta over the coordinates: small and flat inside a box, steep outside."""
    centre, side = (low + high) / 2, high - low
    v = side + 1
    off = (x - centre).abs()
    delta = torch.maximum(off / v, v * off - side / 2 * (v - 1 / v))  # they meet at the border
    return (delta.square().sum(dim=-1) + _TINY).sqrt()
