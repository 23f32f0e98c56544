"""G-MPNN: each member of a fact hears the product of the others (NeurIPS 2020)."""

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.graph.hkg import HKG
from hyperfact.kernels.member_index import MemberIndex
from hyperfact.kernels.members import aggregate_members
from hyperfact.models.encoders.encoder import Encoder, glorot, table
from hyperfact.models.encoders.layers import LayerSettings, RelationGate, Update
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.hypergraph import index_of
from hyperfact.models.model_card import Card
from hyperfact.models.representations import Representations
from hyperfact.models.shard import whole

Aggregation = Literal["max", "mean", "sum"]


class GMPNNSettings(LayerSettings):
    """Options of `gmpnn`."""

    aggregation: Aggregation = Field(
        default="mean",
        description="of what an entity hears from its facts: the largest above 0, mean or sum",
    )


class GMPNN(Encoder):
    """N_k = AGG over facts of (h_r * prod over other members j of (p_j * h_j)).

    h_k' = act(N_k W + h_k W_0) and h_r' = h_r W_rel. The published code draws h, p and h_r once and
    never trains them, takes one random other member, and scales by 10^4; here all are learned, all
    others take part, and each factor is divided by the initial scale, so that what is heard has one
    size at any arity. Published is the largest of what is heard; the mean learns faster. p belongs
    to the role (subject, object, or the attribute) in place of a number of the
    position, so that there is no largest arity.
    """

    Settings = GMPNNSettings
    settings: GMPNNSettings
    reads = "facts"
    card = Card(
        title="G-MPNN",
        year=2020,
        reference="Yadati: Neural message passing for multi-relational ordered and recursive "
        "hypergraphs, NeurIPS 2020",
        cost="O(M d + V d²) with M members of all facts",
        qualifiers="members like subject and object, each with a vector of its attribute",
        is_expressive=True,
    )

    divided = ("entities",)

    def prepare(self, graph: HKG, generator: torch.Generator) -> None:
        """h^0 of entities and relations, the roles, and the layers."""
        dim, scale = self.dim, self.settings.initial_scale
        self.index = index_of(graph)
        self.entities = table(self.num_entities, dim, scale, generator)
        self.relations = table(self.num_relations, dim, scale, generator)
        self.roles = table(self.index.num_roles, dim, scale, generator)
        self.roles.data += 1.0  # near 1, or products of many members would vanish
        self.layers = nn.ModuleList(
            GMPNNLayer(dim, self.settings, generator) for _ in range(self.settings.layers)
        )

    def encode(self, step: GraphPass) -> Representations:
        """Representations after the last layer, the only one that may leave coordinates out."""
        h = whole(self.shard, self.entities, self.num_entities)
        z: Tensor = self.relations
        keep = torch.ones(len(self.index)).bool() if step.keep is None else step.keep
        inner = GraphPass(keep, step.generator)
        for number, layer in enumerate(self.layers, start=1):
            wanted = step if number == len(self.layers) else inner
            h, z = layer(h, z, self.roles, index=self.index, keep=keep, step=wanted)
        return Representations(h, z)


class GMPNNLayer(nn.Module):
    """One layer; all matrices act from the right."""

    def __init__(self, dim: int, settings: GMPNNSettings, generator: torch.Generator) -> None:
        super().__init__()
        self.aggregation, self.scale = settings.aggregation, settings.initial_scale
        self.dropout = settings.dropout
        self.w_message, self.w_self, self.w_relation = (
            glorot(dim, dim, generator=generator) for _ in range(3)
        )
        self.update = Update(dim, settings)
        self.gate = RelationGate(dim, settings)

    def forward(
        self,
        h: Tensor,  # (entities, dim)
        z: Tensor,  # (relations, dim)
        roles: Tensor,  # (2 + relations, dim)
        *,
        index: MemberIndex,
        keep: Tensor,
        step: GraphPass,
    ) -> tuple[Tensor, Tensor]:  # (entities, kept), (relations, kept)
        """New vectors of entities and relations."""
        largest = self.aggregation == "max"
        heard = aggregate_members(
            h / self.scale, z, roles, index=index, keep=keep, largest=largest
        )  # (entities, dim), with z of the initial scale and factors of size 1
        if self.aggregation == "mean":
            heard = heard / index.counts(keep.numpy()).clamp(min=1.0).to(h)[:, None]
        messages = step.dropout(heard @ step.columns(self.w_message), self.dropout)
        messages = messages + h @ step.columns(self.w_self)
        updated = self.gate(z @ step.columns(self.w_relation), z, step)
        return self.update(messages, h, step), updated
