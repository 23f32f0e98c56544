"""Packing: the tokens of facts of any length side by side, none of them padded.

Facts of one length form a group. All tokens pass through one matrix product; only attention itself
looks at a group at a time.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from hyperfact.models.representations import rows_of


@dataclass(frozen=True)
class Packing:
    """Tokens that exist, fact after fact, short facts first."""

    sizes: list[tuple[int, int]]  # facts of one length, and that length
    order: Tensor  # (batch,) rows of the facts, as packed
    places: Tensor  # (tokens,) of each token among the padded ones
    starts: Tensor  # (batch,) first token of each fact, as packed
    kinds: tuple[Tensor, ...]  # each (batch, tokens of a kind) bool: which of them exist

    @classmethod
    def of(cls, *kinds: Tensor) -> "Packing":
        """Of padded tokens, kind after kind, of which some exist: each (batch, tokens) bool."""
        present = torch.cat(kinds, dim=1)
        counts = present.sum(dim=1)
        lengths, order = counts.sort(stable=True)
        row, column = present[order].nonzero(as_tuple=True)
        some, facts = torch.unique_consecutive(lengths, return_counts=True)
        sizes = list(zip(facts.tolist(), some.tolist(), strict=True)) or [(0, 3)]  # any length
        places = order[row] * present.shape[1] + column
        return cls(sizes, order, places, lengths.cumsum(0) - lengths, kinds)

    def pack(self, padded: Tensor) -> Tensor:  # (tokens, dim)
        """The tokens that exist, of all of them (batch, tokens, dim)."""
        return rows_of(padded.flatten(0, 1), self.places)

    def join(self, *vectors: Tensor) -> Tensor:  # (tokens, dim)
        """The same from those of each kind that exist, fact after fact (tokens of a kind, dim)."""
        numbers, first = [], 0
        for present, own in zip(self.kinds, vectors, strict=True):
            numbers.append(numbers_of(present) + first)
            first += len(own)
        return rows_of(torch.cat(vectors), torch.cat(numbers, dim=1).flatten()[self.places])

    def unpack(self, vectors: Tensor) -> Tensor:  # (batch, dim)
        """One vector for each fact, in the order of the batch again."""
        return rows_of(vectors, self.order.argsort())

    def split(self, tokens: Tensor) -> list[Tensor]:  # each (facts, length, …)
        """Groups of one length."""
        parts = torch.split(tokens, [facts * length for facts, length in self.sizes])
        shapes = (size + tokens.shape[1:] for size in self.sizes)
        return [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]

    def split_facts(self, facts: Tensor) -> tuple[Tensor, ...]:  # each (facts, …)
        """The same for what there is once for each fact, as packed."""
        return torch.split(facts, [count for count, _ in self.sizes])


def numbers_of(present: Tensor) -> Tensor:  # as `present`
    """The number of each place among those that exist, row after row."""
    return present.flatten().cumsum(0).view(present.shape) - 1
