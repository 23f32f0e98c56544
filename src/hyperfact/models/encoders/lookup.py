"""No encoder: a table of vectors, the baseline every encoder is measured against."""

import torch

from hyperfact.graph.kg import KG
from hyperfact.models.encoders.encoder import Encoder, EncoderSettings, table
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.model_card import Card
from hyperfact.models.representations import Representations


class LookupSettings(EncoderSettings):
    """Options of `lookup`."""


class Lookup(Encoder):
    """h_x = e_x: a free vector for each entity and each relation, blind to the graph."""

    Settings = LookupSettings
    sees_graph = False
    card = Card(
        title="lookup",
        year=2011,
        reference="a table of vectors, as in all knowledge graph embeddings since Nickel, Tresp, "
        "Kriegel: RESCAL, ICML 2011",
        cost="O(1): nothing is computed",
        qualifiers="none are seen; only the decoder reads them",
        is_expressive=True,
    )
    settings: LookupSettings
    divided = ("entities",)

    def prepare(self, graph: KG, generator: torch.Generator) -> None:
        """The two tables."""
        del graph  # only its sizes matter
        scale = self.settings.initial_scale
        self.entities = table(self.num_entities, self.dim, scale, generator)
        self.relations = table(self.num_relations, self.dim, scale, generator)

    @staticmethod
    def held(settings: LookupSettings, dim: int) -> float:  # noqa: ARG004 - the contract's
        """None: nobody else's rows are needed."""
        return 0.0

    def encode(self, step: GraphPass) -> Representations:
        """The tables themselves; of a divided one the own rows, for nobody else's are needed."""
        return Representations(step.columns(self.entities), step.columns(self.relations))
