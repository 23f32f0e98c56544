"""Explanation: why a model gives this answer to this question, as far as that can be said."""

from dataclasses import asdict, dataclass
from typing import Any

from hyperfact.graph.labels import Labels
from hyperfact.predict.answers import Request
from hyperfact.predict.candidates import scores_of
from hyperfact.predict.explain.counts import Count, counts_of
from hyperfact.predict.explain.parts import Part, parts_of
from hyperfact.predict.explain.paths import Path, paths_of
from hyperfact.predict.explain.support import Support, measured, sees_graph, support_of
from hyperfact.predict.places import Place
from hyperfact.predict.predictor import Predictor, QuestionLike
from hyperfact.predict.questions import AnyQuestion, write_any

NOTE = (
    "approximate: parts are left out one at a time, so what they do together is not seen; near and "
    "linking facts are similar or connected, which does not prove that the model used them"
)


@dataclass(frozen=True)
class Explanation:
    """What speaks for an answer."""

    question: AnyQuestion
    answer: str
    labels: Labels  # how people read these names
    place: Place  # the same as in the list of answers
    parts: tuple[Part, ...]  # those that matter most first
    support: tuple[Support, ...]  # nearest first; by effect where it was measured
    paths: tuple[Path, ...]
    counts: tuple[Count, ...] = ()  # exact; where the model counts facts, most effect first
    approximate: bool = True
    note: str = NOTE

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "question": write_any(self.question),
            "answer": self.answer,
            "label": self.labels.show(self.answer),
            **asdict(self.place),
            "parts": [part.as_dict() for part in self.parts],
            "support": [support.as_dict(self.labels) for support in self.support],
            "paths": [path.as_dict(self.labels) for path in self.paths],
            "counts": [count.as_dict(self.labels) for count in self.counts],
            "approximate": self.approximate,
            "note": self.note,
        }


def explain(
    predictor: Predictor,
    question: QuestionLike,
    answer: str,
    *,
    count: int = 5,
    measure: bool = False,
    request: Request | None = None,
) -> Explanation:
    """Explain an answer.

    Args:
        predictor: Of a run.
        question: As for `Predictor.ask`.
        answer: The name to explain, not necessarily the best one.
        count: How many supporting facts and how many paths, at most.
        measure: Hide each supporting fact from the encoder in turn, and order by the effect; costs
            an encoding of the graph for each.
        request: How the list of answers was asked for, whose rank and probability these are; its
            `k` does not matter.
    """
    asked = predictor.resolve(question)
    ids, candidate = asked.ids, predictor.answer_id(asked.ids, answer)
    ranking = predictor.list_ranking(ids, candidate, request or Request())
    place = ranking.place(scores_of(predictor.scorer, predictor.knowledge, [ids])[0])
    support = support_of(predictor, ids.filled(candidate), count)
    if measure and sees_graph(predictor):
        support = measured(predictor, ids, candidate, support)
        support = tuple(sorted(support, key=lambda s: s.effect or 0.0))
    return Explanation(
        asked.question,
        predictor.knowledge.candidates_of(ids)[candidate],
        predictor.labels,
        place,
        parts_of(predictor, ids, ranking, place),
        support,
        paths_of(predictor, ids, candidate, count),
        counts_of(predictor, ids, candidate, count),
    )
