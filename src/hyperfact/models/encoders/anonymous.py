"""No entity has a name: one vector for all of them, and one for each relation."""

from typing import Any

import torch
from torch import Tensor

from hyperfact.models.encoders.encoder import Encoder, EncoderSettings, table
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.model_card import Card
from hyperfact.models.representations import Representations


class AnonymousSettings(EncoderSettings):
    """Options of `anonymous`."""


class Anonymous(Encoder):
    """h_v = e for every entity v, and a free vector for each relation.

    For decoders that tell entities apart by the facts around them: nothing is learned of any single
    entity, so that those who come later are as well known as those who were there.
    """

    Settings = AnonymousSettings
    settings: AnonymousSettings
    reads = "facts"
    sees_graph = tells_apart = False
    card = Card(
        title="anonymous",
        year=2021,
        reference="entities without vectors of their own, as in Zhu et al.: Neural Bellman-Ford "
        "networks, NeurIPS 2021",
        cost="O(1): nothing is computed",
        qualifiers="none are seen; only the decoder reads them",
        is_expressive=False,
    )
    divided = ()

    def prepare(self, graph: Any, generator: torch.Generator) -> None:
        """The vector of everybody, and the table of relations."""
        del graph  # only its sizes matter
        scale = self.settings.initial_scale
        self.entity = table(1, self.dim, scale, generator)
        self.relations = table(self.num_relations, self.dim, scale, generator)

    def encode(self, step: GraphPass) -> Representations:
        """The same vector for each entity."""
        entities: Tensor = step.columns(self.entity).expand(self.num_entities, -1)
        return Representations(entities, step.columns(self.relations))
