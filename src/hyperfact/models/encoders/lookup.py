"""No encoder: a table of vectors, the baseline every encoder is measured against."""

import torch

from hyperfact.graph.kg import KG
from hyperfact.models.encoders.encoder import Encoder, EncoderSettings, table
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.representations import Representations


class LookupSettings(EncoderSettings):
    """Options of `lookup`."""


class Lookup(Encoder):
    """h_x = e_x: a free vector for each entity and each relation, blind to the graph."""

    Settings = LookupSettings
    settings: LookupSettings

    def prepare(self, graph: KG, generator: torch.Generator) -> None:
        """The two tables."""
        del graph  # only its sizes matter
        scale = self.settings.initial_scale
        self.entities = table(self.num_entities, self.dim, scale, generator)
        self.relations = table(self.num_relations, self.dim, scale, generator)

    def encode(self, step: GraphPass) -> Representations:
        """The tables themselves."""
        return Representations(step.columns(self.entities), step.columns(self.relations))
