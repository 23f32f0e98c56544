"""What training minimises: the cross-entropy of true answers among candidates.

Queries, not facts, are trained: a query is a fact with one slot blank. With every entity as a
candidate, queries with the same known part are one item with several answers.
"""

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
from hyperfact.kernels.cross_entropy import scores_cross_entropy, softmax_cross_entropy
from hyperfact.kernels.softmax import Part, SoftmaxOptions, Targets
from hyperfact.models.decoders.decoder import ALL
from hyperfact.models.representations import Representations
from hyperfact.models.shard import Shard
from hyperfact.models.transeq import TransEQ
from hyperfact.training.adversarial import self_adversarial
from hyperfact.training.cubes import counted_by_turns, cubes
from hyperfact.training.share import sampled

_ROUNDS = 64  # of redrawing negatives; a query answered by nearly all entities may keep some


class Objective(ABC):
    """A loss over numbered items of a training set.

    Args:
        train: The facts to learn from.
        settings: What is minimised.
        values: Whether values of qualifiers are asked for; if not, no qualifier is ever given.
    """

    graph: HKG
    queries: Queries  # one for each item
    settings: ObjectiveConfig
    values: bool

    def __len__(self) -> int:
        return len(self.queries)

    def shuffled(self, generator: torch.Generator) -> Array:
        """An order of the items for an epoch, as whole numbers that `part` understands."""
        return torch.randperm(len(self), generator=generator).numpy()

    def part(self, order: Array, start: int, stop: int) -> "tuple[Objective, Array]":
        """Some items of an order: who knows them, and their numbers there."""
        return self, order[start:stop]

    @abstractmethod
    def loss(
        self, model: TransEQ, items: Array, z: Representations, generator: torch.Generator | None
    ) -> Tensor:
        """The summed loss of these items."""

    @abstractmethod
    def facts_of(self, items: Array) -> Array:
        """Rows of the training facts that these items ask about, each once."""

    def leave_out(self, items: Array, generator: torch.Generator | None) -> PartialQueries | None:
        """Of a share of the items, half lose all qualifiers, half each one by chance."""
        share, queries = self.settings.partial, self.queries.take(items)
        if not self.values:
            return PartialQueries.bare(self.graph.columns, queries)
        if not share or generator is None:
            return None
        counts = np.diff(self.graph.columns.offsets)[queries.fact]
        fate = torch.rand(len(queries), generator=generator).numpy()
        chance = torch.rand(int(counts.sum()), generator=generator).numpy()
        stay = np.where(fate < share, 0.5, 1.0)
        stay[fate < share / 2] = 0.0
        return PartialQueries.of(self.graph.columns, queries, chance < np.repeat(stay, counts))

    def batch(self, items: Array, asked: PartialQueries | None = None) -> tuple[FactBatch, Tensor]:
        """The facts of these items, or what is left of them, and the asked slots."""
        columns = self.graph.columns if asked is None else asked.columns
        queries = self.queries.take(items) if asked is None else asked.queries
        facts = FactBatch.of_columns(columns, queries.fact)
        return facts, torch.from_numpy(queries.slot.astype(np.int64))


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
    of the others that stands for all of them. With `cubes` above 0 long vectors cost.
    """

    def __init__(self, train: HKG, settings: ObjectiveConfig, *, values: bool = True) -> None:
        self.graph, self.settings, self.values = train, settings, values
        self.known = KnownAnswers.build(train)
        self._keys = asked_rows(self.known.examples, values=values)
        self.queries = self.known.examples.take(self._keys)
        groups = self.known.groups
        self._facts = Queries.of(train).fact[groups.order]
        self._offsets = groups.offsets
        partial = settings.partial > 0 or not values
        self._agreeing = AgreeingAnswers.build(train) if partial else None

    def loss(
        self, model: TransEQ, items: Array, z: Representations, generator: torch.Generator | None
    ) -> Tensor:
        """The summed loss of these queries."""
        facts, slots, targets = self.ask(items, generator)
        z, facts, _ = model.reading(model.withhold(facts, generator), z)
        slots, here = slots.to(z.device), model.own_candidates
        form = model.linear_form(
            facts, slots, z, candidates=here, answers=targets, generator=generator
        )
        penalty: Tensor | float = 0.0
        if self.settings.cubes:
            sums = cubes(facts, slots, z, dim=model.decoder.dim, weights=targets.weights)
            penalty = self.settings.cubes * counted_by_turns(sums, model.shard)
        options, part, answers = self._options(model), ALL, targets
        share = self.settings.share
        if form is not None and share < 1.0 and generator is not None:
            form, targets, options = sampled(
                form, targets, options, share=share, generator=generator
            )
        if model.shard is not None:
            part = model.shard.part(len(slots))
            targets = targets.rows(part)
        if form is None:
            if share < 1.0:
                raise ConfigError("objective.share needs a decoder whose scores are linear")
            scores = model.score_slot(
                facts, slots, z, candidates=here, answers=answers, generator=generator
            )
            loss = scores_cross_entropy(scores[part], targets, options)
            return counted_once(loss, model.shard) + penalty
        loss = softmax_cross_entropy(
            form.queries[part].to(z.entities.dtype),
            form.table.to(z.entities.dtype),
            targets=targets,
            bias=form.bias,
            added=None if form.added is None else form.added.rows(part),
            options=options,
            dtype=torch.bfloat16 if model.precision == "bfloat16" else None,
        )
        return counted_once(loss, model.shard) + penalty

    def _options(self, model: TransEQ) -> SoftmaxOptions:
        """How a query is judged, and which candidates are scored here."""
        shard, count, part = model.shard, len(self.graph.entities), None
        if shard is not None:
            part = Part(shard.rows(count), count, min(shard.step(count), count), shard.combine)
        settings = self.settings
        return SoftmaxOptions(settings.mask_others, settings.label_smoothing, part)

    def ask(
        self, items: Array, generator: torch.Generator | None
    ) -> tuple[FactBatch, Tensor, Targets]:
        """These queries as a step sees them, some with qualifiers left out, and their answers.

        A partial query is answered by all facts that agree with it, and weighs what the query does.
        """
        offsets, values = self.known.at(self._keys[items])
        weights = self._weights(np.diff(offsets))
        asked = self.leave_out(items, generator)
        if self._agreeing is not None and asked is not None:
            offsets, values = self._agreeing.of(asked)
        facts, slots = self.batch(items, asked)
        answers = torch.from_numpy(values.astype(np.int64))
        return facts, slots, Targets(torch.from_numpy(offsets), answers, weights)

    def _weights(self, answers: Array) -> Tensor | None:  # (items,)
        """Queries with more answers weigh more, 1 on average, where each fact counts once."""
        if self.settings.weigh_by == "queries":
            return None
        mean = len(self.known.values) / len(self.known)
        return torch.from_numpy(answers / mean)

    def facts_of(self, items: Array) -> Array:
        """Rows of the training facts behind these queries."""
        return np.unique(self._facts[places_of(self._offsets, self._keys[items])])


def counted_once(loss: Tensor, shard: Shard | None) -> Tensor:
    """A loss that all shards know, as a share of it: the sum over them is the loss.

    Its gradient stays whole, for each shard has that of its own rows.
    """
    return loss if shard is None else loss - loss.detach() * (1 - 1 / shard.size)


class SampledNegatives(Objective):
    """One softmax over the fact and k corruptions of one slot, for each slot of each fact.

    The paper's equation 1 has one for all slots of a fact instead: see `joint`.

    With `partial` above 0 a share of the facts is asked about with qualifiers left out.
    """

    def __init__(self, train: HKG, settings: ObjectiveConfig, *, values: bool = True) -> None:
        self.graph, self.settings, self.values = train, settings, values
        every = Queries.of(train)
        rows = asked_rows(every, values=values)
        self.queries = every.take(rows)
        filters, partial = settings.filter_negatives, settings.partial > 0 or not values
        self._known = KnownAnswers.build(train) if filters else None
        self._keys = rows if self._known is None else self._known.groups.of_rows()[rows]
        self._agreeing = AgreeingAnswers.build(train) if filters and partial else None

    def loss(
        self, model: TransEQ, items: Array, z: Representations, generator: torch.Generator | None
    ) -> Tensor:
        """The summed loss of these (fact, slot) pairs."""
        scores = self.scores(model, items, z, generator)
        if model.shard is not None:
            scores = scores[model.shard.turn(len(scores))]
        if self.settings.adversarial:
            return self_adversarial(scores, self.settings.adversarial).sum()
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
        asked = self.leave_out(items, generator)
        facts, slots = self.batch(items, asked)
        facts = model.withhold(facts, generator)
        negatives, usable = self.draw(items, generator, asked)  # (items, k), (items, k)
        answers = torch.from_numpy(self.queries.answer[items].astype(np.int64))
        candidates = torch.cat([answers[:, None], negatives], dim=1)  # (items, 1 + k)
        z, facts, (candidates,) = model.reading(facts, z, candidates)
        scores = model.score_candidates(
            facts, slots.to(z.device), z, candidates=candidates, generator=generator
        )
        unusable = ~usable.to(z.device)
        return torch.cat([scores[:, :1], scores[:, 1:].masked_fill(unusable, float("-inf"))], 1)

    def draw(
        self,
        items: Array,
        generator: torch.Generator | None,
        asked: PartialQueries | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Negatives of each item and whether each may be used; never the answer itself."""
        shape = (len(items), self.settings.negatives or 0)
        wrong_ones = self._wrong_ones(items, asked)
        limit = len(self.graph.entities)
        drawn = torch.randint(limit, shape, generator=generator)
        for _ in range(_ROUNDS):
            wrong = self._is_wrong(wrong_ones, drawn)
            if not bool(wrong.any()):
                break
            again = torch.randint(limit, (int(wrong.sum()),), generator=generator)
            drawn = drawn.masked_scatter(wrong, again)
        return drawn, ~self._is_wrong(wrong_ones, drawn)

    def _wrong_ones(self, items: Array, asked: PartialQueries | None) -> Array:
        """Who must not be drawn: (item, entity) as one number, rising; the answer, or all known."""
        offsets, values = np.arange(len(items) + 1), self.queries.answer[items]
        if self._agreeing is not None and asked is not None:
            offsets, values = self._agreeing.of(asked)
        elif self._known is not None:
            offsets, values = self._known.at(self._keys[items])
        return np.asarray(owners_of(offsets) * len(self.graph.entities) + values)

    def _is_wrong(self, wrong_ones: Array, drawn: Tensor) -> Tensor:  # (items, k) bool
        rows = np.arange(len(drawn))[:, None] * len(self.graph.entities)
        return torch.from_numpy(find(wrong_ones, rows + drawn.numpy())[1])

    def facts_of(self, items: Array) -> Array:
        """Rows of the training facts of these queries."""
        return np.unique(self.queries.fact[items])


def asked_rows(queries: Queries, *, values: bool) -> Array:
    """Rows of the queries that are asked: all, or those for subjects and objects."""
    return np.arange(len(queries)) if values else np.flatnonzero(queries.slot < 2)
