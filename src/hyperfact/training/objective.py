"""What training minimises: the cross-entropy of true answers among candidates.

Queries, not facts, are trained: a query is a fact with one slot blank. With every entity as a
candidate, queries with the same known part are one item with several answers.
"""

import math
from abc import ABC, abstractmethod

import numpy as np
import torch
from torch import Tensor

from hyperfact.config import ObjectiveConfig
from hyperfact.errors import ConfigError
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.partial import AgreeingAnswers, PartialQueries
from hyperfact.graph.queries import KnownAnswers, Queries
from hyperfact.graph.ragged import Array, find, owners_of, places_of
from hyperfact.kernels.cross_entropy import softmax_cross_entropy
from hyperfact.kernels.reference import softmax_loss
from hyperfact.kernels.softmax import SoftmaxOptions, Targets
from hyperfact.models.decoders.decoder import LinearForm, put
from hyperfact.models.representations import Representations, rows_of
from hyperfact.models.transeq import TransEQ

_ROUNDS = 64  # of redrawing negatives; a query answered by nearly all entities may keep some


class Objective(ABC):
    """A loss over numbered items of a training set."""

    graph: HKG
    queries: Queries  # one for each item

    def __len__(self) -> int:
        return len(self.queries)

    @abstractmethod
    def loss(
        self, model: TransEQ, items: Array, z: Representations, generator: torch.Generator | None
    ) -> Tensor:
        """The summed loss of these items."""

    @abstractmethod
    def facts_of(self, items: Array) -> Array:
        """Rows of the training facts that these items ask about, each once."""

    def batch(self, items: Array) -> tuple[FactBatch, Tensor]:
        """Example facts of these items, and the asked slots."""
        facts = FactBatch.of(self.graph, self.queries.fact[items])
        return facts, torch.from_numpy(self.queries.slot[items].astype(np.int64))


class AllEntities(Objective):
    """One softmax over all entities for each query.

    For a query with the answers A: the mean over y in A of -log(e^phi(y) / sum_j e^phi(j)), j being
    all entities, or y and those not in A where other answers are masked. A query weighs as much as
    it has answers, so that each fact counts once in every slot; or each query counts once. The
    paper's equation 1 has one softmax for all slots of a fact instead: see `joint`. Smoothing
    spreads a share of the target over the same candidates.

    With `partial` above 0 a share of the queries is asked with qualifiers left out; whoever answers
    such a query in any training fact that agrees with it is one of its answers.

    With `share` below 1 the sum over j is estimated: all answers of the micro-batch, and a sample
    of the others that stands for all of them.
    """

    def __init__(self, train: HKG, settings: ObjectiveConfig) -> None:
        self.graph, self.settings = train, settings
        self.known = KnownAnswers.build(train)
        self.queries = self.known.examples
        groups = self.known.groups
        self._facts = Queries.of(train).fact[groups.order]
        self._offsets = groups.offsets
        self._agreeing = AgreeingAnswers.build(train) if settings.partial else None

    def loss(
        self, model: TransEQ, items: Array, z: Representations, generator: torch.Generator | None
    ) -> Tensor:
        """The summed loss of these queries."""
        facts, slots, targets = self.ask(items, generator)
        facts = model.withhold(facts, generator)
        options = SoftmaxOptions(
            mask_others=self.settings.mask_others, smoothing=self.settings.label_smoothing
        )
        form = model.linear_form(facts, slots, z, generator=generator)
        if form is not None and self.settings.share < 1.0 and generator is not None:
            form, targets = sampled(form, targets, self.settings.share, generator)
        if form is None:
            if self.settings.share < 1.0:
                raise ConfigError("objective.share needs a decoder whose scores are linear")
            scores = model.score_slot(facts, slots, z, generator=generator)  # (items, entities)
            return softmax_loss(scores, targets, options).sum()
        return softmax_cross_entropy(
            form.queries.to(z.entities.dtype),
            form.table.to(z.entities.dtype),
            targets=targets,
            bias=form.bias,
            options=options,
            dtype=torch.bfloat16 if model.precision == "bfloat16" else None,
        )

    def ask(
        self, items: Array, generator: torch.Generator | None
    ) -> tuple[FactBatch, Tensor, Targets]:
        """These queries as a step sees them, some with qualifiers left out, and their answers.

        A partial query is answered by all facts that agree with it, and weighs what the query does.
        """
        offsets, values = self.known.at(items)
        weights = self._weights(np.diff(offsets))
        queries, columns = self.queries.take(items), self.graph.columns
        if self._agreeing is not None and generator is not None:
            asked = self._leave_out(queries, generator)
            columns, queries = asked.columns, asked.queries
            offsets, values = self._agreeing.of(asked)
        facts = FactBatch.of_columns(columns, queries.fact)
        answers = torch.from_numpy(values.astype(np.int64))
        slots = torch.from_numpy(queries.slot.astype(np.int64))
        return facts, slots, Targets(torch.from_numpy(offsets), answers, weights)

    def _leave_out(self, queries: Queries, generator: torch.Generator) -> PartialQueries:
        """Of a share of the queries, half lose all qualifiers, half each one by chance."""
        counts = np.diff(self.graph.columns.offsets)[queries.fact]
        fate = torch.rand(len(queries), generator=generator).numpy()
        chance = torch.rand(int(counts.sum()), generator=generator).numpy()
        stay = np.where(fate < self.settings.partial, 0.5, 1.0)
        stay[fate < self.settings.partial / 2] = 0.0
        return PartialQueries.of(self.graph.columns, queries, chance < np.repeat(stay, counts))

    def _weights(self, answers: Array) -> Tensor | None:  # (items,)
        """Queries with more answers weigh more, 1 on average, where each fact counts once."""
        if self.settings.weigh_by == "queries":
            return None
        mean = len(self.known.values) / len(self.known)
        return torch.from_numpy(answers / mean)

    def facts_of(self, items: Array) -> Array:
        """Rows of the training facts behind these queries."""
        return np.unique(self._facts[places_of(self._offsets, items)])


def sampled(
    form: LinearForm, targets: Targets, share: float, generator: torch.Generator
) -> tuple[LinearForm, Targets]:
    """Fewer candidates, numbered anew: all answers, and a sample of the rest.

    A sampled candidate stands for 1 / share others, by a bias of -log(share), so that the sum of
    exponentials is right on average.
    """
    candidates = len(form.table)
    chosen = torch.zeros(candidates, dtype=torch.bool)
    chosen[torch.randperm(candidates, generator=generator)[: round(share * candidates)]] = True
    bias = torch.full((candidates,), -math.log(share), dtype=form.table.dtype)
    chosen[targets.answers], bias[targets.answers] = True, 0.0
    kept = chosen.nonzero()[:, 0]
    place = torch.cumsum(chosen, dim=0) - 1
    own = 0.0 if form.bias is None else form.bias.index_select(0, kept)
    return (
        form._replace(table=rows_of(form.table, kept), bias=bias.index_select(0, kept) + own),
        targets._replace(answers=place.index_select(0, targets.answers)),
    )


class SampledNegatives(Objective):
    """One softmax over the fact and k corruptions of one slot, for each slot of each fact.

    The paper's equation 1 has one for all slots of a fact instead: see `joint`.
    """

    def __init__(self, train: HKG, settings: ObjectiveConfig) -> None:
        self.graph, self.settings = train, settings
        self.queries = Queries.of(train)
        self._known = self._known_keys() if settings.filter_negatives else None

    def _known_keys(self) -> tuple[Array, Array]:
        """For each query its key, and all (key, answer) pairs as sorted numbers."""
        known = KnownAnswers.build(self.graph)
        keys = known.groups.of_rows()
        pairs = owners_of(known.offsets) * len(self.graph.entities) + known.values
        return keys, pairs

    def loss(
        self, model: TransEQ, items: Array, z: Representations, generator: torch.Generator | None
    ) -> Tensor:
        """The summed loss of these (fact, slot) pairs."""
        scores = self.scores(model, items, z, generator)
        losses = torch.logsumexp(scores, dim=1) - scores[:, 0]
        if self.settings.label_smoothing:
            live = ~torch.isneginf(scores)
            mean = torch.where(live, scores, 0.0).sum(dim=1) / live.sum(dim=1)
            even = torch.logsumexp(scores, dim=1) - mean
            losses = torch.lerp(losses, even, self.settings.label_smoothing)
        return losses.sum()

    def scores(
        self, model: TransEQ, items: Array, z: Representations, generator: torch.Generator | None
    ) -> Tensor:  # (items, 1 + k)
        """Of the answers, then of drawn negatives, -inf for those that may not be used."""
        facts, slots = self.batch(items)
        facts = model.withhold(facts, generator)
        negatives, usable = self.draw(items, generator)  # (items, k), (items, k)
        answers = torch.from_numpy(self.queries.answer[items].astype(np.int64))
        candidates = torch.cat([answers[:, None], negatives], dim=1)  # (items, 1 + k)
        count = candidates.shape[1]
        repeated = facts.each(lambda part: part.repeat_interleave(count, 0))
        asked = slots.repeat_interleave(count)
        filled = put(repeated, asked, candidates.flatten())
        scores = model.decoder.score(filled, asked, z, generator=generator).view(-1, count)
        return torch.cat([scores[:, :1], scores[:, 1:].masked_fill(~usable, float("-inf"))], 1)

    def draw(self, items: Array, generator: torch.Generator | None) -> tuple[Tensor, Tensor]:
        """Negatives of each item and whether each may be used; never the answer itself."""
        shape = (len(items), self.settings.negatives)
        limit = len(self.graph.entities)
        drawn = torch.randint(limit, shape, generator=generator)
        for _ in range(_ROUNDS):
            wrong = self._is_wrong(items, drawn)
            if not bool(wrong.any()):
                break
            again = torch.randint(limit, (int(wrong.sum()),), generator=generator)
            drawn = drawn.masked_scatter(wrong, again)
        return drawn, ~self._is_wrong(items, drawn)

    def _is_wrong(self, items: Array, drawn: Tensor) -> Tensor:  # (items, k) bool
        answers = torch.from_numpy(self.queries.answer[items].astype(np.int64))
        if self._known is None:
            return drawn == answers[:, None]
        keys, pairs = self._known
        asked = keys[items][:, None] * len(self.graph.entities) + drawn.numpy()
        return torch.from_numpy(find(pairs, asked)[1])

    def facts_of(self, items: Array) -> Array:
        """Rows of the training facts of these queries."""
        return np.unique(self.queries.fact[items])
