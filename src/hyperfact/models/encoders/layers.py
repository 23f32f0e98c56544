"""What graph encoders share: their input vectors, and how a layer updates an entity."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.graph.kg import KG
from hyperfact.graph.ragged import Array
from hyperfact.models.encoders.batch_norm import batch_norm
from hyperfact.models.encoders.encoder import EncoderSettings, table
from hyperfact.models.encoders.mediators import MediatorInput
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.neighbourhood import Neighbourhood
from hyperfact.models.representations import rows_of
from hyperfact.models.shard import Shard, whole

Activation = Literal["identity", "relu", "tanh"]


class LayerSettings(EncoderSettings):
    """Options of every encoder that passes messages."""

    layers: int = Field(default=1, ge=1, le=4, description="number of layers L")
    residual: bool = Field(
        default=True, description="h + g * update instead of the update alone (near the identity)"
    )
    gate: float = Field(default=0.1, description="initial g, a learned vector (residual)")
    batch_norm: bool = Field(default=True, description="normalise each coordinate over the nodes")
    activation: Activation = Field(default="identity", description="of the update")
    dropout: float = Field(default=0.0, ge=0.0, lt=1.0, description="on aggregated messages")
    hidden_dropout: float = Field(default=0.0, ge=0.0, lt=1.0, description="on entities, per layer")

    def unused(self) -> Mapping[str, str]:
        """Without residual there is no gate."""
        return {} if self.residual else {"gate": "residual = true"}


class MediatorSettings(LayerSettings):
    """Options of those that read a KG, in which mediators have vectors."""

    alpha: float = Field(
        default=0.8, ge=0.0, le=1.0, description="share of a mediator's vector common to its r"
    )


class NodeInput(nn.Module):
    """h^0: a free vector for each entity, [shared ; own] for each mediator."""

    def __init__(
        self, graph: KG, *, dim: int, settings: MediatorSettings, generator: torch.Generator
    ) -> None:
        super().__init__()
        scale = settings.initial_scale
        self.num_entities = graph.num_entities
        self.shard: Shard | None = None  # of which `entities` holds the rows
        self.entities = table(graph.num_entities, dim, scale, generator)
        self.mediators = MediatorInput(
            graph, dim=dim, alpha=settings.alpha, scale=scale, generator=generator
        )

    def forward(self) -> Tensor:  # (nodes, dim)
        """Entities, then mediators."""
        return self._before(self.mediators())

    @property
    def kinds(self) -> Array | None:  # (nodes,)
        """Entities, then primary relations of mediators that share all; None: all nodes differ."""
        if self.mediators.own.shape[1] or not len(self.mediators.psi):
            return None
        psi = self.num_entities + self.mediators.psi.numpy()
        return np.concatenate([np.arange(self.num_entities), psi])

    def _before(self, mediators: Tensor) -> Tensor:  # (nodes, dim)
        entities = whole(self.shard, self.entities, self.num_entities)
        return torch.cat([entities, mediators]) if len(mediators) else entities

    def columns(self, columns: Tensor) -> Tensor:  # (nodes, columns)
        """Some coordinates, ascending, of every node."""
        own = self.entities.index_select(1, columns)
        entities = whole(self.shard, own, self.num_entities)
        return torch.cat([entities, self.mediators.columns(columns)], dim=0)

    def of(self, near: Neighbourhood | None, *, merged: bool = False) -> Tensor:  # (nodes, dim)
        """Those of a neighbourhood, or all, or one for each of `kinds`."""
        if near is None:
            every: Tensor = self._before(self.mediators.common) if merged else self()
            return every
        ids = torch.from_numpy(near.nodes).to(self.entities.device)
        is_mediator = ids >= self.num_entities
        order = torch.argsort(is_mediator, stable=True)  # entities, then mediators
        entities, mediators = ids[~is_mediator], ids[is_mediator] - self.num_entities
        rows = torch.cat([rows_of(self.entities, entities), self.mediators.of(mediators)])
        return rows_of(rows, torch.argsort(order))


class Update(nn.Module):
    """UPD^ent: h' = act(BN(M)), or h + g * act(BN(M)) when residual.

    With g small at the start the encoder is near the identity, and the decoder can learn from the
    first step; with g = 1 a product decoder stays at chance for epochs.
    """

    def __init__(self, dim: int, settings: LayerSettings) -> None:
        super().__init__()
        self.norm = (
            nn.BatchNorm1d(dim, affine=not settings.residual) if settings.batch_norm else None
        )
        self.gate = nn.Parameter(torch.full((dim,), settings.gate)) if settings.residual else None
        self.activation: Activation = settings.activation
        self.dropout = settings.hidden_dropout

    def forward(
        self,
        messages: Tensor,  # (rows, kept)
        h: Tensor,  # (rows, dim)
        step: GraphPass,
        *,
        first: int = 0,
    ) -> Tensor:  # (rows, kept)
        """New vectors of nodes from their messages and old vectors; `first` numbers the first."""
        messages = messages.to(h.dtype)  # products may come in bfloat16
        update = messages if self.norm is None else batch_norm(self.norm, messages, step)
        update = activate(update, self.activation)
        if self.gate is not None:
            update = torch.addcmul(step.columns(h), update, step.columns(self.gate))
        return step.dropout(update, self.dropout, first=first)


class RelationGate(nn.Module):
    """UPD^rel: h' = M, or h + g * M when residual."""

    def __init__(self, dim: int, settings: LayerSettings) -> None:
        super().__init__()
        self.gate = nn.Parameter(torch.full((dim,), settings.gate)) if settings.residual else None

    def forward(
        self,
        update: Tensor,  # (relations, kept)
        z: Tensor,  # (relations, dim)
        step: GraphPass,
    ) -> Tensor:  # (relations, kept)
        """New vectors from what became of the old ones."""
        update = update.to(z.dtype)  # products may come in bfloat16
        if self.gate is None:
            return update
        return step.columns(z) + step.columns(self.gate) * update


def activate(x: Tensor, activation: Activation) -> Tensor:
    """The activation, coordinate by coordinate."""
    if activation == "identity":
        return x
    return torch.tanh(x) if activation == "tanh" else torch.relu(x)
