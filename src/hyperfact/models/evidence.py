"""Counts as evidence: how often a candidate filled the asked role, alone and beside what is known.

phi'(x) = phi(x) + sum over the contexts c of the question of w_c log(1 + n_c(e))

where n_c(e) counts the training facts in which the candidate e fills the asked role in the context
c: alone, beside one known entity, or beside two. A weight belongs to a kind of context, the asked
role with the known ones, and starts at what its number of slots is worth. While training, the fact
that is asked about is not counted, or the model would lean on knowing its own answers.
"""

import numpy as np
import torch
from torch import Tensor, nn

from hyperfact.config import EvidenceConfig
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.contexts import Contexts
from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Array, offsets_of, owners_of, places_of
from hyperfact.kernels.added_scores import added_scores
from hyperfact.kernels.softmax import Targets
from hyperfact.kernels.sparse_rows import AddedScores, SparseRows
from hyperfact.models.unseen import role_numbers


class Evidence(nn.Module):
    """What is added to the scores of every decoder.

    Args:
        train: The facts to count.
        settings: How many slots are counted together, and first weights.
    """

    def __init__(self, train: HKG, settings: EvidenceConfig) -> None:
        super().__init__()
        self.contexts = Contexts.of(train, settings.order)
        self.orders = torch.from_numpy(self.contexts.orders - 1)
        self.start = torch.tensor(settings.start)
        self.common = nn.Parameter(torch.zeros(len(settings.start)))  # by the number of slots
        self.own = nn.Parameter(torch.zeros(len(self.orders)))  # of each kind of context
        counts = torch.from_numpy(self.contexts.counts)
        self.table = SparseRows(
            torch.from_numpy(self.contexts.offsets),
            torch.from_numpy(self.contexts.who),
            torch.log1p(counts.float()),
        )

    def weights(self) -> Tensor:  # (kinds,)
        """The weight of each kind of context."""
        return (self.start.to(self.common) + self.common)[self.orders] + self.own

    def added(
        self,
        facts: FactBatch,
        slots: Tensor,
        *,
        candidates: slice | Tensor = slice(None),
        answers: Targets | None = None,
    ) -> AddedScores:
        """What is added to the scores of candidates, in sparse form.

        Args:
            facts: The questions; ids beyond the known ones have no counts.
            slots: The asked slot of each.  # (batch,)
            candidates: Those to score: a range of ids, or ids.
            answers: Of questions about training facts, which do not count for their own answers.
        """
        offsets, rows = self._find(facts, slots)
        kinds = torch.from_numpy(self.contexts.kinds[rows])
        ids = torch.arange(self.contexts.entities)[candidates]
        places = torch.full((self.contexts.entities,), -1)
        places[ids] = torch.arange(len(ids))
        parts = [(torch.from_numpy(rows), self.table)]
        if answers is not None:
            own = self._own(offsets, rows, answers)
            parts.append((torch.arange(len(rows)), own))
        weights = self.weights().index_select(0, kinds)
        return AddedScores(torch.from_numpy(offsets), weights, tuple(parts), places, len(ids))

    def scores(self, *args, **kw) -> Tensor:
        return added_scores(self.added(*args, **kw))

    def _find(self, facts: FactBatch, slots: Tensor) -> tuple[Array, Array]:
        """Offsets, and the contexts of each question; of who is withheld only the role counts."""
        roles = role_numbers(facts, self.contexts.relations + 1)
        known = facts.known(slots)
        if facts.withheld is not None:
            known = known & ~facts.withheld
        asked = roles.gather(1, slots[:, None])[:, 0]
        held = self.contexts.held_as(roles.numpy(), facts.entities.numpy())
        return self.contexts.find(asked.numpy(), np.where(known.numpy(), held, 0))

    def _own(self, offsets: Array, rows: Array, answers: Targets) -> SparseRows:
        """For each term what the answers' own facts have added to its row, to be taken back."""
        query = owners_of(offsets)  # of each term
        ends = answers.offsets.numpy()
        term = np.repeat(np.arange(len(rows)), np.diff(ends)[query])
        who = answers.answers.numpy()[places_of(ends, query)]
        entry, there = self.contexts.entries(rows[term], who)
        term, who = term[there], who[there]
        counts = self.contexts.counts[entry[there]]
        less = np.log1p(counts - 1.0) - np.log1p(counts)
        return SparseRows(
            torch.from_numpy(offsets_of(np.bincount(term, minlength=len(rows)))),
            torch.from_numpy(who),
            torch.from_numpy(less.astype(np.float32)),
        )

    def summary(self):
        w = self.weights().detach()
        return [(int(o) + 1, round(float(w[self.orders == o].mean()), 3), round(float(w[self.orders == o].std()), 3)) for o in self.orders.unique()], self.common.detach().tolist()
