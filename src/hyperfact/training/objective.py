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
from hyperfact.graph.kg import Representations
from hyperfact.graph.queries import KnownAnswers, Queries
from hyperfact.graph.ragged import Array, find, owners_of, places_of
from hyperfact.kernels.cross_entropy import softmax_cross_entropy
from hyperfact.kernels.softmax import SoftmaxOptions, Targets
from hyperfact.models.decoders.decoder import LinearForm, put, rows_of
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
    it has answers, so that each fact counts once, as in the paper's loss; or each query counts
    once. Smoothing spreads a share of the target over the same candidates.

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

    def loss(
        self, model: TransEQ, items: Array, z: Representations, generator: torch.Generator | None
    ) -> Tensor:
        """The summed loss of these queries."""
        facts, slots = self.batch(items)
        facts = model.estranged(facts, generator)
        offsets, values = self.known.at(items)
        answers = torch.from_numpy(values.astype(np.int64))
        targets = Targets(torch.from_numpy(offsets), answers, self._weights(np.diff(offsets)))
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
            losses = multi_answer_loss(scores, targets, options)
            return (
                losses.sum()
                if targets.weights is None
                else losses @ targets.weights.to(losses.dtype)
            )
        return softmax_cross_entropy(
            form.queries.to(z.entities.dtype),
            form.table.to(z.entities.dtype),
            targets=targets,
            bias=form.bias,
            options=options,
            dtype=torch.bfloat16 if model.precision == "bfloat16" else None,
        )

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


def multi_answer_loss(scores: Tensor, targets: Targets, options: SoftmaxOptions) -> Tensor:
    """The loss of each row of scores with several answers, in plain PyTorch.

    Args:
        scores: Of every candidate.  # (rows, candidates)
        targets: The answers of each row.
        options: Smoothing and masking.

    Returns:
        The mean over the answers of each row.  # (rows,)
    """
    rows, candidates = scores.shape
    counts = targets.offsets.diff()
    owner = torch.arange(rows).repeat_interleave(counts)
    place = owner * candidates + targets.answers
    true = scores.view(-1).index_select(0, place)  # (answers,)
    if options.mask_others:
        rest = scores.view(-1).index_fill(0, place, float("-inf")).view_as(scores)
        total = torch.logaddexp(true, torch.logsumexp(rest, dim=1).index_select(0, owner))
        others = scores.new_zeros(rows).index_add(0, owner, true).index_select(0, owner) - true
        even = (scores.sum(dim=1).index_select(0, owner) - others) / (
            candidates - counts.index_select(0, owner) + 1
        )
    else:
        total = torch.logsumexp(scores, dim=1).index_select(0, owner)
        even = scores.mean(dim=1).index_select(0, owner)
    losses = total - torch.lerp(true, even, options.smoothing)
    means = losses / counts.index_select(0, owner)
    return scores.new_zeros(rows).index_add(0, owner, means)


class SampledNegatives(Objective):
    """One softmax over the fact and k corruptions of one slot, for each slot of each fact."""

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
        facts, slots = self.batch(items)
        facts = model.estranged(facts, generator)
        negatives, usable = self.draw(items, generator)  # (items, k), (items, k)
        answers = torch.from_numpy(self.queries.answer[items].astype(np.int64))
        candidates = torch.cat([answers[:, None], negatives], dim=1)  # (items, 1 + k)
        count = candidates.shape[1]
        repeated = facts.each(lambda part: part.repeat_interleave(count, 0))
        asked = slots.repeat_interleave(count)
        filled = put(repeated, asked, candidates.flatten())
        scores = model.decoder.score(filled, asked, z, generator=generator).view(-1, count)
        scores = torch.cat([scores[:, :1], scores[:, 1:].masked_fill(~usable, float("-inf"))], 1)
        losses = torch.logsumexp(scores, dim=1) - scores[:, 0]
        if self.settings.label_smoothing:
            live = torch.cat([torch.ones_like(usable[:, :1]), usable], dim=1)
            mean = torch.where(live, scores, 0.0).sum(dim=1) / live.sum(dim=1)
            even = torch.logsumexp(scores, dim=1) - mean
            losses = torch.lerp(losses, even, self.settings.label_smoothing)
        return losses.sum()

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


def make_objective(train: HKG, settings: ObjectiveConfig) -> Objective:
    """The objective that the settings ask for."""
    return SampledNegatives(train, settings) if settings.negatives else AllEntities(train, settings)
