"""Scores of questions of either kind, and the temperature that fits them to validation facts."""

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import BLANK_ID, Queries
from hyperfact.graph.ragged import owners_of
from hyperfact.predict.calibration import LEAST, Calibration, fit
from hyperfact.predict.knowledge import Knowledge
from hyperfact.predict.questions import Asked
from hyperfact.predict.scoring import Scorer

Kind = Literal["entity", "relation"]
_CELLS = {"entity": 2**25, "relation": 2**29}  # scores to make: all kept, or only summed over
_MOST = 1000  # questions of each kind


def fit_kind(kind: Kind, scorer: Scorer, knowledge: Knowledge, valid: HKG) -> Calibration | None:
    """Fit on validation facts, drawn at random but always the same; None if they are too few."""
    order = np.random.default_rng(0).permutation(len(valid))[:_MOST]
    questions, answers = _ASK[kind](valid.select(order))
    cells = len(scorer.z.entities) * (len(scorer.z.relations) if kind == "relation" else 1)
    rows = np.random.default_rng(0).permutation(len(questions))
    rows = rows[: min(_MOST, max(LEAST, _CELLS[kind] // cells))]
    if not len(rows):
        return None
    asked, right = [questions[i] for i in rows], torch.tensor([answers[i] for i in rows])
    return fit(_filtered(scorer, knowledge, asked, right), right)


def _filtered(
    scorer: Scorer, knowledge: Knowledge, questions: Sequence[Asked], answers: Tensor
) -> Tensor:  # (questions, candidates)
    """Scores in which known answers but the right one are minus infinity."""
    scores = scores_of(scorer, knowledge, questions)
    right = scores.gather(1, answers[:, None])
    known = knowledge.known(questions)
    scores[torch.from_numpy(owners_of(known.offsets)), torch.from_numpy(known.ids)] = float("-inf")
    return scores.scatter_(1, answers[:, None], right)


def scores_of(
    scorer: Scorer, knowledge: Knowledge, questions: Sequence[Asked]
) -> Tensor:  # (questions, candidates)
    """Scores of questions of one kind: for entities, or for relations."""
    if questions[0].is_relation:
        return torch.stack([scorer.relations(q, knowledge.prior(q)) for q in questions])
    return scorer.entities(questions)


def entity_questions(graph: HKG) -> tuple[list[Asked], list[int]]:
    """Every slot of every fact as a question, and the entity that stood there."""
    queries = Queries.of(graph)
    facts = [_whole(graph, row) for row in range(len(graph))]
    questions = []
    for row, slot in zip(queries.fact.tolist(), queries.slot.tolist(), strict=True):
        fact = facts[row]
        questions.append(Asked(_blank(fact.entities, slot), fact.relations))
    return questions, queries.answer.tolist()


def relation_questions(graph: HKG) -> tuple[list[Asked], list[int]]:
    """Every relation and attribute of every fact as a question, and what stood there."""
    questions, answers = [], []
    for row in range(len(graph)):
        fact = _whole(graph, row)
        for place, relation in enumerate(fact.relations):
            questions.append(Asked(fact.entities, _blank(fact.relations, place)))
            answers.append(relation)
    return questions, answers


def _whole(graph: HKG, row: int) -> Asked:
    """A fact in the form of a question without blank."""
    c = graph.columns
    part = slice(c.offsets[row], c.offsets[row + 1])
    ends = (int(c.subject[row]), int(c.object[row]))
    return Asked(
        (*ends, *c.values[part].tolist()), (int(c.relation[row]), *c.attributes[part].tolist())
    )


def _blank(ids: tuple[int, ...], place: int) -> tuple[int, ...]:
    return (*ids[:place], BLANK_ID, *ids[place + 1 :])


_ASK = {"entity": entity_questions, "relation": relation_questions}
