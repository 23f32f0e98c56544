"""Unitwise: decoders that end in one layer of units, which a kernel walks pair by pair."""

from abc import abstractmethod
from typing import Any

import torch
from torch import Tensor

from hyperfact.graph.batches import FactBatch
from hyperfact.kernels import Units, all_unit_scores, unit_scores
from hyperfact.kernels.dispatch import has_kernels
from hyperfact.models.decoders.decoder import ALL
from hyperfact.models.decoders.kindwise import Kindwise, by_group, some_of, whole_blocks
from hyperfact.models.representations import Representations


class Unitwise(Kindwise):
    """A decoder of three verbs whose `judge` is such a layer; it says so in two more."""

    is_wide = True

    @abstractmethod
    def units_of(self, known: Any) -> Units:
        """What the layer needs of questions."""

    @abstractmethod
    def rows_of_units(self, candidates: Tensor) -> Tensor:  # (k, 2 + parts, units)
        """What it needs of candidates, from what questions of one kind share of them (k, …)."""

    def score_candidates(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: Tensor,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, k)
        """A kernel walks the rows of the candidates where they lie, if they are many."""
        if candidates.numel() <= len(z.entities) or not has_kernels(z.entities):
            return super().score_candidates(
                facts, slots, z, candidates=candidates, generator=generator
            )
        known = self.known(facts, slots, z, generator)

        def meet(kind: int, rows: Tensor) -> Tensor:
            mine, ids = some_of(known, rows), candidates.index_select(0, rows)
            return unit_scores(self.units_of(mine), self._table(kind, mine, z.entities), ids)

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
        """The same for all of them."""
        if not has_kernels(z.entities):
            return super().score_slot(facts, slots, z, candidates=candidates, generator=generator)
        known, entities = self.known(facts, slots, z, generator), z.entities[candidates]

        def meet(kind: int, rows: Tensor) -> Tensor:
            mine = some_of(known, rows)
            units, table = self.units_of(mine), self._table(kind, mine, entities)
            if not torch.is_grad_enabled():
                return all_unit_scores(units, table)
            return unit_scores(units, table, torch.arange(len(table)).repeat(len(rows), 1))

        return by_group(self.groups(facts, slots), slots, meet)

    def _table(self, kind: int, known: Any, entities: Tensor) -> Tensor:  # (k, 2 + parts, units)
        """Of all candidates, whoever of the questions asks."""
        filled, one = whole_blocks(entities)[None], some_of(known, torch.zeros(1, dtype=torch.long))
        table = self.candidates(kind, one, filled)[0, : len(entities)]
        return self.rows_of_units(table).to(entities.dtype)
