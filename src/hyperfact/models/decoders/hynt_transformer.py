"""HyNT: attention among the parts of a fact, then inside the part with the hole (KDD 2023)."""

import math

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.attention import AttentionSettings, Stack, linear
from hyperfact.models.decoders.packing import Packing
from hyperfact.models.decoders.readout import ROLES, ReadOut, with_hole
from hyperfact.models.model_card import Card
from hyperfact.models.representations import Representations, rows_of

_STEP = 0.1  # first estimates are so far from the mean of their role, as numbers are


class HyNTSettings(AttentionSettings):
    """Options of `hynt`; published are 3 layers, an inner width of 1024 and d = 256."""

    layers: int = Field(
        default=1, ge=1, description="blocks of each of the two Transformers; published: 3"
    )
    feedforward: int = Field(
        default=400, ge=1, description="width of the inner layer; published: 1024"
    )
    dropout: float = Field(default=0.2, ge=0.0, lt=1.0, description="on each block")
    numbers: bool = Field(
        default=False,
        description="read literals that are numbers or dates as numbers, and estimate them where "
        "they are asked for; false: they are names like others",
    )


class HyNT(ReadOut):
    """phi(x) = y_hole · h_e / u + b_e, with y = predict([c, e, …]) and c of [c_0, …] = context(…).

    The context Transformer sees one token for each part of the fact: P [s; r; o] + p_triple, and
    Q [a; v] + p_qualifier for each pair. The prediction Transformer sees what became of the part
    with the hole, c, and the elements of that part, [c, s, r, o] or [c, a, v], each with a vector
    of its role. The asked entity is replaced by a learned vector. Elements enter as h / scale.

    A number x in the role of a relation or attribute r enters as x (N h_r) and is asked for as
    x_r + y_hole · (M h_r) / (10 sqrt(d)), x_r being the mean of the role, all on the scale of the
    role (`numbers = true`).

    As published but for: candidates are the entities' own vectors instead of a second table, as an
    encoder wants it; the vectors of numbers are maps of the relation's, not tables; sizes for a
    CPU; no prediction of relations; u = scale sqrt(d); no dropout inside the two-layer network.
    Published for training: Adam with lr 0.001, a clipped norm of 0.1, label smoothing of 0.4
    (WikiPeople) or 0.7 (WD50K).
    """

    Settings = HyNTSettings
    settings: HyNTSettings
    card = Card(
        title="HyNT",
        year=2023,
        reference="Chung, Lee, Whang: Representation learning on hyper-relational and numeric "
        "knowledge graphs with transformers, KDD 2023",
        cost="O(L m d²), one matrix product for all candidates",
        qualifiers="a token for each pair; those of the asked one also on their own",
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Maps of parts, vectors of kinds and roles, blocks, and a bias for each entity."""
        dim, settings = self.dim, self.settings
        self.triple, self.pair = linear(3 * dim, dim, generator), linear(2 * dim, dim, generator)
        self.kinds, self.roles = (
            nn.Parameter(torch.empty(count, dim).normal_(0.0, 0.3, generator=generator))
            for count in (2, ROLES)
        )
        self.hole = nn.Parameter(torch.empty(dim).normal_(0.0, 1.0, generator=generator))
        self.context, self.prediction = (Stack(dim, settings, generator) for _ in range(2))
        self.entity_bias = nn.Parameter(torch.zeros(self.num_entities))
        if settings.numbers:
            self.number_in, self.number_out = (linear(dim, dim, generator) for _ in range(2))

    @staticmethod
    def reads_numbers(settings: HyNTSettings) -> bool:
        """Where the settings say so."""
        return settings.numbers

    def ask(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> tuple[Tensor, None]:  # (batch, dim)
        """What attention makes of the missing entity inside its part."""
        query = self._read(facts, slots, z, generator)
        return query / (self.scale * math.sqrt(self.dim)), None

    def estimate(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch,)
        """From the same vector, by the relation or attribute whose number is missing."""
        query = self._read(facts, slots, z, generator)
        asked = facts.relations.gather(1, (slots - 1).clamp(min=0)[:, None])[:, 0]
        relation = rows_of(z.relations, asked) / self.scale
        offset: Tensor = (query * self.number_out(relation)).sum(dim=1) / math.sqrt(self.dim)
        assert z.numbers is not None, "numbers are asked for where there are some"
        return z.numbers.means(facts, slots) + _STEP * offset

    def _read(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (batch, dim)
        relations = rows_of(z.relations, facts.relations) / self.scale
        entities = self._entities(facts, slots, z, relations)
        triple = self.triple(torch.cat([entities[:, 0], relations[:, 0], entities[:, 1]], dim=1))
        pairs = self.pair(torch.cat([relations[:, 1:], entities[:, 2:]], dim=2))
        parts = torch.cat([triple[:, None] + self.kinds[0], pairs + self.kinds[1]], dim=1)
        part = (slots - 1).clamp(min=0)  # the triple, or the pair of the asked value
        packing = Packing.of(facts.relation_mask)
        c = self.context.asked(part, packing.pack(parts), packing, generator)  # (batch, dim)
        is_value = slots >= 2
        elements = self._elements(c, part, entities, relations, is_value)
        present = torch.ones_like(elements[:, :, 0], dtype=torch.bool)
        present[:, 3] = ~is_value
        asked = torch.where(is_value, 1, slots + 1)
        packing = Packing.of(present)
        return self.prediction.asked(asked, packing.pack(elements), packing, generator)

    def _entities(
        self, facts: FactBatch, slots: Tensor, z: Representations, relations: Tensor
    ) -> Tensor:  # (batch, slots, dim)
        """The vectors of all slots: of entities, of numbers, and of the hole."""
        entities = z.vectors(facts, slots) / self.scale
        if z.numbers is not None:
            shares = z.numbers.shares(facts)[:, :, None]  # (batch, slots, 1)
            own = torch.cat([relations[:, :1], relations], dim=1)  # of each slot
            number = shares.nan_to_num() * self.number_in(own)
            entities = torch.where(shares.isfinite(), number, entities)
        return with_hole(entities, facts.asked(slots), self.hole)

    def _elements(
        self, c: Tensor, part: Tensor, entities: Tensor, relations: Tensor, is_value: Tensor
    ) -> Tensor:  # (batch, 4, dim)
        """[c, s, o, r], or [c, v, a] and nothing, with their roles."""
        subject, object_, value, relation, attribute = self.roles.unbind()
        index = part[:, None, None].expand(-1, 1, relations.shape[2])
        own = relations.gather(1, index)[:, 0] + attribute
        is_value = is_value[:, None]
        first = torch.where(is_value, self.hole + value, entities[:, 0] + subject)
        second = torch.where(is_value, own, entities[:, 1] + object_)
        return torch.stack([c, first, second, relations[:, 0] + relation], dim=1)
