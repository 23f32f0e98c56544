"""ReadOut: decoders that read a question as tokens and make one vector of it."""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import ALL, Decoder, LinearForm, score_of_answer
from hyperfact.models.decoders.packing import Packing, numbers_of
from hyperfact.models.representations import Representations, rows_of

_SUBJECT, _, _VALUE, _RELATION, _ATTRIBUTE = range(5)  # the second is the object
ROLES = 5


class ReadOut(Decoder):
    """A decoder that makes one vector of all that is known: phi(x) = q · t_e (+ b_e)."""

    entity_bias: nn.Parameter | None  # made by `prepare`; None: there is none

    @abstractmethod
    def ask(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor | None]:  # (batch, dim), (entities, dim)
        """The vectors of questions, and by what entities are multiplied in a step; None: by 1."""

    def table(self, entities: Tensor) -> Tensor:  # (…, dim)
        """What stands for candidates, from their vectors; these by default."""
        return entities

    score = score_of_answer

    def score_candidates(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: Tensor,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, k)
        """Products with each question's own candidates; a question is read once."""
        query, noise = self.ask(facts, slots, z, generator)
        table = self.table(rows_of(z.entities, candidates))  # (batch, k, dim)
        if noise is not None:
            table = table * rows_of(noise, candidates)
        products = (query[:, None] * table).sum(dim=2)
        if self.entity_bias is None:
            return products
        bias = z.of_entities(self.entity_bias)
        return products + rows_of(bias[:, None], candidates)[:, :, 0]

    def linear_form(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> LinearForm:
        """One pass over the tokens, against the table."""
        query, noise = self.ask(facts, slots, z, generator)
        table = self.table(z.entities[candidates])
        bias = None if self.entity_bias is None else z.of_entities(self.entity_bias)
        return LinearForm(
            query,
            table if noise is None else table * noise[candidates],
            bias=None if bias is None else bias[candidates],
        )


def with_hole(entities: Tensor, asked: Tensor, hole: Tensor) -> Tensor:  # (…, dim)
    """The vectors of slots, that of the asked one replaced."""
    return torch.where(asked[..., None], hole, entities)


def tokens_of(
    entities: Tensor, relations: Tensor, roles: Tensor, *, packing: Packing, bind: bool = True
) -> tuple[Tensor, Tensor]:  # (slots that exist, dim), (relations and attributes, dim)
    """Entities, and primary relations with attributes, each with its role; none is padded.

    Args:
        entities: The vectors of slots that are tokens, fact after fact.
        relations: Those of relation and attributes.
        roles: A vector of each of the five roles.  # (5, dim)
        packing: Of both kinds.
        bind: Whether a value also carries its attribute.
    """
    slots, others = packing.kinds
    if bind:
        values = slots[:, 2:]
        own = rows_of(relations, numbers_of(others)[:, 1:][values])
        entities = entities.index_add(0, numbers_of(slots)[:, 2:][values], own)
    found = []
    for vectors, present, first, last in (
        (entities, slots, _SUBJECT, _VALUE),
        (relations, others, _RELATION, _ATTRIBUTE),
    ):
        kinds = torch.arange(first, first + present.shape[1], device=roles.device).clamp(max=last)
        found.append(vectors + rows_of(roles, kinds.expand_as(present)[present]))
    return found[0], found[1]
