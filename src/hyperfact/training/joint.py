"""Equation 1 of the paper as it is printed: one softmax over all corruptions of a fact."""

import numpy as np
import torch
from torch import Tensor

from hyperfact.config import ObjectiveConfig
from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Array, offsets_of, places_of
from hyperfact.kernels.log_masses import log_masses
from hyperfact.kernels.softmax import Targets
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ
from hyperfact.training.objective import Objective, SampledNegatives

_NOTHING = float("-inf")  # the logarithm of no mass


class JointSoftmax(Objective):
    """One softmax over a fact and the corruptions of all its slots; each fact is one item.

    L_x = -log(e^phi(x) / (e^phi(x) + sum_{x' in N_x} e^phi(x'))), where N_x holds x with other
    entities in its subject, in its object and in each value: k drawn ones for each slot, or with
    `negatives = 0` every other one. A decoder that judges a fact by the asked slot (or that drops
    other coordinates for each) gives phi(x) once for each slot; their mean is taken.
    """

    def __init__(self, train: HKG, settings: ObjectiveConfig) -> None:
        self.graph, self.settings, self.values = train, settings, True
        self._slots = SampledNegatives(train, settings)  # every slot, fact after fact
        self._offsets = offsets_of(train.arity)
        self.queries = self._slots.queries.take(self._offsets[:-1])  # the subject's, one for each

    def loss(
        self, model: TransEQ, items: Array, z: Representations, generator: torch.Generator | None
    ) -> Tensor:
        """The summed loss of these facts."""
        rows, arity = places_of(self._offsets, items), self.graph.arity[items]
        score = self._sampled if self.settings.negatives else self._all
        true, rivals = score(model, rows, z, generator)  # (rows,), (rows,)
        exists = torch.from_numpy(np.arange(arity.max(initial=1)) < arity[:, None]).to(z.device)
        masses = rivals.new_full(exists.shape, _NOTHING).masked_scatter(exists, rivals)
        sums = true.new_zeros(exists.shape).masked_scatter(exists, true).sum(dim=1)
        phi = sums / torch.from_numpy(arity).to(true)  # (items,)
        losses = torch.logsumexp(torch.cat([phi[:, None], masses], dim=1), dim=1) - phi
        return (losses if model.shard is None else losses[model.shard.turn(len(losses))]).sum()

    def _sampled(
        self, model: TransEQ, rows: Array, z: Representations, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:  # (rows,), (rows,)
        """phi(x) and the logarithm of the mass of drawn corruptions, for each slot."""
        scores = self._slots.scores(model, rows, z, generator)  # (rows, 1 + k)
        return scores[:, 0], torch.logsumexp(scores[:, 1:], dim=1)

    def _all(
        self, model: TransEQ, rows: Array, z: Representations, generator: torch.Generator | None
    ) -> tuple[Tensor, Tensor]:  # (rows,), (rows,)
        """The same for every other entity; as many scores exist at once as slots and entities."""
        facts, slots = self._slots.batch(rows)
        targets = Targets.one_each(facts.answers(slots))
        facts, slots = model.withhold(facts, generator).to(z.device), slots.to(z.device)
        answers = targets.answers[:, None].to(z.device)
        scores = model.score_slot(facts, slots, z, answers=targets, generator=generator)
        rivals = scores.scatter(1, answers, _NOTHING)  # (rows, entities)
        return scores.gather(1, answers)[:, 0], log_masses(rivals)

    def facts_of(self, items: Array) -> Array:
        """These facts."""
        return np.unique(items)
