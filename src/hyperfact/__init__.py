"""Hyper-relational knowledge graphs: read, audit, transform without loss, train, ask.

The public names are loaded when they are first used, so that importing the package is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hyperfact.batches import FactBatch
    from hyperfact.data import load, write
    from hyperfact.facts import Derived, Fact, Literal, Slot, Vocabulary
    from hyperfact.hkg import HKG, Splits
    from hyperfact.queries import KnownAnswers, Queries, Question, read_fact, read_question

__version__ = "0.1.0"

#: Public name -> the module that defines it; sorted, and a test proves it complete.
_PUBLIC = {
    "Derived": "hyperfact.facts",
    "Fact": "hyperfact.facts",
    "FactBatch": "hyperfact.batches",
    "HKG": "hyperfact.hkg",
    "KnownAnswers": "hyperfact.queries",
    "Literal": "hyperfact.facts",
    "Queries": "hyperfact.queries",
    "Question": "hyperfact.queries",
    "Slot": "hyperfact.facts",
    "Splits": "hyperfact.hkg",
    "Vocabulary": "hyperfact.facts",
    "load": "hyperfact.data",
    "read_fact": "hyperfact.queries",
    "read_question": "hyperfact.queries",
    "write": "hyperfact.data",
}

__all__ = [
    "HKG",
    "Derived",
    "Fact",
    "FactBatch",
    "KnownAnswers",
    "Literal",
    "Queries",
    "Question",
    "Slot",
    "Splits",
    "Vocabulary",
    "load",
    "read_fact",
    "read_question",
    "write",
]


def __getattr__(name: str) -> Any:
    if name not in _PUBLIC:
        raise AttributeError(f"module 'hyperfact' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
