"""The contract of decoders: from facts and representations to scores (docs/adr/0003)."""

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from hyperfact.config import Section
from hyperfact.graph.batches import FactBatch
from hyperfact.kernels.added_scores import added_scores
from hyperfact.kernels.sparse_rows import AddedScores
from hyperfact.models.model_card import Card
from hyperfact.models.representations import Representations, rows_of

ALL = slice(None)
_BLOCK = 192  # columns; a multiple of every block that products are computed in


class LinearForm(NamedTuple):
    """Scores that are linear in the vector of the candidate: q · t_e + b_e + c, and sparse ones."""

    queries: Tensor  # (batch, dim)
    table: Tensor  # (candidates, dim)
    bias: Tensor | None = None  # (candidates,)
    constant: Tensor | None = None  # (batch,)
    added: AddedScores | None = None  # what comes on top, of few candidates

    def scores(self) -> Tensor:  # (batch, candidates)
        """All of them, in one matrix product."""
        products = even_products(self.queries, self.table)
        if self.added is not None:
            products = products + added_scores(self.added)
        if self.bias is not None:
            products = products + self.bias
        return products if self.constant is None else products + self.constant[:, None]


class ProductSettings(Section):
    """Options of decoders that multiply the vectors of a fact."""

    pooling: Literal["mean", "sum"] = Field(
        default="mean", description="varphi over the primary relation and the attributes"
    )
    dropout: float = Field(
        default=0.3, ge=0.0, lt=1.0, description="on the vectors of the known part"
    )
    query_dropout: float = Field(
        default=0.0,
        ge=0.0,
        lt=1.0,
        description="on the product of the known part; unlike `dropout` the same at every arity",
    )
    normalise: bool = Field(
        default=True, description="divide vectors so that first scores have a deviation of about 1"
    )


class Decoder(nn.Module, ABC):
    """A scoring function phi of the paper, for facts of any arity side by side.

    A decoder writes `score`. Scores of every entity in a slot follow from it, slowly. For speed
    only, a decoder gives its `linear_form`, or overrides `score_slot` when there is none; a
    contract test compares fast and slow. Decoders that must look at each candidate alone are
    `Candidatewise`.

    Args:
        dim: The dimension d of the representations.
        num_entities: How many entities can be asked for.
        scale: Standard deviation of the coordinates of representations at the start.
        settings: The decoder's own options.
        generator: Source of the initial values.
    """

    Settings: ClassVar[type[Section]]
    card: ClassVar[Card | None] = None  # where it comes from and what it can do
    negatives: ClassVar[int] = 0  # candidates of a training query by default; 0: all entities
    takes_means: ClassVar[bool] = True  # whether a mean of vectors is a fair candidate
    is_ordered: ClassVar[bool] = False  # whether scores depend on the order of qualifiers
    reads_facts: ClassVar[bool] = False  # whether scores depend on the facts of the graph too
    #: Whether the queries of `linear_form`, dropout included, are the same where facts are a part
    #: of a batch (`FactBatch.rows`); processes that divide a model then divide the reading too.
    reads_apart: ClassVar[bool] = False

    def __init__(
        self,
        *,
        dim: int,
        num_entities: int,
        scale: float,
        settings: Section,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.dim, self.num_entities, self.scale = dim, num_entities, scale
        self.settings = settings
        self.prepare(generator)

    def prepare(self, generator: torch.Generator) -> None:
        """Check the settings and make the decoder's own parameters; by default there are none.

        Raises:
            ConfigError: Settings that do not go together.
        """

    @abstractmethod
    def score(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch,)
        """Plausibility of each fact, its entity in the asked slot being the answer.

        Most decoders judge a fact as a whole and ignore which slot is asked.

        Args:
            facts: The facts.
            slots: The asked slot of each.  # (batch,)
            z: Vectors of entities and relations.
            generator: Source of dropout; None: no dropout.
        """

    @staticmethod
    def fills_values(settings: Any) -> bool:  # noqa: ARG004 - for the members
        """Whether values of qualifiers can be asked for, not subjects and objects alone."""
        return True

    @staticmethod
    def reads_numbers(settings: Any) -> bool:  # noqa: ARG004 - for the members
        """Whether numbers are read as such, and can be asked for with `estimate`."""
        return False

    def estimate(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch,)
        """The number in the asked slot of each fact, 0 to 1 on the scale of its role."""
        raise NotImplementedError("a decoder that reads numbers estimates them")

    def coordinates(
        self,
        generator: torch.Generator | None,  # noqa: ARG002 - for the members
    ) -> Tensor | None:  # (kept,)
        """The coordinates that a step of training needs, in order; None: all of them.

        A decoder that treats each coordinate alone may go without some and still score: encoders
        then compute no others.
        """
        return None

    def linear_form(
        self,
        facts: FactBatch,  # noqa: ARG002 - for the members
        slots: Tensor,  # noqa: ARG002
        z: Representations,  # noqa: ARG002
        *,
        candidates: slice = ALL,  # noqa: ARG002
        generator: torch.Generator | None = None,  # noqa: ARG002
    ) -> LinearForm | None:
        """Vectors whose products are the scores of `score_slot`; None: they are not linear."""
        return None

    def score_slot(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: slice = ALL,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, candidates)
        """The score of each fact with each candidate entity in the asked slot."""
        form = self.linear_form(facts, slots, z, candidates=candidates, generator=generator)
        if form is not None:
            return form.scores()
        return self.score_each(facts, slots, z, candidates=candidates)

    def score_candidates(
        self,
        facts: FactBatch,
        slots: Tensor,
        z: Representations,
        *,
        candidates: Tensor,
        generator: torch.Generator | None = None,
    ) -> Tensor:  # (batch, k)
        """The score of each fact with each of its own candidates in the asked slot.

        Args:
            facts: The facts.
            slots: The asked slot of each.  # (batch,)
            z: Vectors of entities and relations.
            candidates: Entities to try, other ones for each fact.  # (batch, k)
            generator: Source of dropout; None: no dropout.
        """
        count = candidates.shape[1]
        repeated = facts.each(lambda part: part.repeat_interleave(count, 0))
        asked = slots.repeat_interleave(count)
        filled = put(repeated, asked, candidates.flatten())
        return self.score(filled, asked, z, generator=generator).view(-1, count)

    def score_each(
        self, facts: FactBatch, slots: Tensor, z: Representations, *, candidates: slice = ALL
    ) -> Tensor:  # (batch, candidates)
        """`score_slot` by one call of `score` for each candidate: slow, and true by definition."""
        ids = range(len(z.entities))[candidates]
        columns = [self.score(put(facts, slots, entity), slots, z) for entity in ids]
        return torch.stack(columns, dim=1)


def score_of_answer(
    self: Decoder,
    facts: FactBatch,
    slots: Tensor,
    z: Representations,
    *,
    generator: torch.Generator | None = None,
) -> Tensor:  # (batch,)
    """`score` of a decoder that writes `score_candidates`: the one that stands in the slot."""
    answers = facts.answers(slots)[:, None]
    return self.score_candidates(facts, slots, z, candidates=answers, generator=generator)[:, 0]


def even_products(queries: Tensor, table: Tensor) -> Tensor:  # (batch, rows)
    """All products of queries and rows, equal rows having exactly equal products.

    Libraries compute the last columns of a product, where they do not fill a block, in another
    order of summation; equal entities would then differ in the last bits and a tie would not be
    one. Rows of zeros fill the last block.
    """
    rows = len(table)
    filled = functional.pad(table, (0, 0, 0, -rows % _BLOCK))
    return (queries @ filled.T)[:, :rows]


def put(facts: FactBatch, slots: Tensor, entity: int | Tensor) -> FactBatch:
    """The same facts with `entity` (one, or one for each) in each fact's own slot."""
    rows = len(facts)
    value = torch.as_tensor(entity, device=facts.entities.device).expand(rows)
    entities = facts.entities.scatter(1, slots[:, None], value[:, None])
    return replace(facts, entities=entities)


def pool(facts: FactBatch, z: Representations, how: str) -> Tensor:  # (batch, dim)
    """varphi(h_r, h_a1, …): mean or sum over the primary relation and the attributes."""
    mask = facts.relation_mask[:, :, None].to(z.relations.dtype)  # (batch, relations, 1)
    total = (rows_of(z.relations, facts.relations) * mask).sum(dim=1)
    return total / mask.sum(dim=1) if how == "mean" else total


def product(factors: Tensor) -> Tensor:  # (batch, dim)
    """The product over slots, by halves; exact gradients also where a factor is 0."""
    while factors.shape[1] > 1:
        factors = paired(factors)
    return factors[:, 0]


def paired(factors: Tensor) -> Tensor:  # (batch, half of the slots, dim)
    """Products of two slots each; an odd one stays."""
    half = factors.shape[1] // 2
    pairs = factors[:, :half] * factors[:, half : 2 * half]
    return torch.cat([pairs, factors[:, 2 * half :]], dim=1) if factors.shape[1] % 2 else pairs


def units(decoder: Decoder, *, normalise: bool) -> tuple[float, float]:
    """By what a product decoder divides an entity's vector, and the relation's.

    With coordinates of deviation 1 and a relation scaled by 1 / sqrt(d) a product of any number of
    vectors, summed over d coordinates, has a deviation of about 1.
    """
    return (decoder.scale, decoder.scale * math.sqrt(decoder.dim)) if normalise else (1.0, 1.0)
