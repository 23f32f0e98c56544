"""The temperature that fits scores to validation facts, for questions of either kind."""

from typing import Literal

import numpy as np
import torch

from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import BLANK_ID, Queries
from hyperfact.predict.calibration import LEAST, Calibration, fit
from hyperfact.predict.candidates import forbid_others, scores_of
from hyperfact.predict.knowledge import Knowledge
from hyperfact.predict.questions import QuestionIds
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
    some, right = [questions[i] for i in rows], torch.tensor([answers[i] for i in rows])
    scores = scores_of(scorer, knowledge, some)
    forbid_others(scores, knowledge.known(some), right)
    return fit(scores, right)


def entity_questions(graph: HKG) -> tuple[list[QuestionIds], list[int]]:
    """Every slot of every fact as a question, and the entity that stood there."""
    queries = Queries.of(graph)
    facts = [QuestionIds.of_row(graph.columns.table, row) for row in range(len(graph))]
    questions = []
    for row, slot in zip(queries.fact.tolist(), queries.slot.tolist(), strict=True):
        fact = facts[row]
        questions.append(QuestionIds(_blank(fact.entities, slot), fact.relations))
    return questions, queries.answer.tolist()


def relation_questions(graph: HKG) -> tuple[list[QuestionIds], list[int]]:
    """Every relation and attribute of every fact as a question, and what stood there."""
    questions, answers = [], []
    for row in range(len(graph)):
        fact = QuestionIds.of_row(graph.columns.table, row)
        for place, relation in enumerate(fact.relations):
            questions.append(QuestionIds(fact.entities, _blank(fact.relations, place)))
            answers.append(relation)
    return questions, answers


def _blank(ids: tuple[int, ...], place: int) -> tuple[int, ...]:
    return (*ids[:place], BLANK_ID, *ids[place + 1 :])


_ASK = {"entity": entity_questions, "relation": relation_questions}
