"""StarE's decoder: a Transformer over what is known, without a token for what is not (2020)."""

import math

import torch
from torch import Tensor, nn

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.attention import AttentionSettings, Stack, linear
from hyperfact.models.decoders.packing import Packing, numbers_of
from hyperfact.models.decoders.readout import ROLES, ReadOut, tokens_of
from hyperfact.models.model_card import Card
from hyperfact.models.representations import Representations, rows_of

_QUESTIONS = 3  # for a subject, an object, a value


class StarETransformerSettings(AttentionSettings):
    """Options of `stare_transformer`."""


class StarETransformer(ReadOut):
    """phi(x) = (W mean(y) + b) · h_e / u, y = blocks(all tokens of the fact but the asked entity).

    A token is h / scale plus a vector of its role; a value also carries its attribute. The asked
    entity has no token. What is asked is said by the token next to it: the relation carries a
    vector for "subject?" or "object?", the attribute of a missing value one for "value?".

    As published but for: any slot can be asked (StarE asks for objects only, and for subjects by
    the object of a reciprocal relation, which our "subject?" on the relation stands for); roles and
    carried attributes instead of places, so that there is no largest number of qualifiers and
    their order is nothing; the mean runs over tokens that exist, not over padding; the softmax of
    all decoders instead of a logistic loss; u = scale sqrt(d); no dropout inside the two-layer
    network.
    """

    Settings = StarETransformerSettings
    settings: StarETransformerSettings
    card = Card(
        title="StarE's Transformer",
        year=2020,
        reference="Galkin, Trivedi, Maheshwari, Usbeck, Lehmann: Message passing for "
        "hyper-relational knowledge graphs, EMNLP 2020",
        cost="O(L (m d² + m² d)), one matrix product for all candidates",
        qualifiers="two tokens for each pair; a value carries its attribute",
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Vectors of roles and questions, and blocks; there is no bias of entities."""
        dim, settings = self.dim, self.settings
        self.roles, self.questions = (
            nn.Parameter(torch.empty(count, dim).normal_(0.0, 0.3, generator=generator))
            for count in (ROLES, _QUESTIONS)
        )
        self.blocks = Stack(dim, settings, generator)
        self.output = linear(dim, dim, generator)
        self.entity_bias = None

    def ask(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> tuple[Tensor, None]:  # (batch, dim)
        """The mean over all tokens of what attention makes of them."""
        packing = Packing.of(facts.known(slots), facts.relation_mask)
        x = self.blocks.every(self._tokens(facts, slots, z, packing), packing, generator)
        pooled = torch.cat([group.mean(dim=1) for group in packing.split(x)])
        return packing.unpack(self.output(pooled)) / (self.scale * math.sqrt(self.dim)), None

    def _tokens(
        self, facts: FactBatch, slots: Tensor, z: Representations, packing: Packing
    ) -> Tensor:  # (tokens, dim)
        """Known entities, then the primary relation and the attributes, one of them asked about."""
        known, others = packing.kinds
        entities, relations = tokens_of(
            z.vectors(facts, slots, known) / self.scale,
            rows_of(z.relations, facts.relations[others]) / self.scale,
            self.roles,
            packing=packing,
        )
        beside = numbers_of(others).gather(1, (slots - 1).clamp(min=0)[:, None])[:, 0]
        question = rows_of(self.questions, slots.clamp(max=2))  # (batch, dim)
        return packing.join(entities, relations.index_add(0, beside, question))
