"""GRAN: a fact as a small graph, whose masked vertex attention fills in (Findings of ACL 2021)."""

import math
from functools import lru_cache
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.attention import AttentionSettings, Edges, Stack, linear
from hyperfact.models.decoders.packing import Packing
from hyperfact.models.decoders.readout import ReadOut, with_hole
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout
from hyperfact.models.representations import Representations, rows_of

_KINDS = {"hete": 4, "homo": 1, "complete": 0}  # labels of edges, beside 0 for none


class GRANSettings(AttentionSettings):
    """Options of `gran`; published are 12 layers at d = 256, the default fits a CPU."""

    layers: int = Field(
        default=3, ge=1, description="encoder blocks, normalised after each sum; published: 12"
    )
    edges: Literal["hete", "homo", "complete"] = Field(
        default="hete",
        description="how attention sees the edges of a fact: by their kinds (relation and "
        "subject, relation and object, relation and attribute, attribute and value), all alike, "
        "or not at all",
    )
    dropout: float = Field(
        default=0.2, ge=0.0, lt=1.0, description="on tokens, attention and each block"
    )


class GRAN(ReadOut):
    """phi(x) = LN(gelu(W y_hole + b)) · h_e / u + b_e, y = blocks(LN([s, o, v_1, …, r, a_1, …])).

    In each block and head alpha_ij = softmax_j(q_i · (k_j + ek_ij) / sqrt(d / heads)) and
    z_i = sum_j alpha_ij (v_j + ev_ij), where ek and ev are vectors of the label of the edge i - j,
    the same in all heads and blocks: subject - relation, object - relation, attribute - relation,
    value - attribute, zero for any other two. Tokens have no positions: what a token is follows
    from its edges alone, and the order of qualifiers is nothing. The asked entity is replaced by a
    learned vector.

    As published but for: 3 layers instead of 12; relations are not masked and learned; facts have
    their own length instead of a largest one; u = scale sqrt(d), so that first scores have a
    deviation of about 1. Published for training: d = 256, AdamW with lr 0.0005, weight decay 0.01
    and a clipped norm of 1, label smoothing of 0.9 (JF17K) or 0.2 (WikiPeople), and vectors that
    start small, `encoder.initial_scale` of 0.02: they then turn as fast as the blocks learn.
    """

    Settings = GRANSettings
    settings: GRANSettings
    card = Card(
        title="GRAN",
        year=2021,
        reference="Wang, Wang, Lyu, Zhu: Link prediction on n-ary relational facts: a graph-based "
        "approach, Findings of ACL 2021",
        cost="O(L (m d² + m² d)), one matrix product for all candidates",
        qualifiers="two vertices for each pair, with an edge between them",
    )

    def prepare(self, generator: torch.Generator) -> None:
        """The masked vertex, vectors of edge labels, blocks, and a bias for each entity."""
        dim, settings = self.dim, self.settings
        self.hole = nn.Parameter(torch.empty(dim).normal_(0.0, self.scale, generator=generator))
        self.norm, self.output_norm = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.blocks = Stack(dim, settings, generator, functional.gelu)
        if _KINDS[settings.edges]:
            shape = _KINDS[settings.edges], dim // settings.heads
            self.edge_keys, self.edge_values = (
                nn.Parameter(torch.empty(shape).normal_(0.0, 0.3, generator=generator))
                for _ in range(2)
            )
        self.output = linear(dim, dim, generator)
        self.entity_bias = nn.Parameter(torch.zeros(self.num_entities))

    def ask(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> tuple[Tensor, None]:  # (batch, dim)
        """What attention makes of the masked vertex; the last block looks at no other."""
        there, others = facts.mask, facts.relation_mask
        packing = Packing.of(there, others)
        entities = z.vectors(facts, slots, there)
        entities = with_hole(entities, facts.asked(slots)[there], self.hole)
        x = self.norm(packing.join(entities, rows_of(z.relations, facts.relations[others])))
        x = dropout(x, self.settings.dropout, generator)
        y = self.blocks.asked(slots, x, packing, generator, self._edges())
        query = self.output_norm(functional.gelu(self.output(y)).to(y.dtype))
        return query / (self.scale * math.sqrt(self.dim)), None

    def _edges(self) -> Edges | None:
        if self.settings.edges == "complete":
            return None
        keys, most = self.edge_keys, _KINDS[self.settings.edges]
        return Edges(
            keys,
            self.edge_values,
            lambda tokens: labels_of(tokens).clamp(max=most).to(keys.device),
        )


@lru_cache(maxsize=64)
def labels_of(tokens: int) -> Tensor:  # (tokens, tokens)
    """The label of each edge of a fact with so many vertices, 0 where there is none."""
    arity = (tokens + 1) // 2
    labels = torch.zeros(tokens, tokens, dtype=torch.long)
    relation, attributes = arity, torch.arange(arity + 1, tokens)
    labels[relation, 0], labels[relation, 1], labels[relation, attributes] = 1, 2, 3
    labels[attributes, torch.arange(2, arity)] = 4
    return labels + labels.T
