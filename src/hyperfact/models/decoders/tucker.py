"""TuckER: the tensor of all triples as a core tensor times entities and relations (EMNLP 2019)."""

import math

import torch
from pydantic import Field
from torch import Tensor, nn

from hyperfact.models.decoders.triple_edges import Edges, TripleSettings
from hyperfact.models.decoders.triple_scorer import TripleScorer, normed, over_existing
from hyperfact.models.model_card import Card
from hyperfact.models.noise import dropout

_MATRICES = 256  # W_r that exist at once, unless gradients need them all


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
    keeps deviations, not in [-1, 1]. W_r is made once for all edges of a relation in a batch, which
    share what dropout leaves of it.
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

        def product(known: Tensor, relation: Tensor, label: Tensor, ends: Tensor) -> Tensor:
            known = known if self.input_norm is None else normed(self.input_norm, known)
            known = dropout(known, self.settings.dropout, generator)
            hidden = self._hidden(known, relation, label, ends, generator)
            hidden = hidden if self.hidden_norm is None else normed(self.hidden_norm, hidden)
            return dropout(hidden, self.settings.hidden_dropout, generator)

        parts = (edges.known, edges.relation, edges.label, edges.asks_target)
        return over_existing(product, *parts, exists=edges.exists, compact=self.training)

    def _hidden(
        self,
        known: Tensor,
        relation: Tensor,
        label: Tensor,
        ends: Tensor,
        generator: torch.Generator | None,
    ) -> Tensor:  # (rows, dim)
        """The product of each edge; in training, edges of one relation share its matrix.

        Elsewhere each edge has its own, so that the bits of an answer do not depend on what else is
        asked, and a compiled program not on labels.
        """
        if not self.training or torch.compiler.is_compiling():
            parts = (torch.split(part, _MATRICES) for part in (known, relation, ends))
            found = [
                self._turned(h[:, None], self._matrices(r, generator), asks[:, None, None])[:, 0]
                for h, r, asks in zip(*parts, strict=True)
            ]
            return torch.cat(found)
        _, which, counts = torch.unique(label, return_inverse=True, return_counts=True)
        order = which.argsort(stable=True)  # edges of one relation are neighbours
        relations = relation[order[counts.cumsum(dim=0) - counts]]
        product = self._product(known[order], relations, counts, ends[order], generator)
        return product[order.argsort()]

    def _product(
        self,
        known: Tensor,
        relations: Tensor,
        counts: Tensor,
        asks_target: Tensor,
        generator: torch.Generator | None,
    ) -> Tensor:  # (rows, dim)
        """The same relation after relation; there are matrices of some relations at a time.

        Args:
            known: Relation after relation.  # (rows, dim)
            relations: Each once.  # (relations, dim)
            counts: Edges of each.  # (relations,)
            asks_target: Of each edge.  # (rows,)
            generator: Of dropout.
        """
        sizes, parts = counts.tolist(), []
        edges = zip(torch.split(known, sizes), torch.split(asks_target, sizes), strict=True)
        for some in torch.split(relations, _MATRICES):
            for matrix, (h, ends) in zip(self._matrices(some, generator), edges, strict=False):
                parts.append(self._turned(h, matrix, ends[:, None]))
        return torch.cat(parts)

    def _matrices(
        self, relations: Tensor, generator: torch.Generator | None
    ) -> Tensor:  # (relations, dim, dim)
        """W_r of each."""
        r = relations if self.reduction is None else relations @ self.reduction
        matrices = (r @ self.core.flatten(1)).view(-1, self.dim, self.dim)
        return dropout(matrices, self.settings.core_dropout, generator)

    def _turned(self, h: Tensor, matrix: Tensor, asks_target: Tensor) -> Tensor:  # like h
        """H W_r, or W_r t."""
        product = h @ matrix
        if self.edges.inverse is None:
            product = torch.where(asks_target, product, h @ matrix.mT)
        return product
