"""The training facts that lie nearest to an answer, by vectors of entities and of mediators.

Nearness of a training fact to the completed fact: each slot of the completed fact is compared (by
cosine) with the slot of the same role in the training fact, a value only with values of the same
attribute; absent counts 0. The mean over slots is multiplied by the cosine of the primary
relations, not below 0. For a fact with a mediator the result is multiplied by (1 + c) / 2, c the
mean cosine of its mediator to those of the nearest facts. Only facts that share an entity with the
completed fact are considered, for others cannot reach its vectors through one layer.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from torch import Tensor
from torch.nn import functional

from hyperfact.evaluation import evaluating
from hyperfact.graph.facts import Fact
from hyperfact.graph.labels import Labels
from hyperfact.graph.ragged import Array, owners_of
from hyperfact.models.transeq import TransEQ
from hyperfact.predict.candidates import scores_of
from hyperfact.predict.predictor import Predictor
from hyperfact.predict.questions import QuestionIds

_ANCHORS = 3  # nearest facts whose mediators the others are compared with


@dataclass(frozen=True)
class Support:
    """A training fact near an answer."""

    fact: Fact
    row: int  # in the training facts
    nearness: float  # at most 1
    shared: tuple[str, ...]  # entities that it shares with the completed fact
    effect: float | None = None  # measured: change of the score when the encoder cannot see it

    def as_dict(self, labels: Labels) -> dict[str, Any]:
        """For JSON."""
        return {
            "fact": str(self.fact),
            "label": labels.fact(self.fact),
            "nearness": self.nearness,
            "shared": list(self.shared),
            "effect": self.effect,
        }


def support_of(predictor: Predictor, fact: QuestionIds, count: int) -> tuple[Support, ...]:
    """The nearest training facts, nearest first.

    Args:
        predictor: Of a run.
        fact: The question with its answer filled in.
        count: How many at most.
    """
    train = predictor.knowledge.train
    rows = np.flatnonzero(touching(predictor, fact))
    nearness = _nearness(predictor, fact)[rows]
    nearness = _with_mediators(predictor.model, rows, nearness)
    best = np.argsort(-nearness, kind="stable")
    names = {predictor.entities[i] for i in fact.entities}
    found = []
    for place in best[:count].tolist():
        known = train[int(rows[place])]
        shared = [known.subject, known.object, *(v for _, v in known.qualifiers)]
        both = tuple(dict.fromkeys(name for name in shared if name in names))
        found.append(Support(known, int(rows[place]), float(nearness[place]), both))
    return tuple(found)


def touching(predictor: Predictor, fact: QuestionIds) -> Array:  # (training facts,) bool
    """Training facts that share an entity with this fact, and are not this fact."""
    train = predictor.knowledge.train
    c, ids = train.columns, np.array(fact.entities)
    hit: Array = np.isin(c.subject, ids) | np.isin(c.object, ids)
    hit[owners_of(c.offsets)[np.isin(c.values, ids)]] = True
    own = predictor.knowledge.row_of(fact)
    if own >= 0:
        hit[own] = False
    return hit


def _nearness(predictor: Predictor, fact: QuestionIds) -> Array:  # (training facts,)
    """The mean cosine of slots of the same role, times that of the relations."""
    c, z = predictor.knowledge.train.columns, predictor.scorer.z
    entities = _cosines(z.entities, fact.entities)  # (slots, entities)
    total = entities[0, c.subject] + entities[1, c.object]
    owner = owners_of(c.offsets)
    for place, attribute in enumerate(fact.relations[1:], start=2):
        same = np.flatnonzero(c.attributes == attribute)
        nearest = np.zeros(len(c))
        np.maximum.at(nearest, owner[same], entities[place, c.values[same]])
        total += nearest
    relation = _cosines(z.relations, fact.relations[:1])[0, c.relation]
    result: Array = total / len(fact.entities) * np.maximum(relation, 0.0)
    return result


def _cosines(table: Tensor, ids: tuple[int, ...]) -> Array:  # (ids, rows)
    rows, table = table[list(ids)].detach(), table.detach()
    lengths = rows.norm(dim=1)[:, None] * table.norm(dim=1)
    cosines: Array = (rows @ table.T / lengths.clamp(min=1e-12)).double().numpy()
    return cosines


def _with_mediators(model: TransEQ, rows: Array, nearness: Array) -> Array:
    """Times (1 + c) / 2, c the mean cosine of a fact's mediator to those of the anchors."""
    found = model.mediators()
    if found is None or not len(rows):
        return nearness
    mediator = np.full(int(max(rows.max(), found.fact.max(initial=0))) + 1, -1)
    mediator[found.fact] = np.arange(len(found.fact))
    have = np.flatnonzero(mediator[rows] >= 0)
    if not len(have):
        return nearness
    anchors = have[np.argsort(-nearness[have], kind="stable")[:_ANCHORS]]
    mine, theirs = (
        functional.normalize(found.vectors[mediator[rows[some]]].double(), dim=1)
        for some in (have, anchors)
    )
    cosine = (mine @ theirs.T).mean(dim=1).numpy()
    result = nearness.copy()
    result[have] *= (1.0 + cosine) / 2.0
    return result


def sees_graph(predictor: Predictor) -> bool:
    """Whether the model looks at the training facts when it is asked."""
    reads = predictor.scorer.z.facts is not None  # by its decoder
    return reads or predictor.scorer.evidence is not None or predictor.model.encoder.sees_graph


def score_without(predictor: Predictor, ids: QuestionIds, answer: int, rows: Array) -> float:
    """The score of an answer when the encoder cannot see these training facts."""
    model = predictor.model
    with evaluating(model):
        z = model.encode(keep=model.keep_without(rows))
    evidence = predictor.scorer.evidence
    if evidence is not None:
        evidence = evidence.without(predictor.knowledge.train, rows)
    scorer = replace(predictor.scorer, z=z, evidence=evidence)
    return float(scores_of(scorer, predictor.knowledge, [ids])[0, answer])


def measured(
    predictor: Predictor, ids: QuestionIds, answer: int, found: tuple[Support, ...]
) -> tuple[Support, ...]:
    """The same facts, each with the change of the score when it alone is hidden."""
    whole = score_without(predictor, ids, answer, np.zeros(0, dtype=np.int64))
    return tuple(
        replace(s, effect=score_without(predictor, ids, answer, np.array([s.row])) - whole)
        for s in found
    )
