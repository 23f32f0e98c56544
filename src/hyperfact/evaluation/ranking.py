"""Count the rivals of every answer: identical queries scored once, candidates in pieces."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

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
from hyperfact.models.shard import Shard

#: Scores of these candidates in the asked slot of each fact.  # (batch, candidates)
Scorer = Callable[[FactBatch, Tensor, slice], Tensor]

CHUNK = 340 * 192  # candidates scored by one call; whole blocks of a matrix product
_CELLS = 2**25  # scores that exist at once: 128 MB in float32


@dataclass(frozen=True)
class Limits:
    """How much is scored at once, and by whom; changes memory and time, not the result."""

    batch_size: int = 1024  # queries, at most
    chunk: int = CHUNK  # candidates
    shard: Shard | None = None  # who else scores; None: nobody

    def rows(self, candidates: int) -> int:
        """Queries whose scores fit."""
        return max(1, min(self.batch_size, _CELLS // max(1, candidates)))

    def columns(self, candidates: int) -> slice:
        """Who is scored here."""
        return slice(0, candidates) if self.shard is None else self.shard.rows(candidates)


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
    given, queries = asked.columns, asked.queries
    groups = group(asked.table())
    examples = queries.take(groups.first)
    offsets, filtered = known.of(given, examples)
    order = np.argsort(np.diff(given.offsets)[examples.fact], kind="stable")  # less padding
    rows, columns = limits.rows(len(graph.entities)), limits.columns(len(graph.entities))
    result = Rivals.none(len(queries))
    for start in range(0, len(order), rows):
        part = order[start : start + rows]
        some = examples.take(part)
        slots = torch.from_numpy(some.slot.astype(np.int64))
        facts = FactBatch.of_columns(given, some.fact)
        scores = score_all(score, facts, slots, columns, limits.chunk)
        members, row = members_of(groups, part)
        mine = offsets_of(offsets[part + 1] - offsets[part]), filtered[places_of(offsets, part)]
        starts, silent = without(mine, outsiders)
        counts = offsets_of(starts[row + 1] - starts[row])
        wanted = Wanted(row, queries.answer[members], counts, silent[places_of(starts, row)])
        found, finite = _count(scores, wanted, len(graph.entities), limits)
        if not finite.all():
            raise NumericalError(_complaint(graph, asked, int(members[~finite][0])))
        result.put(members, found)
    return result


def score_all(
    score: Scorer, facts: FactBatch, slots: Tensor, columns: slice, chunk: int
) -> Tensor:  # (batch, columns)
    """Scores of a range of entities, piece by piece.

    All pieces are equally wide, the last one overlapping the one before it: products of another
    width may be summed in another order, and a tie across two pieces would not be one.
    """
    first, width = columns.start, columns.stop - columns.start
    if chunk >= width:
        return score(facts, slots, columns)
    whole: Tensor | None = None
    for begin in range(0, width, chunk):
        start = min(begin, width - chunk)
        piece = score(facts, slots, slice(first + start, first + start + chunk))
        whole = piece.new_empty(len(facts), width) if whole is None else whole
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


class Wanted(NamedTuple):
    """Answers to be ranked: where they stand, and who does not compete with each."""

    row: Places  # (answers,) of the scores
    answer: Ids  # (answers,)
    offsets: Places  # (answers + 1,) into the filtered
    filtered: Ids

    def within(self, columns: slice) -> "Wanted":
        """As whoever holds these columns only sees it: numbered from their first, -1 elsewhere."""
        low, high = columns.start, columns.stop
        here, stays = ((low <= ids) & (ids < high) for ids in (self.answer, self.filtered))
        counts = np.bincount(owners_of(self.offsets)[stays], minlength=len(self.row))
        answer = np.where(here, self.answer.astype(np.int64) - low, -1)
        return Wanted(self.row, answer, offsets_of(counts), self.filtered[stays] - low)


def _count(scores: Tensor, wanted: Wanted, entities: int, limits: Limits) -> tuple[Rivals, Array]:
    """Rivals, and whether all scores of the row are finite."""
    seen = wanted.within(limits.columns(entities))
    row, answer, offsets, filtered = (torch.from_numpy(c.astype(np.int64)) for c in seen)
    held = _held(scores, row, answer, limits.shard)
    counts = count_rivals(
        scores, answer, offsets=offsets, filtered=filtered, rows=row, held=held.to(scores)
    )
    found = torch.stack([counts.greater, counts.equal, 1 - counts.finite.long()])
    if limits.shard is not None:
        found = limits.shard.sum(found)
    greater, equal, unusable = found.cpu().numpy()
    others = wanted.filtered != np.repeat(wanted.answer, np.diff(wanted.offsets))
    silent = np.bincount(owners_of(wanted.offsets)[others], minlength=len(wanted.row))
    return Rivals(greater, equal, entities - silent, held.cpu().numpy()), unusable == 0


def _held(
    scores: Tensor, row: Tensor, answer: Tensor, shard: Shard | None
) -> Tensor:  # (answers,) float64
    """The scores of the answers, each told by who has its column."""
    row, answer = row.to(scores.device), answer.to(scores.device)
    if not scores.shape[1]:
        held = scores.new_zeros(len(row)).double()
    else:
        found = scores.flatten().index_select(0, row * scores.shape[1] + answer.clamp(min=0))
        held = torch.where(answer >= 0, found.double(), 0.0)
    return held if shard is None else shard.sum(held)


def _complaint(graph: HKG, asked: PartialQueries, at: int) -> str:
    fact = HKG.from_columns(graph.entities, graph.relations, asked.columns.take(np.array([at])))[0]
    slot = Slot(int(asked.queries.slot[at]))
    return f"a score of the slot {slot} of the fact '{fact}' is not a finite number"
