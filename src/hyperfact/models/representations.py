"""Representations: what an encoder gives and a decoder reads."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional

from hyperfact.graph.batches import FactBatch
from hyperfact.models.hypergraph import Hypergraph
from hyperfact.models.numbers import Numbers
from hyperfact.models.shard import Shard
from hyperfact.models.unseen import StandIns

_STAND_INS, _NUMBERS, _FACTS = "stand_ins.", "numbers.", "facts."


@dataclass(frozen=True)
class Representations:
    """A vector for each entity and each relation of an HKG; mediators have served and are gone."""

    entities: Tensor  # (entities, dim)
    relations: Tensor  # (relations, dim)
    stand_ins: StandIns | None = None  # where an entity may be unseen
    numbers: Numbers | None = None  # where the decoder reads them
    facts: Hypergraph | None = None  # where the decoder reads them
    ids: Tensor | None = None  # (entities,) whose rows these are; None: of all, in order

    @property
    def device(self) -> torch.device:
        """Where it lives, and what is scored with it."""
        return self.entities.device

    def vectors(
        self, facts: FactBatch, slots: Tensor, present: Tensor | None = None
    ) -> Tensor:  # (batch, slots, dim), or (present, dim)
        """The vectors of all slots; in known slots a stand-in for who was never seen.

        Args:
            facts: Some facts.
            slots: The asked slot of each.
            present: Slots to give, not padded; None: all of them.  # (batch, slots)
        """
        ids = facts.entities if present is None else facts.entities[present]
        vectors = rows_of(self.entities, ids)
        if self.stand_ins is None:
            return vectors
        return self.stand_ins.put(vectors, facts, known=facts.known(slots), present=present)

    def of_entities(self, values: Tensor) -> Tensor:  # (entities, …)
        """Of something that a decoder holds for each entity, what belongs to these rows."""
        return values if self.ids is None else values.index_select(0, self.ids)

    def by_name(self, facts: FactBatch) -> FactBatch:
        """Facts that are numbered by these rows, with the ids of their entities again."""
        if self.ids is None:
            return facts
        return replace(facts, entities=self.ids[facts.entities])

    def with_rows_for(
        self, facts: FactBatch, shard: Shard, count: int, *more: Tensor
    ) -> tuple["Representations", FactBatch, tuple[Tensor, ...]]:
        """As a shard reads facts: its own rows first, then those of everybody whom they name.

        Args:
            facts: The same in all shards.
            shard: Whose rows these are.
            count: How many entities there are in all.
            more: Further entities that are needed, as tensors of ids.

        Returns:
            The rows, and facts and further entities with the numbers of these.
        """
        wanted = [facts.entities, *more]
        flat = torch.cat([part.flatten() for part in wanted])
        ids, place = torch.unique(flat, return_inverse=True)
        own, table = shard.rows(count), self.entities
        numbers = (len(table) + place).split([part.numel() for part in wanted])
        entities, *others = (n.view(part.shape) for n, part in zip(numbers, wanted, strict=True))
        who = torch.cat([torch.arange(own.start, own.stop, device=ids.device), ids])
        stand_ins = self.stand_ins
        if stand_ins is not None:
            stand_ins = replace(stand_ins, unseen=stand_ins.unseen.index_select(0, who))
        rows = torch.cat([table, shard.fetch(table, ids, count)])
        z = Representations(rows, self.relations, stand_ins, self.numbers, ids=who)
        return z, replace(facts, entities=entities), tuple(others)

    def rows(self, order: Tensor) -> "Representations":
        """The same with other entities: those of these rows."""
        stand_ins = self.stand_ins
        if stand_ins is not None:
            stand_ins = replace(stand_ins, unseen=stand_ins.unseen[order])
        numbers = None if self.numbers is None else self.numbers.rows(order)
        facts = None if self.facts is None else self.facts.rows(order)
        return Representations(self.entities[order], self.relations, stand_ins, numbers, facts)

    def with_means(self) -> "Representations":
        """The same, with one more row in each table: the mean of all others."""
        tables = (self.entities, self.relations)
        entities, relations = (torch.cat([t, t.mean(dim=0, keepdim=True)]) for t in tables)
        stand_ins = None if self.stand_ins is None else self.stand_ins.with_mean()
        numbers = None if self.numbers is None else self.numbers.with_mean()
        facts = None if self.facts is None else self.facts.with_node()
        return Representations(entities, relations, stand_ins, numbers, facts)

    def tensors(self) -> dict[str, Tensor]:
        """All that it is made of, by name."""
        found = {"entities": self.entities, "relations": self.relations}
        parts = ((_STAND_INS, self.stand_ins), (_NUMBERS, self.numbers), (_FACTS, self.facts))
        for prefix, part in parts:
            found |= {} if part is None else {prefix + n: t for n, t in vars(part).items()}
        return found

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> "Representations":
        """From what `tensors` gave."""
        stand_ins, numbers, facts = (
            _under(prefix, tensors) for prefix in (_STAND_INS, _NUMBERS, _FACTS)
        )
        return cls(
            tensors["entities"],
            tensors["relations"],
            StandIns(**stand_ins) if stand_ins else None,
            Numbers(**numbers) if numbers else None,
            Hypergraph(**facts) if facts else None,
        )


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Those whose names begin so, by the rest of their names."""
    return {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}


def rows_of(table: Tensor, ids: Tensor) -> Tensor:  # (…, dim)
    """Rows of a table; unlike indexing, with a backward that is deterministic on any threads."""
    return functional.embedding(ids, table)
