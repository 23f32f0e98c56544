"""Do explanations tell the truth? Hide the named facts from the encoder, and see the score fall.

If the supporting facts carry the answer, hiding them lowers its score more than hiding as many
random ones. Nothing is trained again: weights that grew from these facts stay.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hyperfact.errors import UserError
from hyperfact.graph.ragged import Array
from hyperfact.predict.explain.support import score_without, sees_graph, support_of, touching
from hyperfact.predict.predictor import Predictor, QuestionLike


@dataclass(frozen=True)
class Faithfulness:
    """Mean fall of the answer's score when facts are hidden, over some questions."""

    questions: int
    facts: int  # hidden for each question
    support: float  # the nearest ones
    random: float  # any training facts
    touching: float  # random ones among those that share an entity with the completed fact
    better_than_random: float  # share of questions; a tie counts half
    better_than_touching: float

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def faithfulness(
    predictor: Predictor,
    questions: Sequence[tuple[QuestionLike, str]],
    *,
    facts: int = 5,
    seed: int = 0,
) -> Faithfulness:
    """Measure over questions with their answers; four encodings of the graph for each.

    Raises:
        UserError: The encoder does not look at the graph, so that hiding shows nothing.
    """
    if not sees_graph(predictor):
        name = predictor.config.encoder.name
        raise UserError(f"the encoder {name!r} does not look at the graph: nothing can be hidden")
    if not questions:
        raise UserError("faithfulness needs at least one question")
    rng = np.random.default_rng(seed)
    falls = np.array(
        [_falls(predictor, question, answer, facts, rng) for question, answer in questions]
    )  # (questions, 3)
    ahead = (np.sign(falls[:, :1] - falls[:, 1:]) + 1.0) / 2.0  # (questions, 2)
    support, random, near = falls.mean(axis=0).tolist()
    return Faithfulness(
        len(falls), facts, support, random, near, *(float(x) for x in ahead.mean(axis=0))
    )


def _falls(
    predictor: Predictor,
    question: QuestionLike,
    answer: str,
    facts: int,
    rng: np.random.Generator,
) -> list[float]:
    """How far the score falls without supporting, random and touching facts."""
    ids = predictor.resolve(question).ids
    candidate = predictor.answer_id(ids, answer)
    whole = ids.filled(candidate)
    nearest = np.array([s.row for s in support_of(predictor, whole, facts)], dtype=np.int64)
    near = np.flatnonzero(touching(predictor, whole))
    sets: list[Array] = [
        nearest,
        rng.permutation(len(predictor.knowledge.train))[: len(nearest)],
        rng.permutation(near)[: len(nearest)],
    ]
    before = score_without(predictor, ids, candidate, np.zeros(0, dtype=np.int64))
    return [before - score_without(predictor, ids, candidate, rows) for rows in sets]
