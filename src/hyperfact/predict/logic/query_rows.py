"""Queries of one form side by side, with the entities that are chosen so far."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from hyperfact.graph.queries import BLANK_ID
from hyperfact.predict.logic.matching import Pattern
from hyperfact.predict.logic.program import Leaf, Program
from hyperfact.predict.questions import QuestionIds


@dataclass(frozen=True)
class Rows:
    """Queries of one form side by side, with what is chosen so far."""

    values: Tensor  # (rows, columns) ids of entities; BLANK_ID where a variable is open
    relations: Tensor  # (rows, relations)
    chosen: frozenset[int] = frozenset()  # variables that are not open
    denied: bool = False  # whether an odd number of `not` stands around

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def of(cls, programs: Sequence[Program]) -> "Rows":
        """A row for each query of one form."""
        blank = [BLANK_ID] * programs[0].form.variables
        values = torch.tensor([[*blank, *p.entities] for p in programs])
        return cls(values, torch.tensor([p.relations for p in programs]))

    def take(self, rows: Tensor) -> "Rows":
        """These rows, in this order."""
        return replace(self, values=self.values[rows], relations=self.relations[rows])

    def choose(self, column: int, ids: Tensor) -> "Rows":
        """The same with an entity for a variable."""
        values = self.values.clone()
        values[:, column] = ids
        return replace(self, values=values, chosen=self.chosen | {column})

    def questions(self, leaf: Leaf) -> list[QuestionIds]:
        """The fact of each row with its asked slot blank."""
        entities, relations = self.values[:, leaf.slots], self.relations[:, leaf.relations]
        return [
            question_of(e, r, leaf.asked)
            for e, r in zip(entities.tolist(), relations.tolist(), strict=True)
        ]

    def pattern(self, row: int, leaf: Leaf) -> Pattern:
        """The fact of a row with every open variable open."""
        return Pattern(
            tuple(self.values[row, leaf.slots].tolist()),
            tuple(self.relations[row, leaf.relations].tolist()),
        )


def question_of(entities: list[int], relations: list[int], asked: int) -> QuestionIds:
    """By ids, with the pairs in canonical order."""
    entities[asked] = BLANK_ID
    pairs = sorted(zip(relations[1:], entities[2:], strict=True))
    values, attributes = tuple(v for _, v in pairs), tuple(a for a, _ in pairs)
    return QuestionIds((entities[0], entities[1], *values), (relations[0], *attributes))


def distinct(rows: Rows, used: frozenset[int]) -> tuple[Rows, Tensor]:
    """Rows that differ in what is used, and for each row which of them it is."""
    if len(rows) < 2:
        return rows, torch.zeros(len(rows), dtype=torch.int64)
    keys = torch.cat([rows.values[:, sorted(used)], rows.relations], dim=1).tolist()
    numbers: dict[tuple[int, ...], int] = {}
    places = [numbers.setdefault(tuple(key), len(numbers)) for key in keys]
    first = dict(zip(reversed(places), reversed(range(len(places))), strict=True))
    return rows.take(torch.tensor([first[i] for i in range(len(numbers))])), torch.tensor(places)
