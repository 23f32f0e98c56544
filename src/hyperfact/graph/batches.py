"""FactBatch: a few facts as padded tensors, the only place where facts are padded."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from hyperfact.graph.columns import Columns
from hyperfact.graph.facts import Slot
from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Array, offsets_of, places_of


@dataclass(frozen=True)
class FactBatch:
    """Facts of any arity side by side; padded places hold id 0 and a false mask."""

    entities: Tensor  # (batch, slots) subject, object, values
    relations: Tensor  # (batch, slots - 1) primary relation, attributes
    mask: Tensor  # (batch, slots) true where a slot exists
    withheld: Tensor | None = None  # (batch, slots) true where only the role may be used
    first: int = field(default=0, kw_only=True)  # its place in the batch that this is a part of

    @classmethod
    def of(cls, graph: HKG, rows: Array) -> "FactBatch":
        """The facts of these rows, padded to the longest of them."""
        return cls.of_columns(graph.columns, rows)

    @classmethod
    def of_columns(cls, c: Columns, rows: Array) -> "FactBatch":
        """The same from columns, which need not be those of a set."""
        counts = c.offsets[rows + 1] - c.offsets[rows]
        width = int(counts.max(initial=0))
        places = places_of(c.offsets, rows)
        row = np.repeat(np.arange(len(rows)), counts)
        column = np.arange(len(places)) - np.repeat(offsets_of(counts)[:-1], counts)
        entities = np.zeros((len(rows), 2 + width), dtype=np.int64)
        relations = np.zeros((len(rows), 1 + width), dtype=np.int64)
        entities[:, 0], entities[:, 1] = c.subject[rows], c.object[rows]
        relations[:, 0] = c.relation[rows]
        entities[row, 2 + column] = c.values[places]
        relations[row, 1 + column] = c.attributes[places]
        mask = np.arange(2 + width)[None, :] < (2 + counts)[:, None]
        return cls(*(torch.from_numpy(x) for x in (entities, relations, mask)))

    def __len__(self) -> int:
        return len(self.entities)

    @property
    def relation_mask(self) -> Tensor:
        """True where a relation or attribute exists."""  # (batch, slots - 1)
        return self.mask[:, 1:]

    def known(self, slots: Tensor) -> Tensor:  # (batch, slots)
        """True where an entity is given: slots that exist and are not asked."""
        return self.mask.scatter(1, slots[:, None], value=False)

    def asked(self, slots: Tensor) -> Tensor:  # (batch, slots)
        """True in the asked slot."""
        return torch.zeros_like(self.mask).scatter(1, slots[:, None], value=True)

    def answers(self, slots: Tensor) -> Tensor:  # (batch,)
        """The entities that stand in the asked slots."""
        return self.entities.gather(1, slots[:, None])[:, 0]

    def fill(self, slot: Slot, entity: int | Tensor) -> "FactBatch":
        """The same facts with `entity` (one, or one for each fact) in `slot`."""
        entities = self.entities.clone()
        entities[:, slot.index] = entity
        return replace(self, entities=entities)

    def to(self, device: torch.device | str) -> "FactBatch":
        """The same batch on another device."""
        return self.each(lambda part: part.to(device))

    def rows(self, part: slice) -> "FactBatch":
        """Some facts that follow each other, padded as all of them are."""
        return replace(self.each(lambda tensor: tensor[part]), first=self.first + part.start)

    def each(self, change: Callable[[Tensor], Tensor]) -> "FactBatch":
        """The same change of every tensor."""
        return FactBatch(
            change(self.entities),
            change(self.relations),
            change(self.mask),
            None if self.withheld is None else change(self.withheld),
        )
