"""How training facts link what a question says with its answer, over one fact or two.

A fact (and its mediator in the encoder's graph) joins all of its entities. One step: a training
fact that holds a known entity and the answer. Two steps: two facts that share an entity between.
Links through entities with few facts say more, and come first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import BLANK_ID
from hyperfact.graph.ragged import Array, owners_of, places_of
from hyperfact.predict.predictor import Predictor
from hyperfact.predict.questions import Asked

_MOST = 2000  # facts of one entity that are looked at; a hub links everything, which says nothing


@dataclass(frozen=True)
class Step:
    """From one entity to another through a training fact."""

    start: str
    fact: Fact
    end: str


@dataclass(frozen=True)
class Path:
    """One or two steps from a known entity to the answer."""

    steps: tuple[Step, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "from": self.steps[0].start,
            "to": self.steps[-1].end,
            "through": [step.end for step in self.steps[:-1]],
            "facts": [str(step.fact) for step in self.steps],
        }


def paths_of(predictor: Predictor, asked: Asked, answer: int, count: int) -> tuple[Path, ...]:
    """The most telling paths from the known entities to the answer; none for relations."""
    if asked.is_relation:
        return ()
    train = predictor.knowledge.train
    whole = asked.filled(answer)
    known = [e for e in dict.fromkeys(asked.entities) if e not in (BLANK_ID, answer)]
    short = [path for e in known for path in _direct(train, e, answer, whole)]
    long = (path for e in known for path in islice(_indirect(train, e, answer, whole), count))
    ranked = sorted(long, key=lambda pair: pair[0])
    return tuple([*short, *(path for _, path in ranked)][:count])


def _direct(train: HKG, start: int, end: int, whole: Asked) -> Iterator[Path]:
    rows = np.intersect1d(train.rows_of_entity(start), train.rows_of_entity(end))
    for row in _others(train, rows, whole):
        yield Path((Step(train.entities[start], train[row], train.entities[end]),))


def _indirect(train: HKG, start: int, end: int, whole: Asked) -> Iterator[tuple[int, Path]]:
    """Paths of two steps with the number of facts of the entity between, rising."""
    here = _others(train, train.rows_of_entity(start)[:_MOST], whole)
    there = _others(train, train.rows_of_entity(end)[:_MOST], whole)
    entities_here, rows_here = _members(train, here)
    entities_there, rows_there = _members(train, there)
    between = np.intersect1d(entities_here, entities_there)
    between = between[~np.isin(between, (start, end))]
    degree = _degrees(train, between)
    for place in np.argsort(degree, kind="stable").tolist():
        middle = int(between[place])
        first = int(rows_here[entities_here == middle][0])
        second = int(rows_there[entities_there == middle][0])
        names = [train.entities[i] for i in (start, middle, end)]
        one, two = Step(names[0], train[first], names[1]), Step(names[1], train[second], names[2])
        if first != second:
            yield int(degree[place]), Path((one, two))


def _others(train: HKG, rows: Array, whole: Asked) -> list[int]:
    """Rows that are not the completed fact itself."""
    pairs = set(zip(whole.relations[1:], whole.entities[2:], strict=True))
    c, found = train.columns, []
    for row in rows.tolist():
        part = slice(c.offsets[row], c.offsets[row + 1])
        same = (c.subject[row], c.relation[row], c.object[row]) == (
            whole.entities[0],
            whole.relations[0],
            whole.entities[1],
        )
        these = set(zip(c.attributes[part].tolist(), c.values[part].tolist(), strict=True))
        if not (same and these == pairs):
            found.append(row)
    return found


def _members(train: HKG, rows: list[int]) -> tuple[Array, Array]:
    """The entities of these facts, and the row that each stands in."""
    c, at = train.columns, np.array(rows, dtype=np.int64)
    places = places_of(c.offsets, at)
    owner = at[owners_of(np.concatenate([[0], np.cumsum(np.diff(c.offsets)[at])]))]
    return (
        np.concatenate([c.subject[at], c.object[at], c.values[places]]),
        np.concatenate([at, at, owner]),
    )


def _degrees(train: HKG, entities: Array) -> Array:  # (entities,)
    """How many slots each entity fills."""
    c = train.columns
    ids = np.concatenate([c.subject, c.object, c.values])
    counts: Array = np.bincount(ids, minlength=len(train.entities))[entities]
    return counts
