"""The contract of encoders: from a KG to a vector for each entity and each relation."""

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor, nn

from hyperfact.config import Section
from hyperfact.graph.kg import KG, Representations


class Encoder(nn.Module, ABC):
    """An encoder is made for one graph, whose sizes decide its parameters.

    Args:
        graph: The transformed training facts.
        dim: The dimension d of the representations.
        settings: The encoder's own options.
        generator: Source of the initial values.
    """

    Settings: ClassVar[type[Section]]

    #: Standard deviation of the coordinates of entities and of relations at the start.
    scale: float

    def __init__(
        self,
        graph: KG,
        *,
        dim: int,
        settings: Section,
        generator: torch.Generator,  # noqa: ARG002 - used by the members
    ) -> None:
        super().__init__()
        self.settings = settings
        self.num_entities, self.num_relations = graph.num_entities, len(graph.relations)
        self.dim = dim

    @abstractmethod
    def forward(
        self,
        *,
        keep: Tensor | None = None,
        generator: torch.Generator | None = None,
        coordinates: Tensor | None = None,
    ) -> Representations:
        """Representations of all entities and relations; never of mediators.

        Args:
            keep: Which edges exist in this step; None: all.  # (edges,) bool
            generator: Source of dropout; None: no dropout.
            coordinates: Which coordinates are wanted, in this order; None: all.  # (kept,)
        """


def columns(x: Tensor, coordinates: Tensor | None) -> Tensor:  # (…, kept)
    """These coordinates of vectors, or all."""
    return x if coordinates is None else x.index_select(x.dim() - 1, coordinates)


def table(
    rows: int, dim: int, scale: float, generator: torch.Generator
) -> nn.Parameter:  # (rows, dim)
    """Independent normal coordinates with standard deviation `scale`."""
    return nn.Parameter(torch.empty(rows, dim).normal_(0.0, scale, generator=generator))


def glorot(*shape: int, generator: torch.Generator) -> nn.Parameter:
    """Matrices (the last two dimensions) that keep the variance of what they multiply."""
    bound = (6.0 / (shape[-2] + shape[-1])) ** 0.5
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound, generator=generator))
