"""ReadOut: decoders that read a question as tokens and make one vector of it."""

from abc import abstractmethod

import torch
from torch import Tensor, nn

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import ALL, Decoder, LinearForm, score_of_answer
from hyperfact.models.representations import Representations, rows_of

_SUBJECT, _OBJECT, _VALUE, _RELATION, _ATTRIBUTE = range(5)
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


def with_hole(entities: Tensor, slots: Tensor, hole: Tensor) -> Tensor:  # (batch, slots, dim)
    """The vectors of all slots, that of the asked one replaced."""
    columns = torch.arange(entities.shape[1], device=slots.device)
    return torch.where((columns == slots[:, None])[:, :, None], hole, entities)


def tokens_of(
    entities: Tensor, relations: Tensor, roles: Tensor, *, bind: bool = True
) -> Tensor:  # (batch, 2 slots - 1, dim)
    """Entities of all slots, then the primary relation and the attributes, each with its role.

    Args:
        entities: The vectors of all slots.  # (batch, slots, dim)
        relations: Those of relation and attributes.  # (batch, slots - 1, dim)
        roles: A vector of each of the five roles.  # (5, dim)
        bind: Whether a value also carries its attribute.
    """
    values = entities.shape[1] - 2
    kinds = [_SUBJECT, _OBJECT, *[_VALUE] * values, _RELATION, *[_ATTRIBUTE] * values]
    if bind:
        none = torch.zeros_like(entities[:, :2])
        entities = entities + torch.cat([none, relations[:, 1:]], dim=1)
    own = rows_of(roles, torch.tensor(kinds, device=roles.device))  # (tokens, dim)
    return torch.cat([entities, relations], dim=1) + own
