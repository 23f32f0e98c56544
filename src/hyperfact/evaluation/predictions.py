"""Files of predictions that other software made (docs/reference/rank-table.md).

A file names each query by `fact` and `slot`, or by `question` and `answer`; beside them stand
either `candidate` and `score`, one row for each candidate, or `rank`, one row for each query.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hyperfact.errors import DataError, FormatError, HyperfactError, UnknownNameError
from hyperfact.evaluation.foreign import GivenRanks, ScoredCandidates
from hyperfact.graph.facts import Fact, Literal, Vocabulary
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import read_question
from hyperfact.graph.ragged import Array
from hyperfact.graph.syntax import quote_literal
from hyperfact.system.tables import read_columns

_NAMED, _NUMBERED = ("question", "answer"), ("fact", "slot")


def read_predictions(path: Path, graph: HKG) -> ScoredCandidates | GivenRanks:
    """Read a file of predictions about the facts of `graph`.

    Raises:
        FormatError: Columns or values that do not fit.
    """
    columns = _columns(path)
    try:
        fact, slot = _queries(columns, graph)
        if "rank" in columns:
            return GivenRanks(fact, slot, _numbers(columns["rank"], "rank"))
        candidate = _entities(columns["candidate"], graph.entities)
        return ScoredCandidates(fact, slot, candidate, _numbers(columns["score"], "score"))
    except HyperfactError as error:
        raise FormatError(path, None, str(error)) from error


def _columns(path: Path) -> Mapping[str, list[Any]]:
    """The columns of the file, if they are those of predictions."""
    found = read_columns(path)
    query = _NAMED if "question" in found else _NUMBERED
    wanted = (*query, *(("rank",) if "rank" in found else ("candidate", "score")))
    missing = [name for name in wanted if name not in found]
    if missing or not found[wanted[0]]:
        reason = f"lacks the column {missing[0]!r}" if missing else "holds no prediction"
        raise FormatError(path, None, f"{reason} (found: {', '.join(found)})")
    return found


def _numbers(values: list[Any], name: str) -> Array:
    try:
        return np.array([float(v) for v in values])
    except (TypeError, ValueError):
        wrong = next(v for v in values if not _is_number(v))
        raise DataError(f"expected a number in the column {name!r}, got {wrong!r}") from None


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


def _queries(columns: Mapping[str, list[Any]], graph: HKG) -> tuple[Array, Array]:
    """The fact and the slot of each row."""
    if "question" in columns:
        return _named(columns, graph)
    fact, slot = (_whole(columns[name], name) for name in _NUMBERED)
    if len(fact) and (fact.min() < 0 or fact.max() >= len(graph)):
        raise DataError(f"fact {fact.max()} of {len(graph)}; facts are counted from 0")
    wrong = np.flatnonzero((slot < 0) | (slot >= graph.arity[fact]))
    if len(wrong):
        at = wrong[0]
        raise DataError(f"slot {slot[at]} of fact {fact[at]}, which has {graph.arity[fact[at]]}")
    return fact, slot


def _whole(values: list[Any], name: str) -> Array:
    numbers = _numbers(values, name)
    if not (np.isfinite(numbers) & (numbers == np.floor(numbers))).all():
        raise DataError(f"expected whole numbers in the column {name!r}")
    return numbers.astype(np.int64)


def _named(columns: Mapping[str, list[Any]], graph: HKG) -> tuple[Array, Array]:
    """Queries written as questions with their answers; each distinct one is looked up once."""
    rows = {fact: row for row, fact in enumerate(graph)}
    names = _by_text(graph.entities)
    places: dict[tuple[str, str], tuple[int, int]] = {}
    found = []
    for question, answer in zip(columns["question"], columns["answer"], strict=True):
        key = (str(question), str(answer))
        if key not in places:
            places[key] = _place(*key, rows=rows, names=names, graph=graph)
        found.append(places[key])
    fact, slot = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return fact, slot


def _place(
    question: str, answer: str, *, rows: Mapping[Fact, int], names: Mapping[str, int], graph: HKG
) -> tuple[int, int]:
    """The row and the slot, in canonical order, of a question with its answer."""
    asked = read_question(question)
    if answer not in names:
        raise UnknownNameError("entity", answer, names, list_known=False)
    entity = graph.entities[names[answer]]
    row = rows.get(asked.answered(entity))
    if row is None:
        raise DataError(f"{question!r} with {answer!r} is not among the facts asked about")
    if asked.slot.index < 2:
        return row, asked.slot.index
    attribute = next(a for a, v in asked.qualifiers if v is None)
    return row, 2 + graph[row].qualifiers.index((attribute, entity))


def _by_text(entities: Vocabulary) -> dict[str, int]:
    """Ids by what a file says: a name as it is, a literal in quotes."""
    return {
        quote_literal(n) if isinstance(n, Literal) else str(n): i for i, n in enumerate(entities)
    }


def _entities(values: list[Any], entities: Vocabulary) -> Array:
    names = _by_text(entities)
    try:
        return np.array([names[str(v)] for v in values], dtype=np.int64)
    except KeyError as error:
        raise UnknownNameError("entity", error.args[0], names, list_known=False) from None
