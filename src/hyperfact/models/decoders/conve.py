"""ConvE: a convolution over an image of head and relation (AAAI 2018)."""

import math
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.errors import ConfigError
from hyperfact.models.decoders.triple_edges import Edges, TripleSettings
from hyperfact.models.decoders.triple_scorer import TripleScorer, normed, over_existing
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout


class ConvESettings(TripleSettings):
    """Options of `conve`."""

    reciprocal: Literal[True] = Field(
        default=True, description="always: sources are asked for by inverse relations"
    )
    channels: int = Field(default=32, ge=1, description="number of filters")
    kernel: int = Field(default=3, ge=1, description="height and width of a filter")
    height: int = Field(
        default=0,
        ge=0,
        description="rows of the image of one vector, a divisor of d; 0: the largest one that "
        "leaves it no higher than wide",
    )
    dropout: float = Field(default=0.2, ge=0.0, lt=1.0, description="on the image")
    feature_dropout: float = Field(
        default=0.2, ge=0.0, lt=1.0, description="on whole channels after the convolution"
    )
    hidden_dropout: float = Field(default=0.3, ge=0.0, lt=1.0, description="on the projection")


class ConvE(TripleScorer):
    """f(h, r, t) = relu(W vec(relu([h ; r] * ω))) · t + b_t, h and r as images, one on the other.

    Normalised before the convolution, after it and after the projection, over the edges that exist.
    The first of the three has no scale and shift of its own, for the second would undo them. A fact
    with several edges has the sum of their queries and b_t once.
    """

    Settings = ConvESettings
    settings: ConvESettings
    card = Card(
        title="ConvE",
        year=2018,
        reference="Dettmers, Minervini, Stenetorp, Riedel: Convolutional 2D knowledge graph "
        "embeddings, AAAI 2018",
        cost="O(C d²) for an edge with C channels, one matrix product for all candidates",
        qualifiers="an edge from each slot to each value, or none",
    )

    def prepare(self, generator: torch.Generator) -> None:
        """Filters, projection, norms, and a bias for each entity."""
        super().prepare(generator)
        s = self.settings
        self.height, width = image_shape(self.dim, s.height)
        rows, columns = 2 * self.height - s.kernel + 1, width - s.kernel + 1
        if rows < 1 or columns < 1:
            raise ConfigError(
                f"decoder.kernel = {s.kernel} is larger than the image of {2 * self.height} x "
                f"{width} that training.dim = {self.dim} gives"
            )
        features = s.channels * rows * columns
        filters = torch.empty(s.channels, 1, s.kernel, s.kernel)
        self.filters = nn.Parameter(filters.normal_(0.0, 1 / s.kernel, generator=generator))
        projection = torch.empty(features, self.dim)
        projection.normal_(0.0, 1 / math.sqrt(features), generator=generator)
        self.projection = nn.Parameter(projection)
        self.input_norm = nn.BatchNorm2d(1, affine=False)
        self.feature_norm = nn.BatchNorm2d(s.channels)
        self.hidden_norm = nn.BatchNorm1d(self.dim)
        self.entity_bias = nn.Parameter(torch.zeros(self.num_entities))

    def queries(
        self, edges: Edges, generator: torch.Generator | None
    ) -> Tensor:  # (batch, edges, dim)
        """The network's outputs for the edges that exist."""

        def network(pairs: Tensor) -> Tensor:  # (rows, 2 * dim) -> (rows, dim)
            images = pairs.view(-1, 1, 2 * self.height, self.dim // self.height)
            return self._project(normed(self.input_norm, images), generator)

        pairs = torch.cat([edges.known, edges.relation], dim=2)
        return over_existing(network, pairs, exists=edges.exists, compact=self.training)

    def _project(self, images: Tensor, generator: torch.Generator | None) -> Tensor:  # (rows, dim)
        s = self.settings
        images = dropout(images, s.dropout, generator)
        features = nn.functional.conv2d(images, self.filters)  # (rows, channels, …)
        features = torch.relu(normed(self.feature_norm, features))
        channels = features.new_ones(*features.shape[:2], 1, 1)
        features = features * dropout(channels, s.feature_dropout, generator)
        hidden = dropout(features.flatten(1) @ self.projection, s.hidden_dropout, generator)
        return torch.relu(normed(self.hidden_norm, hidden))


def image_shape(dim: int, height: int) -> tuple[int, int]:
    """Rows and columns of the image of one vector; 0: as square as can be.

    Raises:
        ConfigError: The height does not divide the dimension.
    """
    if height and dim % height:
        raise ConfigError(f"decoder.height = {height} must divide training.dim = {dim}")
    height = height or max(n for n in range(1, math.isqrt(dim) + 1) if dim % n == 0)
    return height, dim // height
