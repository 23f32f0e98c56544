"""The place of one answer: how many come before it, and how probable it is.

It goes the same way as the list of answers, so that their numbers are the same.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hyperfact.predict.answers import Request
from hyperfact.predict.calibration import Calibration
from hyperfact.predict.candidates import (
    Softmax,
    ahead,
    forbid_others,
    refuse_unusable,
    restrict,
)
from hyperfact.predict.knowledge import Knowledge, KnownRows
from hyperfact.predict.questions import QuestionIds


@dataclass(frozen=True)
class Place:
    """Where one answer stands."""

    rank: float
    candidates: int
    score: float
    probability: float


@dataclass(frozen=True)
class FilteredRanking:
    """One answer among everybody but other known answers, as `evaluate` ranks."""

    answer: int
    known: KnownRows  # of this question alone
    fitted: Calibration | None

    def place(self, scores: Tensor) -> Place:
        """Where the answer stands: 1 + rivals above + half of the equal ones."""  # (candidates,)
        one = refuse_unusable(scores)[None].clone()
        forbid_others(one, self.known, torch.tensor([self.answer]))
        softmax, score = Softmax.of(one, self.fitted), one[0, self.answer]
        above, equal = int((one > score).sum()), int((one == score).sum()) - 1
        (probability,) = softmax.probabilities(0, score[None].numpy()).tolist()
        return Place(1.0 + above + 0.5 * equal, softmax.counts[0], float(score), probability)


@dataclass(frozen=True)
class ListRanking:
    """One answer as the list of answers ranks it; it competes even where the list leaves it out.

    Args:
        ids: The question, which says who competes; its scores may be those of another one.
    """

    ids: QuestionIds
    answer: int
    knowledge: Knowledge
    request: Request
    fitted: Calibration | None

    def place(self, scores: Tensor) -> Place:
        """Where the answer stands among these scores, which stay as they are."""  # (candidates,)
        one, answer = refuse_unusable(scores)[None].clone(), torch.tensor([self.answer])
        score, known = one[0, self.answer].clone(), self.knowledge.known([self.ids])
        among = None
        if self.request.restrict_range:
            (ids,) = restrict(one, self.knowledge, [self.ids])
            among = [np.union1d(ids, [self.answer]) if len(ids) else ids]
            one[0, self.answer] = score
        if self.request.known == "remove":
            forbid_others(one, known, answer)
        softmax = Softmax.of(one, self.fitted, among)
        if self.request.known == "hide":
            forbid_others(one, known, answer)
        (probability,) = softmax.probabilities(0, score[None].numpy()).tolist()
        return Place(1.0 + ahead(one[0], self.answer), softmax.counts[0], float(score), probability)
