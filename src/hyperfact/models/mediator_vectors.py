"""Mediators of a model, to look at."""

from dataclasses import dataclass

from torch import Tensor

from hyperfact.graph.ragged import Array


@dataclass(frozen=True)
class Mediators:
    """What enters the encoder for mediators, and the facts that they stand for."""

    vectors: Tensor  # (mediators, dim)
    fact: Array  # (mediators,) row of the training facts; -1 if the graph was imported
    relation: Array  # (mediators,) the primary relation
