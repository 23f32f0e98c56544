"""TuckER: the tensor of all triples as a core tensor times entities and relations (EMNLP 2019)."""

import math

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.models.decoders.triple_edges import Edges, TripleSettings
from hyperfact.models.decoders.triple_scorer import TripleScorer, normed, over_existing
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout

_ROWS = 256  # edges whose matrices W_r exist at once, unless gradients need them all


class TuckERSettings(TripleSettings):
    """Options of `tucker`."""

    reciprocal: bool = Field(
        default=True,
        description="ask for the source of an edge as for the target of its inverse, whose vector "
        "is a learned map of the relation's",
    )
    relation_dim: int = Field(
        default=0,
        ge=0,
        description="dimension of relations in the core, by a learned map; 0: that of entities",
    )
    batch_norm: bool = Field(default=True, description="normalise h and the product h W_r")
    dropout: float = Field(default=0.2, ge=0.0, lt=1.0, description="on the known entity")
    core_dropout: float = Field(default=0.2, ge=0.0, lt=1.0, description="on the matrix W_r")
    hidden_dropout: float = Field(default=0.3, ge=0.0, lt=1.0, description="on the product h W_r")


class TuckER(TripleScorer):
    """f(h, r, t) = W ×_1 r ×_2 h ×_3 t = h W_r t, W_r = sum_i r_i W_i.

    h is normalised over the edges that exist, and so is h W_r. Without inverse relations an edge
    that asks for h has the query W_r t, normalised in the same way. The core starts at a size that
    keeps deviations, not in [-1, 1].
    """

    Settings = TuckERSettings
    settings: TuckERSettings
    card = Card(
        title="TuckER",
        year=2019,
        reference="Balazevic, Allen, Hospedales: TuckER: tensor factorization for knowledge graph "
        "completion, EMNLP 2019",
        cost="O(d³) for an edge, one matrix product for all candidates",
        qualifiers="an edge from each slot to each value, or none",
        is_expressive=True,
    )

    def prepare(self, generator: torch.Generator) -> None:
        """The core, a map of relations if they are smaller, and norms."""
        super().prepare(generator)
        dim, narrow = self.dim, self.settings.relation_dim
        self.reduction = None
        if narrow:
            reduction = torch.empty(dim, narrow)
            reduction.normal_(0.0, 1 / math.sqrt(dim), generator=generator)
            self.reduction = nn.Parameter(reduction)
        core = torch.empty(narrow or dim, dim, dim)
        core.normal_(0.0, 1 / math.sqrt(dim * (narrow or dim)), generator=generator)
        self.core = nn.Parameter(core)  # W
        norms = (nn.BatchNorm1d(dim) if self.settings.batch_norm else None for _ in range(2))
        self.input_norm, self.hidden_norm = norms

    def queries(
        self, edges: Edges, generator: torch.Generator | None
    ) -> Tensor:  # (batch, edges, dim)
        """H W_r, or W_r t, for the edges that exist."""

        def product(rows: Tensor) -> Tensor:  # (rows, 2 * dim + 1) -> (rows, dim)
            known, relation, ends = torch.split(rows, [self.dim, self.dim, 1], dim=1)
            known = known if self.input_norm is None else normed(self.input_norm, known)
            known = dropout(known, self.settings.dropout, generator)
            hidden = self._product(known, relation, ends > 0, generator)
            hidden = hidden if self.hidden_norm is None else normed(self.hidden_norm, hidden)
            return dropout(hidden, self.settings.hidden_dropout, generator)

        ends = edges.asks_target[:, :, None].to(edges.known.dtype)
        rows = torch.cat([edges.known, edges.relation, ends], dim=2)
        return over_existing(product, rows, edges.exists, compact=self.training)

    def _product(
        self,
        known: Tensor,
        relation: Tensor,
        asks_target: Tensor,
        generator: torch.Generator | None,
    ) -> Tensor:  # (rows, dim)
        """A few edges at a time, for each has a matrix of its own."""
        if self.reduction is not None:
            relation = relation @ self.reduction
        parts = []
        for h, r, forward in zip(
            *(torch.split(part, _ROWS) for part in (known, relation, asks_target)), strict=True
        ):
            matrices = (r @ self.core.flatten(1)).view(len(r), self.dim, self.dim)  # W_r
            matrices = dropout(matrices, self.settings.core_dropout, generator)
            product = (h[:, None] @ matrices)[:, 0]
            if self.edges.inverse is None:
                product = torch.where(forward, product, (matrices @ h[:, :, None])[:, :, 0])
            parts.append(product)
        return torch.cat(parts)
