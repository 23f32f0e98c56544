"""The temperature that fits scores to validation facts, for questions of each kind.

Who says less knows less: a question that leaves qualifiers out has another temperature than one
that is a whole fact but for the blank. Candidates are those in range, as in a list of answers.
"""

from typing import Literal

import numpy as np
import torch

from hyperfact.graph.hkg import HKG
from hyperfact.graph.partial import PartialQueries
from hyperfact.graph.queries import BLANK_ID, Queries
from hyperfact.predict.calibration import LEAST, Calibration, fit
from hyperfact.predict.candidates import forbid_others, restrict, scores_of
from hyperfact.predict.knowledge import Knowledge
from hyperfact.predict.questions import QuestionIds
from hyperfact.predict.scoring import Scorer

Kind = Literal["entity", "partial", "relation"]
_CELLS = {"entity": 2**25, "partial": 2**25, "relation": 2**29}  # scores: kept, or summed over
_MOST = 1000  # questions of each kind

#: What a fit depends on beside weights and facts: a run keeps fits, and forgets those of another
#: method. Raise the number with any change here or in `calibration` that changes their values.
METHOD = f"2: candidates in range, partial questions apart, {LEAST} to {_MOST} questions"


def kind_of(question: QuestionIds, knowledge: Knowledge) -> Kind:
    """Which temperature a question gets."""
    if question.is_relation:
        return "relation"
    return "partial" if knowledge.shapes.is_partial(question) else "entity"


def fit_kind(kind: Kind, scorer: Scorer, knowledge: Knowledge, valid: HKG) -> Calibration | None:
    """Fit on validation facts, drawn at random but always the same; None if they are too few."""
    order = np.random.default_rng(0).permutation(len(valid))[:_MOST]
    questions, answers = _ASK[kind](valid.select(order))
    cells = len(scorer.z.entities) * (len(scorer.z.relations) if kind == "relation" else 1)
    rows = np.random.default_rng(0).permutation(len(questions))
    if not scorer.fills_values:
        rows = np.array([i for i in rows if questions[i].slot < 2], dtype=np.int64)
    rows = rows[: min(_MOST, max(LEAST, _CELLS[kind] // cells))]
    if not len(rows):
        return None
    some, right = [questions[i] for i in rows], torch.tensor([answers[i] for i in rows])
    scores = scores_of(scorer, knowledge, some)
    kept = scores.gather(1, right[:, None])
    restrict(scores, knowledge, some)
    scores.scatter_(1, right[:, None], kept)  # the answer competes, whether it is in range or not
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


def partial_questions(graph: HKG) -> tuple[list[QuestionIds], list[int]]:
    """The same with all or some qualifiers left out, where there is one to leave out."""
    queries, c = Queries.of(graph), graph.columns
    whole = graph.num_qualifiers[queries.fact]
    questions, answers = [], []
    for left in (PartialQueries.bare(c, queries), PartialQueries.half(c, queries)):
        table = left.table()
        for row in np.flatnonzero(np.diff(left.columns.offsets) < whole).tolist():
            questions.append(QuestionIds.of_row(table, row))
            answers.append(int(queries.answer[row]))
    return questions, answers


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


_ASK = {
    "entity": entity_questions,
    "partial": partial_questions,
    "relation": relation_questions,
}
