"""Counts as evidence: how often a candidate filled the asked role, alone and beside what is known.

phi'(x) = phi(x) + sum over the contexts c of the question of w_c log(1 + n_c(e))

where n_c(e) counts the training facts in which the candidate e fills the asked role in the context
c: alone, beside one known entity, or beside two. A weight belongs to a kind of context, the asked
role with the known ones, and starts at what its number of slots is worth. While training, the fact
that is asked about is not counted, or the model would lean on knowing its own answers.
"""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from hyperfact.config import EvidenceConfig
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.contexts import Contexts
from hyperfact.graph.hkg import HKG
from hyperfact.graph.ragged import Array, offsets_of, owners_of, places_of
from hyperfact.graph.related import Related
from hyperfact.kernels.added_scores import added_scores
from hyperfact.kernels.softmax import Targets
from hyperfact.kernels.sparse_rows import AddedScores, SparseRows
from hyperfact.models.unseen import role_numbers

ALL = slice(None)
_TRUST = 50.0  # a link starts at log(1 + this * its confidence)


class _Terms(NamedTuple):
    """The contexts of some questions."""

    offsets: Array  # (batch + 1,)
    rows: Array  # (terms,) contexts
    weights: Array  # (terms,) numbers of weights
    asked: Array  # (batch,) roles
    held: Array  # (batch, slots) who is known in which role


class Evidence(nn.Module):
    """What is added to the scores of every decoder.

    Args:
        train: The facts to count.
        settings: How many slots are counted together, and first weights.
    """

    def __init__(self, train: HKG, settings: EvidenceConfig) -> None:
        super().__init__()
        self.contexts = Contexts.of(train, settings.order)
        self.related = Related.of(self.contexts) if settings.related else None
        self.orders = torch.from_numpy((self.contexts.roles >= 0).sum(axis=1) - 1)
        start = torch.tensor(settings.start)[self.orders]
        self.common = nn.Parameter(torch.zeros(len(settings.start)))  # by the number of slots
        if self.related is not None:
            trust = np.log1p(_TRUST * self.related.confidence)
            start = torch.cat([start, torch.from_numpy(trust).float()])
        self.start = start  # (kinds + links,)
        self.own = nn.Parameter(torch.zeros(len(start)))  # of each kind of context and link
        counts = torch.from_numpy(self.contexts.counts)
        self.table = SparseRows(
            torch.from_numpy(self.contexts.offsets),
            torch.from_numpy(self.contexts.who),
            torch.log1p(counts.float()),
        )

    def weights(self) -> Tensor:  # (kinds + links,)
        """The weight of each kind of context, and of each link between two kinds."""
        weights = self.start.to(self.own) + self.own
        kinds = len(self.orders)
        common = self.common.index_select(0, self.orders)
        return torch.cat([weights[:kinds] + common, weights[kinds:]])

    def added(
        self,
        facts: FactBatch,
        slots: Tensor,
        *,
        candidates: slice | Tensor = ALL,
        answers: Targets | None = None,
    ) -> AddedScores:
        """What is added to the scores of candidates, in sparse form.

        Args:
            facts: The questions; ids beyond the known ones have no counts.
            slots: The asked slot of each.  # (batch,)
            candidates: Those to score: a range of ids, or ids.
            answers: Of questions about training facts, which do not count for their own answers.
        """
        terms = self._find(facts, slots)
        ids = torch.arange(self.contexts.coded.entities)[candidates]
        places = torch.full((self.contexts.coded.entities,), -1)
        places[ids] = torch.arange(len(ids))
        parts = [(torch.from_numpy(terms.rows), self.table)]
        if answers is not None:
            parts.append((torch.arange(len(terms.rows)), self._own(terms, answers)))
        weights = self.weights().index_select(0, torch.from_numpy(terms.weights))
        return AddedScores(torch.from_numpy(terms.offsets), weights, tuple(parts), places, len(ids))

    def scores(
        self,
        facts: FactBatch,
        slots: Tensor,
        *,
        candidates: slice | Tensor = ALL,
        answers: Targets | None = None,
    ) -> Tensor:  # (batch, candidates)
        """The same as a matrix."""
        return added_scores(self.added(facts, slots, candidates=candidates, answers=answers))

    def _find(self, facts: FactBatch, slots: Tensor) -> _Terms:
        """The contexts of each question; of who is withheld only the role counts."""
        roles = role_numbers(facts, self.contexts.coded.relations + 1)
        known = facts.known(slots)
        if facts.withheld is not None:
            known = known & ~facts.withheld
        asked = roles.gather(1, slots[:, None])[:, 0].numpy()
        held = self.contexts.coded.held_as(roles.numpy(), facts.entities.numpy())
        held = np.where(known.numpy(), held, 0)
        offsets, rows = self.contexts.find(asked, held)
        kinds = self.contexts.kinds[rows]
        if self.related is None:
            return _Terms(offsets, rows, kinds, asked, held)
        given = np.nonzero(known.numpy())
        company = given[0], roles.numpy()[given], facts.entities.numpy()[given]
        owner, other, link = self.related.find(self.contexts, asked, company)
        owner = np.concatenate([owners_of(offsets), owner])
        order = np.argsort(owner, kind="stable")
        rows = np.concatenate([rows, other])[order]
        kinds = np.concatenate([kinds, link + len(self.orders)])[order]
        offsets = offsets_of(np.bincount(owner, minlength=len(slots)))
        return _Terms(offsets, rows, kinds, asked, held)

    def _own(self, terms: _Terms, answers: Targets) -> SparseRows:
        """For each term what the answers' own facts have added to its row, to be taken back."""
        rows, query = terms.rows, owners_of(terms.offsets)
        ends = answers.offsets.numpy()
        term = np.repeat(np.arange(len(rows)), np.diff(ends)[query])
        who = answers.answers.numpy()[places_of(ends, query)]
        entry, there = self.contexts.entries(rows[term], who)
        link = np.flatnonzero(there & (terms.weights[term] >= len(self.orders)))
        there[link] &= self._counts_itself(terms, query[term[link]], rows[term[link]], who[link])
        term, who = term[there], who[there]
        counts = self.contexts.counts[entry[there]]
        less = np.log1p(counts - 1.0) - np.log1p(counts)
        return SparseRows(
            torch.from_numpy(offsets_of(np.bincount(term, minlength=len(rows)))),
            torch.from_numpy(who),
            torch.from_numpy(less.astype(np.float32)),
        )

    def _counts_itself(self, terms: _Terms, query: Array, row: Array, who: Array) -> Array:
        """Whether a question with this answer is a fact of a context with one known entity."""
        role, known, _ = self.contexts.coded.parts(self.contexts.codes[row])
        held = terms.held[query]  # (some, slots)
        again = self.contexts.coded.held_as(role, who)  # the answer in another slot
        answers: Array = (role == terms.asked[query]) | (held == again[:, None]).any(axis=1)
        return answers & (held == known[:, None]).any(axis=1)
