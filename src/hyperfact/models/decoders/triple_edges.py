"""Edges of a fact at the asked slot: how a scorer of triples reads a fact with qualifiers.

A fact is read as its edges in the semantic clique expansion (`transforms.cliques`): (s, r, o), and
for each value the edges (x, a at x, v) from all other slots. Edges that do not touch the asked slot
are the same for every candidate, so that only the others are made.
"""

import math
from typing import Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.config import Section
from hyperfact.errors import UserError
from hyperfact.graph.batches import FactBatch
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of

_VALUE = 2  # the first slot of a value; also the place of all values


class TripleSettings(Section):
    """Options of every scorer of triples."""

    qualifiers: Literal["hyperedge", "ignore"] = Field(
        default="hyperedge",
        description="score the edges that the fact has in the semantic clique expansion, or the "
        "primary triple alone; values can then not be asked for",
    )
    reciprocal: bool = Field(
        default=False,
        description="ask for the source of an edge as for the target of its inverse, whose vector "
        "is a learned map of the relation's",
    )
    dropout: float = Field(
        default=0.3, ge=0.0, lt=1.0, description="on the vectors of the known part"
    )


class Edges(NamedTuple):
    """Edges between the asked slot and others; a fact has as many as `exists` says."""

    known: Tensor  # (batch, edges, dim) vectors of the other ends
    relation: Tensor  # (batch, edges, dim)
    asks_target: Tensor  # (batch, edges) whether the asked slot is the target of the edge
    exists: Tensor  # (batch, edges)
    label: Tensor  # (batch, edges) equal numbers have equal relations

    def scaled(self, unit: float) -> "Edges":
        """The same with all vectors divided by `unit`."""
        return self._replace(known=self.known / unit, relation=self.relation / unit)

    def thinned(self, p: float, generator: torch.Generator | None) -> "Edges":
        """The same with dropout on all vectors."""
        known, relation = (dropout(x, p, generator) for x in (self.known, self.relation))
        return self._replace(known=known, relation=relation)

    def by_end(self, target: Tensor, source: Tensor) -> Tensor:  # (batch, edges, dim)
        """The one where the target of the edge is asked for, the other where its source is."""
        return torch.where(self.asks_target[:, :, None], target, source)


class Layout(NamedTuple):
    """Which edges there are, by slots."""

    other: Tensor  # (batch, edges) the slot at the other end
    asks_target: Tensor  # (batch, edges)
    exists: Tensor  # (batch, edges)

    @classmethod
    def of(cls, facts: FactBatch, slots: Tensor) -> "Layout":
        """An edge to every other slot; between two values one in each direction.

        The order of qualifiers could not decide which of two values is the source.
        """
        width, asked = facts.mask.shape[1], slots[:, None]
        others = torch.arange(width - 1, device=slots.device)
        first = others + (others >= asked)  # (batch, width - 1) every slot but the asked one
        value = asked >= _VALUE
        asks_target = value | ((asked == 1) & (first == 0))
        again = first[:, _VALUE:]  # for an asked value: the other values
        other = torch.cat([first, again], dim=1)
        exists = facts.mask.gather(1, other)
        exists = torch.cat([exists[:, : width - 1], exists[:, width - 1 :] & value], dim=1)
        asks_target = torch.cat([asks_target, torch.zeros_like(again, dtype=torch.bool)], dim=1)
        return cls(other, asks_target, exists)

    @classmethod
    def primary(cls, slots: Tensor) -> "Layout":
        """The one edge from subject to object."""
        asked = slots[:, None]
        return cls(1 - asked, asked == 1, torch.ones_like(asked, dtype=torch.bool))


class FactEdges(nn.Module):
    """The relation of (x, v) is h_a plus a learned vector of the place of x.

    Places are subject, object and value; values of one fact are not numbered, so that the order of
    qualifiers does not matter. Where relations have inverses, every edge asks for its target.
    """

    def __init__(self, dim: int, settings: TripleSettings, generator: torch.Generator) -> None:
        super().__init__()
        self.is_whole = settings.qualifiers == "hyperedge"
        self.places = nn.Parameter(torch.zeros(3, dim)) if self.is_whole else None
        inverse = torch.empty(dim, dim).normal_(0.0, 1.0 / math.sqrt(dim), generator=generator)
        self.inverse = nn.Parameter(inverse) if settings.reciprocal else None

    def forward(self, facts: FactBatch, slots: Tensor, z: Representations) -> Edges:
        """The edges of each fact at its asked slot.

        Raises:
            UserError: A value is asked for, and values are ignored.
        """
        if not self.is_whole:
            refuse_values(slots)
        layout = Layout.of(facts, slots) if self.is_whole else Layout.primary(slots)
        vectors = z.vectors(facts, slots)
        index = layout.other[:, :, None].expand(-1, -1, vectors.shape[2])
        relation, label = self._relations(facts, slots, z, layout)
        known, asks_target = vectors.gather(1, index), layout.asks_target
        edges = Edges(known, relation, asks_target, layout.exists, label)
        if self.inverse is None:
            return edges
        relation = edges.by_end(relation, relation @ self.inverse)
        asks = torch.ones_like(asks_target)
        return edges._replace(relation=relation, asks_target=asks, label=2 * label + asks_target)

    def _relations(
        self, facts: FactBatch, slots: Tensor, z: Representations, layout: Layout
    ) -> tuple[Tensor, Tensor]:  # (batch, edges, dim), (batch, edges)
        asked = slots[:, None].expand_as(layout.other)
        source = torch.where(layout.asks_target, layout.other, asked)
        target = torch.where(layout.asks_target, asked, layout.other)
        places = (target - 1).clamp(min=0)  # where there is no edge, any
        label = facts.relations.gather(1, places)
        vectors = rows_of(z.relations, label)
        if self.places is None:
            return vectors, label
        qualifies, place = target >= _VALUE, source.clamp(max=_VALUE)
        moved = torch.where(qualifies[:, :, None], rows_of(self.places, place), 0.0)
        kinds = len(self.places) + 1
        return vectors + moved, kinds * label + torch.where(qualifies, place + 1, 0)


def refuse_values(slots: Tensor) -> None:
    """Only subjects and objects may be asked for.

    Raises:
        UserError: A value is.
    """
    if bool((slots >= _VALUE).any()):
        raise UserError(
            "this model fills subjects and objects only: it was trained with "
            'decoder.qualifiers = "ignore"; train with "hyperedge" to ask for values'
        )
