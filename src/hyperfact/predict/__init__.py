"""Predictor: fill the missing slot of a fact, with known answers marked or removed.

Order: cache, calibration, questions, likeness, answers, changes, knowledge, scoring, near,
candidates, places, fitting, estimates, loading, additions, grown_knowledge, ground, standing,
predictor, combining, complete, moving, whatif, explain, export, logic.
"""

from hyperfact.predict.answers import Answer, Answers
from hyperfact.predict.calibration import Calibration
from hyperfact.predict.complete import Completion, Proposal, complete
from hyperfact.predict.places import Place
from hyperfact.predict.predictor import Predictor
from hyperfact.predict.questions import RelationQuestion, read_any, write_any

__all__ = [
    "Answer",
    "Answers",
    "Calibration",
    "Completion",
    "Place",
    "Predictor",
    "Proposal",
    "RelationQuestion",
    "complete",
    "read_any",
    "write_any",
]
