"""Representations that are made as soon as it is known whose are needed."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from hyperfact.graph.batches import FactBatch
from hyperfact.models.representations import Representations


@dataclass(frozen=True)
class Deferred(Representations):
    """Nobody's vectors yet; objectives name facts and candidates before they score them."""

    make: Callable[[Tensor], Representations] = field(kw_only=True)  # of these entities, rising

    @classmethod
    def by(cls, make: Callable[[Tensor], Representations], device: torch.device) -> "Deferred":
        """To be made so."""
        nothing = torch.zeros(0, 0, device=device)
        return cls(nothing, nothing, make=make)

    def named(
        self, facts: FactBatch, *more: Tensor
    ) -> tuple[Representations, FactBatch, tuple[Tensor, ...]]:
        """The vectors of everybody whom facts and further ids name, and both numbered by them."""
        wanted = [facts.entities, *more]
        ids, place = torch.unique(
            torch.cat([part.flatten() for part in wanted]), return_inverse=True
        )
        numbers = place.split([part.numel() for part in wanted])
        entities, *others = (n.view(part.shape) for n, part in zip(numbers, wanted, strict=True))
        z = replace(self.make(ids), ids=ids)
        return z, replace(facts, entities=entities), tuple(others)
