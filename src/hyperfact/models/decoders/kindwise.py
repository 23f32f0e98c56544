"""Kindwise: decoders whose scores are no product, a candidate's part depending on the asked slot.

As for `Candidatewise`, what does not depend on the candidate is computed once for a question, what
does not depend on the question once for a candidate; here the latter is another thing for subjects,
objects and values, so that questions of one kind are answered together.
"""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.nn import functional

from hyperfact.graph.batches import FactBatch
from hyperfact.graph.role_index import VALUE
from hyperfact.models.decoders.decoder import ALL, Decoder, score_of_answer
from hyperfact.models.representations import Representations, rows_of

_BLOCK = 192  # candidates at once: of equal blocks equal candidates have exactly equal scores
_CELLS = 2**18  # numbers that exist at once while questions meet candidates: they stay in the cache


class Kindwise(Decoder):
    """A decoder in three verbs: what a question knows, what a candidate is, how they meet."""

    is_wide: ClassVar[bool] = False  # whether what is shared of a candidate is too much to copy

    @abstractmethod
    def known(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Any:  # a named tuple, each (batch, …)
        """All that scoring needs of a question, whoever is tried in the asked slot."""

    @abstractmethod
    def candidates(self, kind: int, known: Any, entities: Tensor) -> Tensor:  # (…, k, width)
        """What scoring needs of candidates, from their vectors.

        Args:
            kind: Of the asked slot.
            known: Of the questions whose own candidates these are; or of one question that may
                stand for all of its group.
            entities: Vectors of candidates.  # (batch or 1, k, dim)
        """

    @abstractmethod
    def judge(self, kind: int, known: Any, candidates: Tensor) -> Tensor:  # (batch, k)
        """Scores of candidates: each question's own (batch, k, width), or the same for all."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Numbers that `judge` holds for one question and one candidate, roughly."""

    def groups(self, facts: FactBatch, slots: Tensor) -> Tensor:  # (batch,)
        """Equal numbers for questions that can share their candidates; all of one kind do."""
        del facts
        return kinds_of(slots)

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

        def meet(kind: int, rows: Tensor) -> Tensor:
            mine, ids = some_of(known, rows), candidates.index_select(0, rows)
            if ids.numel() > len(z.entities) and not self.is_wide:
                tried = self.candidates(kind, some_of(known, rows[:1]), z.entities[None])[0]
                return self.judge(kind, mine, rows_of(tried, ids))
            vectors = rows_of(z.entities, ids)
            return self.judge(kind, mine, self.candidates(kind, mine, vectors))

        return by_group(self.groups(facts, slots), slots, meet)

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
        table = z.entities[candidates]
        filled = whole_blocks(table)
        some = max(1, _CELLS // (self.width * _BLOCK))

        def meet(kind: int, rows: Tensor) -> Tensor:
            first = some_of(known, rows[:1])
            parts = [some_of(known, part) for part in torch.split(rows, some)]
            columns = []
            for block in torch.split(filled, _BLOCK):
                tried = self.candidates(kind, first, block[None])
                columns.append(torch.cat([self.judge(kind, part, tried) for part in parts]))
            return torch.cat(columns, dim=1)

        return by_group(self.groups(facts, slots), slots, meet)[:, : len(table)]


def kinds_of(slots: Tensor) -> Tensor:  # (batch,)
    """Subject, object or value."""
    return slots.clamp(max=VALUE)


def whole_blocks(entities: Tensor) -> Tensor:  # (entities and some more, dim)
    """Entities, and zeros to whole blocks: in a product rows may be rounded by where they lie."""
    return functional.pad(entities, (0, 0, 0, -len(entities) % _BLOCK))


def some_of(known: Any, rows: Tensor) -> Any:
    """What these questions know."""
    return known._make(part.index_select(0, rows) for part in known)


def by_group(
    groups: Tensor, slots: Tensor, meet: Callable[[int, Tensor], Tensor]
) -> Tensor:  # (batch, k)
    """Scores of all questions, found group by group."""
    rows = [(groups == group).nonzero()[:, 0] for group in sorted(set(groups.tolist()))]
    parts = [meet(int(kinds_of(slots[some[0]])), some) for some in rows]
    return rows_of(torch.cat(parts), torch.cat(rows).argsort())


def asked_part(parts: Tensor, slots: Tensor) -> Tensor:  # (batch, width)
    """Of parts that values have, that of the asked value; of any, where no value is asked."""
    index = (slots - VALUE).clamp(min=0)[:, None, None].expand(-1, 1, parts.shape[2])
    return parts.gather(1, index)[:, 0]
