"""How true a fact is: 1 where it is known, else what a run gives it, or nothing.

A run tells the probability of each entity in one slot. Where a question has several answers they
share that probability, so it is multiplied with how many are known (Bai et al., QTO, 2023).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from hyperfact.graph.hkg import HKG, Splits, union
from hyperfact.graph.partial import AgreeingAnswers
from hyperfact.graph.ragged import Array, Ids, Places, owners_of
from hyperfact.graph.role_index import VALUE, RoleIndex, role_number
from hyperfact.predict.calibration import Calibration
from hyperfact.predict.candidates import Softmax, refuse_unusable
from hyperfact.predict.logic.matching import FactIndex, Pattern
from hyperfact.predict.questions import QuestionIds, partial_queries
from hyperfact.predict.scoring import Scorer

MOST = 0.999  # truth of a fact that is not known
_ROLES = 64  # roles whose members are kept at hand


#: Places of questions, entities, and the truth of each entity in each question.
Block = tuple[list[int], Tensor, Tensor]


class Truths(Protocol):
    """Where truth values come from."""

    size: int  # entities
    only_known: bool  # whether nothing is true but known facts

    def rows(self, questions: Sequence[QuestionIds], *, denied: bool) -> Tensor:
        """The truth of every entity in the asked slot."""  # (questions, entities)
        ...

    def predicted(self, questions: Sequence[QuestionIds]) -> Iterator[Block]:
        """The truth that facts have which are not known, in blocks; known ones may be in them."""
        ...

    def links(self, pattern: Pattern, *, denied: bool) -> tuple[Array, Tensor]:
        """Known facts that agree: their entities, a row for each, and their truth."""
        ...

    def weights(self, slot: int, relation: int) -> Tensor | None:
        """How often each entity stands in a slot, as a share of the most; None: not asked."""
        ...


class Observed:
    """What is known: facts of some splits, with an index for every way to ask.

    Args:
        splits: Those that count.
    """

    def __init__(self, splits: Splits) -> None:
        self.splits = splits
        parts = [part for part in splits.values() if len(part)]
        self.graph: HKG = union(*parts) if parts else splits.all
        self.facts, self.roles = FactIndex.of(self.graph), RoleIndex.of(self.graph)
        self.matches = lru_cache(maxsize=4096)(self.facts.matches)
        self.weights = lru_cache(maxsize=4 * _ROLES)(self._weights)

    @cached_property
    def agreeing(self) -> AgreeingAnswers:
        """Who answers, whatever is left out."""
        return AgreeingAnswers.build(self.graph)

    def known(self, questions: Sequence[QuestionIds]) -> tuple[Places, Ids]:
        """Offsets and entities: the known answers of each question."""
        return self.agreeing.of(partial_queries(questions))

    def role(self, slot: int, relation: int) -> int:
        """The number of the role that a slot gives."""
        return int(role_number(min(slot, VALUE), relation, len(self.graph.relations)))

    def members(self, role: int) -> Array:
        """Who stands in a role, rising."""
        return self.roles.entities_of(role)

    def _weights(self, slot: int, relation: int) -> Tensor:  # (entities,)
        role = self.role(slot, relation)
        part = slice(self.roles.offsets[role], self.roles.offsets[role + 1])
        found = torch.zeros(len(self.graph.entities))
        counts = torch.from_numpy(self.roles.counts[part]).float()
        if len(counts):
            found[torch.from_numpy(self.roles.entities[part])] = counts / counts.max()
        return found


class FactTruths:
    """Facts alone: 1 where a fact is known, 0 elsewhere. With it queries are those of a database.

    Args:
        observed: What is known.
        missing: Further facts that are true but not known; None: there are none.
        share: The truth of one of them; a proof of n of them then has the truth share ** n.
    """

    only_known = True

    def __init__(
        self, observed: Observed, missing: Observed | None = None, *, share: float = 0.5
    ) -> None:
        self.observed, self.missing, self.share = observed, missing, share
        self.size = len(observed.graph.entities)

    def _sources(self, *, denied: bool) -> Iterable[tuple[Observed, float]]:
        """A fact that is only not known is no reason to deny it half."""
        if self.missing is not None:
            yield self.missing, 1.0 if denied else self.share
        yield self.observed, 1.0

    def rows(self, questions: Sequence[QuestionIds], *, denied: bool) -> Tensor:
        """1 for every known answer."""  # (questions, entities)
        found = torch.zeros(len(questions), self.size)
        for source, truth in self._sources(denied=denied):
            put_known(found, source.known(questions), truth)
        return found

    def predicted(self, questions: Sequence[QuestionIds]) -> Iterator[Block]:  # noqa: ARG002
        """Nothing."""
        return iter(())

    def links(self, pattern: Pattern, *, denied: bool) -> tuple[Array, Tensor]:
        """Known facts that agree."""
        found = [(s.matches(pattern), truth) for s, truth in self._sources(denied=denied)]
        truths = [torch.full((len(rows),), truth) for rows, truth in found]
        return np.concatenate([rows for rows, _ in found]), torch.cat(truths)

    def weights(self, slot: int, relation: int) -> Tensor | None:
        """Who may stand there."""  # (entities,)
        found = [s.weights(slot, relation) for s, _ in self._sources(denied=False)]
        return torch.stack(found).amax(dim=0)


class RunTruths:
    """Known facts, and for all others the calibrated probabilities of a run.

    Args:
        scorer: Decoder and representations.
        observed: What is known.
        fitted: From scores to probabilities, for a question.
        restrict_range: Whether only those may stand in a slot whom known facts show there.
    """

    only_known = False

    def __init__(
        self,
        scorer: Scorer,
        observed: Observed,
        fitted: Callable[[QuestionIds], Calibration | None],
        *,
        restrict_range: bool = True,
    ) -> None:
        self.scorer, self.observed, self.fitted = scorer, observed, fitted
        self.restrict_range = restrict_range
        self.size = len(observed.graph.entities)
        self._members = lru_cache(maxsize=_ROLES)(self._candidates)
        self._temperatures: dict[tuple[int, ...], Calibration | None] = {}

    def rows(self, questions: Sequence[QuestionIds], *, denied: bool) -> Tensor:  # noqa: ARG002
        """The truth of every entity; those who were never seen in the role have none."""
        known = self.observed.known(questions)
        found = torch.zeros(len(questions), self.size)
        for places, ids, truths in self._blocks(questions, known[0]):
            found[torch.tensor(places)[:, None], ids[None, :]] = truths
        put_known(found, known, 1.0)
        return found

    def predicted(self, questions: Sequence[QuestionIds]) -> Iterator[Block]:
        """The truth of those who were seen in the role, known or not."""
        return self._blocks(questions, self.observed.known(questions)[0])

    def _blocks(self, questions: Sequence[QuestionIds], offsets: Places) -> Iterator[Block]:
        counts = torch.from_numpy(np.diff(offsets)).clamp(min=1)  # (questions,)
        for (role, *_), places in _grouped(questions, self.observed).items():
            ids, some = self._members(role), [questions[i] for i in places]
            scores = refuse_unusable(self.scorer.among(some, ids)).float()  # (some, ids)
            shares = _probabilities(scores, self._fitted(some[0]))
            yield places, ids, shares.mul_(counts[places, None]).clamp_(max=MOST)

    def _fitted(self, question: QuestionIds) -> Calibration | None:
        """One temperature for all questions of one shape."""
        key = (question.slot, *question.relations)
        if key not in self._temperatures:
            self._temperatures[key] = self.fitted(question)
        return self._temperatures[key]

    def links(self, pattern: Pattern, *, denied: bool) -> tuple[Array, Tensor]:  # noqa: ARG002
        """Known facts that agree."""
        found = self.observed.matches(pattern)
        return found, torch.ones(len(found))

    def weights(self, slot: int, relation: int) -> Tensor | None:
        """Who may stand there, by how often they do."""  # (entities,)
        return self.observed.weights(slot, relation) if self.restrict_range else None

    def _candidates(self, role: int) -> Tensor:  # (ids,)
        members = self.observed.members(role) if self.restrict_range else ()
        ids = np.asarray(members) if len(members) else np.arange(self.size)
        return torch.from_numpy(ids.astype(np.int64))


def _grouped(
    questions: Sequence[QuestionIds], observed: Observed
) -> Mapping[tuple[int, ...], list[int]]:
    """Places of the questions by asked role and relations, which share a temperature."""
    found: dict[tuple[int, ...], list[int]] = {}
    for place, q in enumerate(questions):
        role = observed.role(q.slot, q.ruling_relation)
        found.setdefault((role, *q.relations), []).append(place)
    return found


def _probabilities(scores: Tensor, fitted: Calibration | None) -> Tensor:
    """Of every candidate; the scores are changed."""  # (questions, candidates)
    softmax = Softmax.of(scores, fitted)
    sums = torch.from_numpy(np.asarray(softmax.log_sums))[:, None]
    sure = scores.mul_(softmax.beta).sub_(sums).exp_().mul_(1.0 - softmax.doubt)
    return sure.add_(softmax.doubt / max(1, scores.shape[1]))


def put_known(found: Tensor, known: tuple[Places, Ids], truth: float) -> None:
    """Give known answers their truth."""
    offsets, ids = known
    found[torch.from_numpy(owners_of(offsets)), torch.from_numpy(ids.astype(np.int64))] = truth
