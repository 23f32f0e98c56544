"""The same question with other qualifiers, both rankings side by side."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from hyperfact.errors import UserError
from hyperfact.predict.answers import Answers, Known, Request
from hyperfact.predict.changes import Change, apply_changes, read_change
from hyperfact.predict.predictor import Predictor, QuestionLike
from hyperfact.predict.questions import write_any


@dataclass(frozen=True)
class RankMove:
    """Where an answer stood and stands; the rank counts from 1 and a rise is positive."""

    name: str
    label: str  # how people read the name
    before: int
    probability_before: float
    after: int
    probability_after: float

    @property
    def rise(self) -> int:
        """Places gained."""
        return self.before - self.after

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {**asdict(self), "rise": self.rise}


@dataclass(frozen=True)
class WhatIf:
    """Two rankings and the moves between them."""

    before: Answers
    after: Answers
    moves: tuple[RankMove, ...]  # the best k of either ranking, by their rank after

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "before": write_any(self.before.question),
            "after": write_any(self.after.question),
            "labels": {"before": self.before.label, "after": self.after.label},
            "seen_shape": self.after.seen_shape,
            "seen_role": self.after.seen_role,
            "moves": [move.as_dict() for move in self.moves],
        }


def whatif(
    predictor: Predictor,
    question: QuestionLike,
    changes: Sequence[str | Change],
    *,
    k: int = 10,
    known: Known = "mark",
    restrict_range: bool = True,
) -> WhatIf:
    """Ask twice: as it is, and changed.

    Args:
        predictor: Of a run.
        question: As for `Predictor.ask`.
        changes: See `hyperfact.predict.changes`.
        k: How many answers of each ranking.
        known: As for `Predictor.ask`.
        restrict_range: As for `Predictor.ask`.
    """
    if not changes:
        raise UserError("a what-if needs at least one change")
    asked = predictor.resolve(question)
    done = [read_change(change) if isinstance(change, str) else change for change in changes]
    other = apply_changes(asked.question, [change.renamed(predictor.labels) for change in done])
    everyone = Request(len(predictor.entities) + len(predictor.relations), known, restrict_range)
    before, after = (predictor.answer([q], everyone)[0] for q in (asked, other))
    ids = dict.fromkeys([*before.ids[:k].tolist(), *after.ids[:k].tolist()])
    places = [
        {i: p for p, i in enumerate(side.ids.tolist()) if i in ids} for side in (before, after)
    ]
    moves = [
        RankMove(
            before.names[i],
            predictor.labels.show(before.names[i]),
            *_at(before, places[0].get(i)),
            *_at(after, places[1].get(i)),
        )
        for i in ids
    ]
    moves.sort(key=lambda move: (move.after, move.before))
    return WhatIf(before.head(k), after.head(k), tuple(moves))


def _at(answers: Answers, place: int | None) -> tuple[int, float]:
    """Rank and probability; who is no candidate stands behind all candidates."""
    if place is None:
        return len(answers) + 1, 0.0
    return answers[place].rank, answers[place].probability
