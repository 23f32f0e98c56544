"""Linear scorers of triples: what (h, r, ?) and (?, r, t) ask for is a vector."""

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from hyperfact.graph.batches import FactBatch
from hyperfact.models.decoders.decoder import ALL, Decoder, LinearForm, score_of_answer
from hyperfact.models.decoders.triple_edges import Edges, FactEdges, TripleSettings
from hyperfact.models.representations import Representations, rows_of


class TripleScorer(Decoder):
    """phi(x) = sum over the edges (h, r, t) at the asked slot of f(h, r, t), f linear in h and t.

    A member writes the query of an edge: q with f(h, r, t) = q · t, or q · h. The query of a fact
    is the sum of those of its edges. Vectors are divided by their initial scale and queries by
    sqrt(d), so that the score of a triple starts with a deviation of about 1.
    """

    Settings: ClassVar[type[TripleSettings]]
    settings: TripleSettings
    entity_bias: nn.Parameter | None  # of members that have one

    def prepare(self, generator: torch.Generator) -> None:
        """How facts become edges."""
        self.register_parameter("entity_bias", None)
        self.edges = FactEdges(self.dim, self.settings, generator)

    @abstractmethod
    def queries(
        self, edges: Edges, generator: torch.Generator | None
    ) -> Tensor:  # (batch, edges, dim)
        """What (h, r, ?) asks for, or (?, r, t), from coordinates of deviation about 1."""

    @staticmethod
    def fills_values(settings: Any) -> bool:
        """Only where qualifiers are read."""
        return bool(settings.qualifiers == "hyperedge")

    score = score_of_answer

    def score_candidates(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: Tensor,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, k)
        """The query, made once, against each question's own candidates."""
        query = self._query(facts, slots, z, generator)
        scores = (rows_of(z.entities, candidates) @ query[:, :, None])[:, :, 0]
        if self.entity_bias is None:
            return scores
        bias = z.of_entities(self.entity_bias)
        return scores + rows_of(bias[:, None], candidates)[:, :, 0]

    def linear_form(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> LinearForm:
        """The query against the entities as they are."""
        own = self.entity_bias
        bias = None if own is None else z.of_entities(own)[candidates]
        return LinearForm(
            self._query(facts, slots, z, generator), z.entities[candidates], bias=bias
        )

    def _query(
        self, facts: FactBatch, slots: Tensor, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (batch, dim)
        edges = self.edges(facts, slots, z).scaled(self.scale)
        queries = torch.where(edges.exists[:, :, None], self.queries(edges, generator), 0.0)
        return queries.sum(dim=1) / (self.scale * math.sqrt(self.dim))


def over_existing(
    function: Callable[..., Tensor], *parts: Tensor, exists: Tensor, compact: bool
) -> Tensor:  # (batch, edges, width)
    """A function of rows, of all edges; `compact`: of those that exist, for its statistics.

    Args:
        function: From rows of each part to rows.
        parts: Its inputs.  # (batch, edges, …) each
        exists: Which edges do.  # (batch, edges)
        compact: Leave the others out; they get the result of some edge.
    """
    rows = [part.flatten(0, 1) for part in parts]
    if not compact:
        return function(*rows).view(*exists.shape, -1)
    here = exists.flatten().nonzero()[:, 0]
    found = function(*(part.index_select(0, here) for part in rows))
    places = (exists.flatten().cumsum(dim=0) - 1).clamp(min=0)
    return found.index_select(0, places).view(*exists.shape, -1)


def normed(norm: nn.BatchNorm1d | nn.BatchNorm2d, rows: Tensor) -> Tensor:  # as it came
    """Normalised over the rows; one row alone has no deviation, and gets the one known so far."""
    if norm.training and len(rows) == 1:
        return functional.batch_norm(
            rows, norm.running_mean, norm.running_var, norm.weight, norm.bias, eps=norm.eps
        )
    found: Tensor = norm(rows)
    return found
