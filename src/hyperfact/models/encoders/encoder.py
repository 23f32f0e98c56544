"""The contract of encoders: from a graph to a vector for each entity and each relation."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.config import Section
from hyperfact.graph.hkg import HKG
from hyperfact.graph.kg import KG
from hyperfact.graph.ragged import Array
from hyperfact.kernels.edges import EdgeIndex
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.model_card import Card
from hyperfact.models.representations import Representations
from hyperfact.models.shard import Shard


class EncoderSettings(Section):
    """Options of every encoder."""

    initial_scale: float = Field(
        default=0.3, gt=0.0, description="standard deviation of initial coordinates"
    )


class Encoder(nn.Module, ABC):
    """An encoder is made for one graph, whose sizes decide its parameters.

    Args:
        graph: The training facts: transformed to a KG, or themselves, as it `reads`.
        dim: The dimension d of the representations.
        settings: The encoder's own options.
        generator: Source of the initial values.
    """

    Settings: ClassVar[type[Section]]  # of `EncoderSettings`
    card: ClassVar[Card | None] = None  # where it comes from and what it can do
    reads: ClassVar[Literal["kg", "facts"]] = "kg"  # what it is made for and looks at
    sees_graph: ClassVar[bool] = True  # whether vectors depend on it, beyond its sizes
    tells_apart: ClassVar[bool] = True  # whether entities have vectors of their own
    settings: Section
    #: Tables with a row for each entity or mediator, whose owners gather them by their `shard`.
    divided: ClassVar[tuple[str, ...]] = ("nodes.entities", "nodes.mediators.own")
    computes_own: ClassVar[bool] = False  # whether it can compute the rows of a shard alone
    shard: Shard | None = None
    samples: ClassVar[bool] = False  # whether it can compute some nodes from drawn neighbours

    def __init__(
        self, graph: KG | HKG, *, dim: int, settings: Section, generator: torch.Generator
    ) -> None:
        super().__init__()
        self.settings, self.dim = settings, dim
        self.num_entities, self.num_relations = len(graph.entities), len(graph.relations)
        self.prepare(graph, generator)

    @abstractmethod
    def prepare(self, graph: Any, generator: torch.Generator) -> None:
        """Check the settings and make the parameters, and whatever is known of the graph.

        Args:
            graph: A KG, or an HKG where it reads facts.
            generator: Source of the initial values.

        Raises:
            ConfigError: Settings that do not go together.
        """

    @abstractmethod
    def encode(self, step: GraphPass) -> Representations:
        """Representations of all entities (or of those of a shard) and relations, of no mediators.

        Args:
            step: Which edges or facts exist, where dropout comes from, which coordinates it wants.
        """

    def forward(self, step: GraphPass | None = None) -> Representations:
        """`encode`; by default over the whole graph and without dropout."""
        return self.encode(step or GraphPass())

    @staticmethod
    def takes_new_relations(settings: Any) -> bool:  # noqa: ARG004 - for the members
        """Whether relations may join after training, known by what they connect."""
        return False

    @staticmethod
    def held(settings: Any, dim: int) -> float:  # noqa: ARG004 - for the members
        """Tables of all nodes, or what is as large, that a shard holds while it computes its rows.

        The table, its slopes, and sums of either.
        """
        return 3.0

    def heard(self) -> EdgeIndex:
        """Over which edges a node hears others, in both directions, where it `samples`."""
        raise NotImplementedError

    def keep_without(self, graph: KG | HKG, facts: Array) -> Tensor:  # (items,) bool
        """What remains of its graph when these facts are not known: of edges or of facts.

        An edge that another fact asks for too remains.
        """
        keep = np.ones(len(graph), dtype=bool)
        keep[facts if isinstance(graph, HKG) else graph.edges_only_of(facts)] = False
        return torch.from_numpy(keep)


def table(
    rows: int, dim: int, scale: float, generator: torch.Generator
) -> nn.Parameter:  # (rows, dim)
    """Independent normal coordinates with standard deviation `scale`."""
    return nn.Parameter(torch.empty(rows, dim).normal_(0.0, scale, generator=generator))


def glorot(*shape: int, generator: torch.Generator) -> nn.Parameter:
    """Matrices (the last two dimensions) that keep the variance of what they multiply."""
    bound = (6.0 / (shape[-2] + shape[-1])) ** 0.5
    return nn.Parameter(torch.empty(*shape).uniform_(-bound, bound, generator=generator))
