"""Whether questions that are scored together get the same bits as alone.

Matrix products of other sizes may add in another order. So it is tried, for this run on this
machine: where it makes a difference, the service answers one question after the other.
"""

from collections.abc import Iterator

from hyperfact.predict import Predictor
from hyperfact.predict.answers import Request
from hyperfact.predict.fitting import entity_questions
from hyperfact.predict.questions import QuestionIds, ResolvedQuestion
from hyperfact.serve.batching import written

_TRIED = 12  # questions
_SIZES = (2, 3, 5, 12)  # of batches


def same_together(predictor: Predictor) -> bool:
    """Try some questions alone and together."""
    request = Request()
    names = predictor.entities, predictor.relations
    asked = [ResolvedQuestion.by_ids(ids, *names) for ids in _some(predictor)]
    alone = [written(predictor.answer([one], request)[0]) for one in asked]
    return all(
        [written(answers) for answers in predictor.answer(asked[start : start + size], request)]
        == alone[start : start + size]
        for size in _SIZES
        for start in range(0, len(asked), size)
    )


def _some(predictor: Predictor) -> Iterator[QuestionIds]:
    """Questions of different arities and slots, each once."""
    train = predictor.splits.train
    if not len(train):
        return
    order = train.arity.argsort(kind="stable")
    places = {int(order[(len(order) - 1) * i // _TRIED]) for i in range(1, _TRIED + 1)}
    for number, place in enumerate(sorted(places)):
        questions, _ = entity_questions(train[place : place + 1])
        able = questions if predictor.scorer.fills_values else questions[:2]  # subject, object
        yield able[number % len(able)]
