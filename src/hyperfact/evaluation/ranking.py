"""Count the rivals of every answer: identical queries scored once, candidates in pieces."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from hyperfact.errors import NumericalError
from hyperfact.evaluation.background import Filter
from hyperfact.graph.batches import FactBatch
from hyperfact.graph.facts import Slot
from hyperfact.graph.hkg import HKG
from hyperfact.graph.partial import PartialQueries
from hyperfact.graph.ragged import (
    Array,
    Groups,
    Ids,
    Places,
    group,
    offsets_of,
    owners_of,
    places_of,
)
from hyperfact.kernels.rivals import count_rivals

#: Scores of these candidates in the asked slot of each fact.  # (batch, candidates)
Scorer = Callable[[FactBatch, Tensor, slice], Tensor]

CHUNK = 340 * 192  # candidates scored by one call; whole blocks of a matrix product
_CELLS = 2**25  # scores that exist at once: 128 MB in float32


@dataclass(frozen=True)
class Limits:
    """How much is scored at once; changes memory and time, not the result."""

    batch_size: int = 1024  # queries, at most
    chunk: int = CHUNK  # candidates

    def rows(self, candidates: int) -> int:
        """Queries whose scores fit."""
        return max(1, min(self.batch_size, _CELLS // max(1, candidates)))


@dataclass(frozen=True)
class Rivals:
    """What is counted for each query."""

    greater: Array  # (queries,) rivals with a higher score
    equal: Array  # (queries,) rivals with the same score
    candidates: Array  # (queries,) who competed, the answer included
    score: Array  # (queries,) of the answer

    @classmethod
    def none(cls, queries: int) -> "Rivals":
        """Room for so many queries."""
        greater, equal, candidates = np.zeros((3, queries), dtype=np.int64)
        return cls(greater, equal, candidates, np.zeros(queries))

    def put(self, rows: Array, found: "Rivals") -> None:
        """Fill in these queries."""
        for name in ("greater", "equal", "candidates", "score"):
            getattr(self, name)[rows] = getattr(found, name)


def count_all(
    score: Scorer,
    graph: HKG,
    asked: PartialQueries,
    *,
    known: Filter,
    outsiders: Ids,
    limits: Limits,
) -> Rivals:
    """The rivals of every answer.

    Args:
        score: Of candidates by range of ids; ids beyond the entities of `graph` are never asked.
        graph: Whose entities compete.
        asked: What is given and asked, with the answers.
        known: Who does not compete with whom.
        outsiders: Who competes with nobody.
        limits: How much at once.

    Raises:
        NumericalError: A score that is not a finite number, by its query.
    """
    columns, queries = asked.columns, asked.queries
    groups = group(asked.table())
    examples = queries.take(groups.first)
    offsets, filtered = without(known.of(columns, examples), outsiders)
    order = np.argsort(np.diff(columns.offsets)[examples.fact], kind="stable")  # less padding
    rows = limits.rows(len(graph.entities))
    result = Rivals.none(len(queries))
    for start in range(0, len(order), rows):
        part = order[start : start + rows]
        some = examples.take(part)
        slots = torch.from_numpy(some.slot.astype(np.int64))
        facts = FactBatch.of_columns(columns, some.fact)
        scores = score_all(score, facts, slots, len(graph.entities), limits.chunk)
        members, row = members_of(groups, part)
        own = part[row]  # the group of each member
        counts = offsets_of(offsets[own + 1] - offsets[own])
        silent = filtered[places_of(offsets, own)]
        found, finite = _count(scores, row, queries.answer[members], counts, silent)
        if not finite.all():
            raise NumericalError(_complaint(graph, asked, int(members[~finite][0])))
        result.put(members, found)
    return result


def score_all(
    score: Scorer, facts: FactBatch, slots: Tensor, entities: int, chunk: int
) -> Tensor:  # (batch, entities)
    """Scores of every entity, piece by piece.

    All pieces are equally wide, the last one overlapping the one before it: products of another
    width may be summed in another order, and a tie across two pieces would not be one.
    """
    if chunk >= entities:
        return score(facts, slots, slice(0, entities))
    whole: Tensor | None = None
    for begin in range(0, entities, chunk):
        start = min(begin, entities - chunk)
        piece = score(facts, slots, slice(start, start + chunk))
        whole = piece.new_empty(len(facts), entities) if whole is None else whole
        whole[:, start : start + chunk] = piece
    assert whole is not None
    return whole


def members_of(groups: Groups, part: Array) -> tuple[Places, Places]:
    """The queries of these groups, and for each the place of its group in `part`."""
    sizes = groups.offsets[part + 1] - groups.offsets[part]
    return groups.order[places_of(groups.offsets, part)], np.repeat(np.arange(len(part)), sizes)


def without(known: tuple[Places, Ids], outsiders: Ids) -> tuple[Places, Ids]:
    """The known answers of each query together with those who never compete, each once."""
    offsets, filtered = known
    if not len(outsiders):
        return offsets, filtered
    rows = len(offsets) - 1
    fresh = ~np.isin(filtered, outsiders)
    owner = np.concatenate([owners_of(offsets)[fresh], np.repeat(np.arange(rows), len(outsiders))])
    ids = np.concatenate([filtered[fresh], np.tile(outsiders, rows)])
    order = np.argsort(owner, kind="stable")
    return offsets_of(np.bincount(owner, minlength=rows)), ids[order]


def _count(
    scores: Tensor, row: Places, answers: Ids, offsets: Places, filtered: Ids
) -> tuple[Rivals, Array]:
    """Rivals, and whether all scores of the row are finite; `row` is that of each answer."""
    rows, targets = torch.from_numpy(row), torch.from_numpy(answers.astype(np.int64))
    counts = count_rivals(
        scores,
        targets,
        offsets=torch.from_numpy(offsets),
        filtered=torch.from_numpy(filtered.astype(np.int64)),
        rows=rows,
    )
    true = scores.flatten().index_select(0, rows * scores.shape[1] + targets)
    silent = np.bincount(
        owners_of(offsets)[filtered != np.repeat(answers, np.diff(offsets))], minlength=len(row)
    )
    rivals = Rivals(
        counts.greater.numpy(),
        counts.equal.numpy(),
        scores.shape[1] - silent,
        true.double().numpy(),
    )
    return rivals, counts.finite.numpy()


def _complaint(graph: HKG, asked: PartialQueries, at: int) -> str:
    fact = HKG.from_columns(graph.entities, graph.relations, asked.columns.take(np.array([at])))[0]
    slot = Slot(int(asked.queries.slot[at]))
    return f"a score of the slot {slot} of the fact '{fact}' is not a finite number"
