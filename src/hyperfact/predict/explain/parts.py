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
from hyperfact.predict.candidates import Place
from hyperfact.predict.predictor import Predictor
from hyperfact.predict.questions import Asked
from hyperfact.predict.scoring import Scorer


@dataclass(frozen=True)
class Part:
    """One known part, and where the answer stands without it."""

    part: str  # subject, relation, object, qualifier
    text: str
    how: str  # dropped, replaced by the mean, or only the prior left
    score: float  # of the answer without this part
    rank: float  # likewise, filtered
    score_change: float  # without minus with: negative where the part speaks for the answer
    log_probability_change: float  # likewise

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def parts_of(predictor: Predictor, asked: Asked, answer: int, whole: Place) -> tuple[Part, ...]:
    """Every known part, the one that matters most first."""
    found = []
    for part, text, how, scores in _left_out(predictor, asked):
        place = predictor.place_in(asked, scores, answer)
        change = float(
            np.log(max(place.probability, 1e-30)) - np.log(max(whole.probability, 1e-30))
        )
        found.append(
            Part(part, text, how, place.score, place.rank, place.score - whole.score, change)
        )
    return tuple(sorted(found, key=lambda p: p.log_probability_change))


def _left_out(predictor: Predictor, asked: Asked) -> Iterator[tuple[str, str, str, Tensor]]:
    """Kind, text and manner of each part, and the scores without it."""
    means = predictor.scorer.with_means()
    e, r = predictor.entities, predictor.relations
    for slot, kind in enumerate(("subject", "object")):
        if asked.entities[slot] != BLANK_ID:
            entities = list(asked.entities)
            entities[slot] = len(e)  # the row of the mean
            without = Asked(tuple(entities), asked.relations)
            text = show(e[asked.entities[slot]])
            if asked.is_relation and asked.slot == slot:  # its probability is the evidence
                yield kind, text, "only the prior left", predictor.knowledge.prior(asked)
            else:
                yield kind, text, "replaced by the mean", _scores(predictor, means, without)
    if asked.relations[0] != BLANK_ID:
        without = Asked(asked.entities, (len(r), *asked.relations[1:]))
        text = show(r[asked.relations[0]])
        yield "relation", text, "replaced by the mean", _scores(predictor, means, without, asked)
    for number, (a, v) in enumerate(zip(asked.relations[1:], asked.entities[2:], strict=True)):
        if BLANK_ID not in (a, v):
            text = f"{show(r[a])} = {show(e[v])}"
            yield "qualifier", text, "dropped", predictor.scores(asked.without(number))


def _scores(
    predictor: Predictor, means: Scorer, without: Asked, prior_of: Asked | None = None
) -> Tensor:  # (candidates,)
    """Scores of a question in which the id after the last stands for the mean."""
    if without.is_relation:
        return means.relations(without, predictor.knowledge.prior(prior_of or without))
    return means.entities([without])[0]
