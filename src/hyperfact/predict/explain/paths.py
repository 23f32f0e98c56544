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
from hyperfact.graph.labels import Labels
from hyperfact.graph.queries import BLANK_ID
from hyperfact.graph.ragged import Array, places_of
from hyperfact.predict.predictor import Predictor
from hyperfact.predict.questions import QuestionIds

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

    def as_dict(self, labels: Labels) -> dict[str, Any]:
        """For JSON."""
        return {
            "from": self.steps[0].start,
            "to": self.steps[-1].end,
            "through": [step.end for step in self.steps[:-1]],
            "facts": [str(step.fact) for step in self.steps],
            "labels": [labels.fact(step.fact) for step in self.steps],
        }


def paths_of(predictor: Predictor, ids: QuestionIds, answer: int, count: int) -> tuple[Path, ...]:
    """The most telling paths from the known entities to the answer; none for relations."""
    if ids.is_relation:
        return ()
    train = predictor.knowledge.train
    own = predictor.knowledge.row_of(ids.filled(answer))  # the fact itself is no path
    known = [e for e in dict.fromkeys(ids.entities) if e not in (BLANK_ID, answer)]
    short = [path for e in known for path in _direct(train, e, answer, own)]
    long = (path for e in known for path in islice(_indirect(train, e, answer, own), count))
    ranked = sorted(long, key=lambda pair: pair[0])
    return tuple([*short, *(path for _, path in ranked)][:count])


def _direct(train: HKG, start: int, end: int, own: int) -> Iterator[Path]:
    rows = np.intersect1d(train.rows_of_entity(start), train.rows_of_entity(end))
    for row in rows[rows != own].tolist():
        yield Path((Step(train.entities[start], train[row], train.entities[end]),))


def _indirect(train: HKG, start: int, end: int, own: int) -> Iterator[tuple[int, Path]]:
    """Paths of two steps with the number of facts of the entity between, rising."""
    here, there = (train.rows_of_entity(e)[:_MOST] for e in (start, end))
    here, there = here[here != own], there[there != own]
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


def _members(train: HKG, rows: Array) -> tuple[Array, Array]:
    """The entities of these facts, and the row that each stands in."""
    c = train.columns
    values = c.values[places_of(c.offsets, rows)]
    owners = np.repeat(rows, train.num_qualifiers[rows])
    return (
        np.concatenate([c.subject[rows], c.object[rows], values]),
        np.concatenate([rows, rows, owners]),
    )


def _degrees(train: HKG, entities: Array) -> Array:  # (entities,)
    """How many slots each entity fills."""
    c = train.columns
    ids = np.concatenate([c.subject, c.object, c.values])
    counts: Array = np.bincount(ids, minlength=len(train.entities))[entities]
    return counts
