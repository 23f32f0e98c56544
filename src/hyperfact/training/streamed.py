"""Training on more facts than memory holds: they come in windows, each of some blocks at random.

The order of an epoch is an order of blocks and one seed. Blocks are read in that order; so many of
them are a window, inside which all items are shuffled. A batch may begin in one window and end in
the next. What is minimised is the same, item by item, as with all facts in memory.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hyperfact.config import ObjectiveConfig
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.columns import Columns
from hyperfact.graph.facts_in_parts import BLOCKS, FactsInParts
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import Queries
from hyperfact.graph.ragged import Array, Places
from hyperfact.kernels.softmax import Targets
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ
from hyperfact.training.joint import JointSoftmax
from hyperfact.training.objective import AllEntities, Objective, SampledNegatives

WINDOW = BLOCKS // 4  # blocks: at a border memory holds two windows, and both once more


class FactByFact(AllEntities):
    """One softmax over all entities for each slot of each fact.

    `AllEntities` gathers facts that ask the same and weighs a query by its answers: the same sum.
    """

    def __init__(self, train: HKG, settings: ObjectiveConfig) -> None:
        self.graph, self.settings, self.values = train, settings, True
        self.queries = Queries.of(train)

    def ask(
        self, items: Array, generator: torch.Generator | None
    ) -> tuple[FactBatch, Tensor, Targets]:
        """These queries, each with the answer of its own fact."""
        del generator  # nothing is left out
        facts, slots = self.batch(items)
        return facts, slots, Targets.one_each(facts.answers(slots))

    def facts_of(self, items: Array) -> Array:
        """Rows of the facts of these queries."""
        return np.unique(self.queries.fact[items])


@dataclass(frozen=True)
class Window:
    """Facts that were read together, and the order of their items."""

    columns: Columns
    order: Array  # (items,)


class Streamed(Objective):
    """Any objective whose items need nothing but their own fact, over facts that come in parts.

    Args:
        train: The facts to learn from.
        settings: What is minimised.
        values: Whether values of qualifiers are asked for; if not, no qualifier is ever given.
    """

    graph: FactsInParts

    def __init__(
        self, train: FactsInParts, settings: ObjectiveConfig, *, values: bool = True
    ) -> None:
        self.graph, self.settings, self.values = train, settings, values
        facts = np.diff(train.blocks)
        self._items: Places = train.slots if values else 2 * facts  # (blocks,)
        if settings.joint:
            self._items = facts
        self._order: Array = np.zeros(0, dtype=np.int64)  # whose windows are held
        self._windows: dict[int, Window] = {}
        self._open: tuple[tuple[int, int], Objective] | None = None

    def __len__(self) -> int:
        return int(self._items.sum())

    @property
    def held(self) -> int:
        """The facts in memory."""
        open_facts = [] if self._open is None else [self._open[1].graph.columns]
        columns = [window.columns for window in self._windows.values()] + open_facts
        return sum(map(len, {id(some): some for some in columns}.values()))

    def shuffled(self, generator: torch.Generator) -> Array:
        """Blocks at random, then the seed of what is drawn inside windows."""
        blocks = torch.randperm(len(self._items), generator=generator)
        return torch.cat([blocks, torch.randint(2**62, (1,), generator=generator)]).numpy()

    def part(self, order: Array, start: int, stop: int) -> tuple[Objective, Array]:
        """Some items of an order, known by an objective of the windows that they lie in."""
        if not np.array_equal(order, self._order):
            self._order, self._windows, self._open = order, {}, None
        ends = np.cumsum(self._items[order[:-1]])[WINDOW - 1 :: WINDOW]
        ends = np.append(ends[ends < len(self)], len(self))
        first, last = np.searchsorted(ends, [start, stop - 1], side="right").tolist()
        objective = self._opened(first, last)
        orders = [self._windows[window].order for window in range(first, last + 1)]
        before = np.cumsum([0, *map(len, orders)])
        items = np.concatenate([n + o for n, o in zip(before[:-1], orders, strict=True)])
        begun = start - (int(ends[first - 1]) if first else 0)
        return objective, items[begun : begun + stop - start]

    def _opened(self, first: int, last: int) -> Objective:
        """The objective of the facts of these windows; others are forgotten."""
        if self._open is not None and self._open[0] == (first, last):
            return self._open[1]
        self._open = None
        self._windows = {n: w for n, w in self._windows.items() if first <= n <= last}
        for window in range(first, last + 1):
            if window not in self._windows:
                self._windows[window] = self._read(window)
        columns = [self._windows[window].columns for window in range(first, last + 1)]
        some = columns[0] if len(columns) == 1 else Columns.concatenate(columns)
        objective = self._over(HKG(self.graph.entities, self.graph.relations, some))
        self._open = (first, last), objective
        return objective

    def _read(self, window: int) -> Window:
        chosen = np.sort(self._order[:-1][window * WINDOW : (window + 1) * WINDOW])
        starts, stops = self.graph.blocks[chosen], self.graph.blocks[chosen + 1]
        columns = self.graph.read(list(zip(starts.tolist(), stops.tolist(), strict=True)))
        seed = (int(self._order[-1]) + window) % 2**63
        items = int(self._items[chosen].sum())
        order = torch.randperm(items, generator=torch.Generator().manual_seed(seed))
        return Window(columns, order.numpy())

    def _over(self, facts: HKG) -> Objective:
        """What is minimised, over facts in memory."""
        if self.settings.joint:
            return JointSoftmax(facts, self.settings)
        if self.settings.negatives:
            return SampledNegatives(facts, self.settings, values=self.values)
        return FactByFact(facts, self.settings)

    def loss(
        self, model: TransEQ, items: Array, z: Representations, generator: torch.Generator | None
    ) -> Tensor:
        """Nobody asks: `part` says who knows some items."""
        raise NotImplementedError

    def facts_of(self, items: Array) -> Array:
        """Nobody asks: `part` says who knows some items."""
        raise NotImplementedError
