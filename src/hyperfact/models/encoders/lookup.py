"""No encoder: a table of vectors, the baseline every encoder is measured against."""

import torch
from pydantic import Field
from torch import Tensor

from hyperfact.config import Section
from hyperfact.graph.kg import KG, Representations
from hyperfact.models.encoders.encoder import Encoder, columns, table


class LookupSettings(Section):
    """Options of `lookup`."""

    initial_scale: float = Field(
        default=0.3, gt=0.0, description="standard deviation of initial coordinates"
    )


class Lookup(Encoder):
    """h_x = e_x: a free vector for each entity and each relation, blind to the graph."""

    Settings = LookupSettings

    def __init__(
        self, graph: KG, *, dim: int, settings: LookupSettings, generator: torch.Generator
    ) -> None:
        super().__init__(graph, dim=dim, settings=settings, generator=generator)
        self.scale = settings.initial_scale
        self.entities = table(self.num_entities, dim, self.scale, generator)
        self.relations = table(self.num_relations, dim, self.scale, generator)

    def forward(
        self,
        *,
        keep: Tensor | None = None,  # noqa: ARG002 - no edge is looked at
        generator: torch.Generator | None = None,  # noqa: ARG002 - nothing is dropped
        coordinates: Tensor | None = None,
    ) -> Representations:
        """The tables themselves."""
        return Representations(
            columns(self.entities, coordinates), columns(self.relations, coordinates)
        )
