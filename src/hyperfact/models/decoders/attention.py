"""Attention among the tokens of a fact: what decoders that read facts as sequences are made of."""

import math
from collections.abc import Callable, Iterable
from typing import ClassVar, NamedTuple, cast

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from hyperfact.config import Section
from hyperfact.errors import ConfigError
from hyperfact.kernels.ragged_attention import Layout, ragged_attention
from hyperfact.models.decoders.packing import Packing
from hyperfact.models.noise import dropout
from hyperfact.models.representations import rows_of


class AttentionSettings(Section):
    """Options of decoders that are made of blocks of attention."""

    thins_attention: ClassVar[bool] = True  # whether dropout is also on the weights of attention

    layers: int = Field(default=2, ge=1, description="encoder blocks, normalised after each sum")
    heads: int = Field(default=4, ge=1, description="attention heads; must divide d")
    feedforward: int = Field(default=512, ge=1, description="width of the inner layer")
    dropout: float = Field(
        default=0.1, ge=0.0, lt=1.0, description="on attention and on each block"
    )


class Edges(NamedTuple):
    """Vectors of edge labels from 1 on, added to keys and values; label 0 has none."""

    keys: Tensor  # (labels, dim / heads)
    values: Tensor  # (labels, dim / heads)
    labels: Callable[[int], Tensor]  # from the number of tokens: the label of each two of them


class Block(nn.Module):
    """Self-attention and a two-layer network, each added to its input and then normalised."""

    def __init__(
        self,
        dim: int,
        settings: AttentionSettings,
        generator: torch.Generator,
        activation: Callable[[Tensor], Tensor] = torch.relu,
    ) -> None:
        super().__init__()
        if dim % settings.heads:
            raise ConfigError(f"decoder.heads = {settings.heads} must divide training.dim = {dim}")
        self.heads, self.dropout, self.activation = settings.heads, settings.dropout, activation
        self.thinning = settings.dropout if settings.thins_attention else 0.0
        self.qkv, self.out = linear(dim, 3 * dim, generator), linear(dim, dim, generator)
        self.inner = linear(dim, settings.feedforward, generator)
        self.outer = linear(settings.feedforward, dim, generator)
        self.norm_1, self.norm_2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def packed(
        self,
        x: Tensor,
        packing: Packing,
        generator: torch.Generator | None,
        edges: Edges | None = None,
    ) -> Tensor:  # (tokens, dim)
        """The next vectors of all tokens; dropout may also thin the weights of attention."""
        none = x.new_zeros(0, x.shape[1] // self.heads)
        keys, values = (none, none) if edges is None else (edges.keys, edges.values)
        labels = [] if edges is None else [edges.labels(length) for _, length in packing.sizes]
        layout = Layout(packing.sizes, labels)
        noise = None
        if generator is not None and self.thinning:
            noise = dropout(x.new_ones(layout.weights(self.heads)), self.thinning, generator)
        qkv = self.qkv(x).to(x.dtype)
        mixed = ragged_attention(qkv, keys, values, layout=layout, heads=self.heads, noise=noise)
        return self._finish(x, mixed, generator)

    def at(
        self,
        columns: Tensor,
        x: Tensor,
        packing: Packing,
        generator: torch.Generator | None,
        edges: Edges | None = None,
    ) -> Tensor:  # (batch, dim)
        """The next vector of one token of each fact, as packed; much cheaper than all.

        A single query may pass through the map of keys itself, (W_k^T q) · x = q · W_k x, and the
        weighted sum through that of values. The bias of keys is the same for all tokens.
        """
        dim, width = x.shape[1], x.shape[1] // self.heads
        w_q, w_k, w_v = self.qkv.weight.chunk(3)
        b_q, _, b_v = self.qkv.bias.chunk(3)
        asked = rows_of(x, packing.starts + columns)  # (batch, dim)
        q = functional.linear(asked, w_q, b_q).view(-1, self.heads, width) / math.sqrt(width)
        turned = torch.einsum("bhe,hed->bhd", q, w_k.view(-1, width, dim))  # (batch, heads, dim)
        mixed = []
        groups = zip(packing.split(x), *map(packing.split_facts, (q, turned, columns)), strict=True)
        for group, own, query, column in groups:
            scores = query @ group.transpose(1, 2)  # (facts, heads, length)
            kinds = None
            if edges is not None:
                labels = edges.labels(group.shape[1])[column]  # (facts, length)
                kinds = functional.one_hot(labels, 1 + len(edges.keys))[:, :, 1:].to(x.dtype)
                scores = scores + (own @ edges.keys.T) @ kinds.transpose(1, 2)
            weights = dropout(scores.to(x.dtype).softmax(dim=2), self.thinning, generator)
            heads = torch.einsum("bhd,hed->bhe", weights @ group, w_v.view(-1, width, dim))
            heads = heads + weights.sum(dim=2, keepdim=True) * b_v.view(-1, width)
            if edges is not None and kinds is not None:
                heads = heads + (weights @ kinds) @ edges.values
            mixed.append(heads.flatten(1))
        return self._finish(asked, torch.cat(mixed), generator)

    def _finish(
        self, x: Tensor, mixed: Tensor, generator: torch.Generator | None
    ) -> Tensor:  # (…, dim)
        x = self.norm_1(x + dropout(self.out(mixed).to(x.dtype), self.dropout, generator))
        inner = self.outer(self.activation(self.inner(x))).to(x.dtype)
        result: Tensor = self.norm_2(x + dropout(inner, self.dropout, generator))
        return result


class Stack(nn.ModuleList):
    """Blocks one after another, over packed tokens."""

    def __init__(
        self,
        dim: int,
        settings: AttentionSettings,
        generator: torch.Generator,
        activation: Callable[[Tensor], Tensor] = torch.relu,
    ) -> None:
        super().__init__(
            Block(dim, settings, generator, activation) for _ in range(settings.layers)
        )

    def every(
        self, x: Tensor, packing: Packing, generator: torch.Generator | None
    ) -> Tensor:  # (tokens, dim)
        """All tokens."""
        for block in cast(Iterable[Block], self):
            x = block.packed(x, packing, generator)
        return x

    def asked(
        self,
        columns: Tensor,
        x: Tensor,
        packing: Packing,
        generator: torch.Generator | None,
        edges: Edges | None = None,
    ) -> Tensor:  # (batch, dim)
        """One token of each fact, in the order of the batch; the last block looks at no other."""
        *some, last = cast(Iterable[Block], self)
        for block in some:
            x = block.packed(x, packing, generator, edges)
        return packing.unpack(last.at(columns[packing.order], x, packing, generator, edges))


def linear(inputs: int, outputs: int, generator: torch.Generator) -> nn.Linear:
    """A linear map with Glorot weights from `generator` and no bias at the start."""
    module = nn.Linear(inputs, outputs, device="meta").to_empty(device="cpu")
    bound = (6.0 / (inputs + outputs)) ** 0.5
    with torch.no_grad():
        module.weight.uniform_(-bound, bound, generator=generator)
        module.bias.zero_()
    return module
