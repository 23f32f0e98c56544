"""Sparse rows, and scores that are weighted sums of them."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import torch
from torch import Tensor


class SparseRows(NamedTuple):
    """A ragged table: row i has its values at the entries offsets[i] to offsets[i + 1]."""

    offsets: Tensor  # (rows + 1,)
    columns: Tensor  # (entries,)
    values: Tensor  # (entries,) float32 or float64


@dataclass(frozen=True)
class AddedScores:
    """For each query terms, each a weight times a row; several tables may say what a row is."""

    offsets: Tensor  # (batch + 1,) into the terms
    weights: Tensor  # (terms,)
    parts: tuple[tuple[Tensor, SparseRows], ...]  # the row of each term (terms,), and its table
    places: Tensor  # (columns of the tables,) the candidate that a column is; -1: none
    candidates: int

    def only(self, kept: Tensor) -> "AddedScores":
        """For these of the candidates alone, numbered anew."""
        new = self.places.new_full((self.candidates,), -1)
        new[kept] = torch.arange(len(kept), device=kept.device)
        places = torch.where(self.places >= 0, new[self.places], -1)
        return replace(self, places=places, candidates=len(kept))

    def rows(self, part: slice) -> "AddedScores":
        """For these of the queries alone."""
        start, stop, _ = part.indices(len(self))
        first, last = self.offsets[[start, stop]].tolist()
        parts = tuple((rows[first:last], table) for rows, table in self.parts)
        offsets = self.offsets[start : stop + 1] - first
        return replace(self, offsets=offsets, weights=self.weights[first:last], parts=parts)

    def __len__(self) -> int:
        return len(self.offsets) - 1
