"""Hyper-relational knowledge graphs: read, audit, transform without loss, train, ask.

    files -> data -> HKG -> transforms -> KG -> encoder -> Representations -> decoder -> scores
          -> training | evaluation -> runs -> predict -> cli | serve

The public names are loaded when they are first used, so that importing the package is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hyperfact.data import load, write
    from hyperfact.draw import draw_fact, draw_facts, draw_neighbourhood, draw_transformations
    from hyperfact.evaluation.checks.contract import check_model
    from hyperfact.graph.batches import FactBatch
    from hyperfact.graph.facts import Derived, Fact, Literal, Slot, Vocabulary
    from hyperfact.graph.hkg import HKG, Splits
    from hyperfact.graph.kg import KG
    from hyperfact.graph.language.formula import Query, fact, variables
    from hyperfact.graph.language.query_text import read_query
    from hyperfact.graph.queries import KnownAnswers, Queries, Question, read_fact, read_question
    from hyperfact.predict import Predictor
    from hyperfact.predict.complete import complete
    from hyperfact.predict.explain import explain
    from hyperfact.predict.logic.asker import Asker
    from hyperfact.predict.whatif import whatif
    from hyperfact.runs.api import evaluate, train
    from hyperfact.runs.extensions import use
    from hyperfact.transforms import Certificate, restore, transform, verify
    from hyperfact.transforms.interchange import read_kg, write_kg

__version__ = "0.2.0"

#: Public name -> the module that defines it; sorted, and a test proves it complete.
_PUBLIC = {
    "Asker": "hyperfact.predict.logic.asker",
    "Certificate": "hyperfact.transforms",
    "Derived": "hyperfact.graph.facts",
    "Fact": "hyperfact.graph.facts",
    "FactBatch": "hyperfact.graph.batches",
    "HKG": "hyperfact.graph.hkg",
    "KG": "hyperfact.graph.kg",
    "KnownAnswers": "hyperfact.graph.queries",
    "Literal": "hyperfact.graph.facts",
    "Predictor": "hyperfact.predict",
    "Queries": "hyperfact.graph.queries",
    "Query": "hyperfact.graph.language.formula",
    "Question": "hyperfact.graph.queries",
    "Slot": "hyperfact.graph.facts",
    "Splits": "hyperfact.graph.hkg",
    "Vocabulary": "hyperfact.graph.facts",
    "check_model": "hyperfact.evaluation.checks.contract",
    "complete": "hyperfact.predict.complete",
    "draw_fact": "hyperfact.draw",
    "draw_facts": "hyperfact.draw",
    "draw_neighbourhood": "hyperfact.draw",
    "draw_transformations": "hyperfact.draw",
    "evaluate": "hyperfact.runs.api",
    "explain": "hyperfact.predict.explain",
    "fact": "hyperfact.graph.language.formula",
    "load": "hyperfact.data",
    "read_fact": "hyperfact.graph.queries",
    "read_kg": "hyperfact.transforms.interchange",
    "read_query": "hyperfact.graph.language.query_text",
    "read_question": "hyperfact.graph.queries",
    "restore": "hyperfact.transforms",
    "train": "hyperfact.runs.api",
    "transform": "hyperfact.transforms",
    "use": "hyperfact.runs.extensions",
    "variables": "hyperfact.graph.language.formula",
    "verify": "hyperfact.transforms",
    "whatif": "hyperfact.predict.whatif",
    "write": "hyperfact.data",
    "write_kg": "hyperfact.transforms.interchange",
}

__all__ = [
    "HKG",
    "KG",
    "Asker",
    "Certificate",
    "Derived",
    "Fact",
    "FactBatch",
    "KnownAnswers",
    "Literal",
    "Predictor",
    "Queries",
    "Query",
    "Question",
    "Slot",
    "Splits",
    "Vocabulary",
    "check_model",
    "complete",
    "draw_fact",
    "draw_facts",
    "draw_neighbourhood",
    "draw_transformations",
    "evaluate",
    "explain",
    "fact",
    "load",
    "read_fact",
    "read_kg",
    "read_query",
    "read_question",
    "restore",
    "train",
    "transform",
    "use",
    "variables",
    "verify",
    "whatif",
    "write",
    "write_kg",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'hyperfact' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
