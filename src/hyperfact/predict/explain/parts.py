"""What each known part of a question contributes: leave it out, and ask again.

A qualifier is left out by dropping it. A subject, an object or the relation cannot be dropped, for
the fact would be none; its vector is replaced by the mean of all vectors of its kind, which says
nothing in particular. Where a relation is asked for, the entity that it brings in is left out by
leaving the frequency of relations alone.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from torch import Tensor

from hyperfact.graph.facts import show
from hyperfact.graph.queries import BLANK_ID
from hyperfact.predict.candidates import scores_of
from hyperfact.predict.knowledge import Knowledge
from hyperfact.predict.places import ListRanking, Place
from hyperfact.predict.predictor import Predictor
from hyperfact.predict.questions import QuestionIds
from hyperfact.predict.scoring import Scorer


@dataclass(frozen=True)
class Part:
    """One known part, and where the answer stands without it."""

    part: str  # subject, relation, object, qualifier
    text: str
    label: str  # how people read the text
    how: str  # dropped, replaced by the mean, or only the prior left
    score: float  # of the answer without this part
    rank: float  # likewise
    score_change: float  # without minus with: negative where the part speaks for the answer
    log_probability_change: float  # likewise

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def parts_of(
    predictor: Predictor, ids: QuestionIds, ranking: ListRanking, whole: Place
) -> tuple[Part, ...]:
    """Every known part, the one that matters most first.

    Args:
        predictor: Of a run.
        ids: The question.
        ranking: Places the answer.
        whole: Where it stands with all parts.
    """
    found = []
    for part, names, how, scores in _left_out(predictor, ids):
        place = ranking.place(scores)
        text, label = (" = ".join(map(look, names)) for look in (show, predictor.labels.field))
        change = float(
            np.log(max(place.probability, 1e-30)) - np.log(max(whole.probability, 1e-30))
        )
        found.append(
            Part(part, text, label, how, place.score, place.rank, place.score - whole.score, change)
        )
    return tuple(sorted(found, key=lambda p: p.log_probability_change))


def _left_out(
    predictor: Predictor, ids: QuestionIds
) -> Iterator[tuple[str, tuple[str, ...], str, Tensor]]:
    """Kind, names and manner of each part, and the scores without it."""
    means, knowledge = predictor.scorer.with_means(), predictor.knowledge
    e, r = predictor.entities, predictor.relations
    for slot, kind in enumerate(("subject", "object")):
        if ids.entities[slot] != BLANK_ID:
            entities = list(ids.entities)
            entities[slot] = len(e)  # the row of the mean
            without = QuestionIds(tuple(entities), ids.relations)
            names = (e[ids.entities[slot]],)
            if ids.is_relation and ids.slot == slot:  # its probability is the evidence
                yield kind, names, "only the prior left", knowledge.prior(ids)
            else:
                yield kind, names, "replaced by the mean", _scores(means, knowledge, without, ids)
    if ids.relations[0] != BLANK_ID:
        without = QuestionIds(ids.entities, (len(r), *ids.relations[1:]))
        scores = _scores(means, knowledge, without, ids)
        yield "relation", (r[ids.relations[0]],), "replaced by the mean", scores
    for number, (a, v) in enumerate(ids.qualifiers):
        if BLANK_ID not in (a, v):
            scores = scores_of(predictor.scorer, knowledge, [ids.without(number)])[0]
            yield "qualifier", (r[a], e[v]), "dropped", scores


def _scores(
    means: Scorer, knowledge: Knowledge, without: QuestionIds, whole: QuestionIds
) -> Tensor:  # (candidates,)
    """Scores of a question in which the id after the last stands for the mean."""
    if without.is_relation:
        return means.relations(without, knowledge.prior(whole))
    return means.entities([without])[0]
