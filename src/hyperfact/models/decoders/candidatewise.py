"""Candidatewise: decoders whose scores are no product of vectors, in chunks that fit.

All that does not depend on the candidate is computed once for a query, all that does not depend on
the query once for a candidate.
"""

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import ALL, Decoder, score_of_answer
from hyperfact.models.representations import Representations, rows_of

_CELLS = 2**18  # numbers that exist at once while queries meet candidates: they stay in the cache


class Candidatewise(Decoder):
    """A decoder in three verbs: what a question knows, what a candidate is, how they meet."""

    @abstractmethod
    def known(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> tuple[Tensor, ...]:  # each (batch, …)
        """All that scoring needs of a question, whoever is tried in the asked slot."""

    def candidates(self, entities: Tensor) -> Tensor:  # (…, k, width)
        """What scoring needs of candidates, from their vectors (…, k, dim); these by default."""
        return entities

    @abstractmethod
    def judge(self, known: Any, candidates: Tensor) -> Tensor:  # (batch, k)
        """Scores of candidates: each question's own (batch, k, width), or the same for all."""

    @property
    def width(self) -> int:
        """Numbers that `judge` holds for one question and one candidate, roughly."""
        return self.dim

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
        """A question meets its own candidates; dropout falls on what is known, once."""
        known = self.known(facts, slots, z, generator)
        return self.judge(known, self.candidates(rows_of(z.entities, candidates)))

    def score_slot(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, candidates)
        """Questions meet all candidates, a few of each at a time."""
        known = self.known(facts, slots, z, generator)
        table = self.candidates(z.entities[candidates])  # (k, width)
        rows = max(1, min(len(facts), _CELLS // (self.width * max(1, len(table)))))
        columns = max(1, _CELLS // (self.width * rows))
        make = getattr(type(known), "_make", tuple)  # a named tuple stays one
        parts = [make(part) for part in zip(*(torch.split(t, rows) for t in known), strict=True)]
        some = torch.split(table, columns)
        return torch.cat([torch.cat([self.judge(p, c[None]) for c in some], 1) for p in parts])
