"""Filtered ranking of every slot, and the metrics that follow from it (docs/adr/0004).

A query is a fact with one slot blank. All entities are candidates and nothing else is; every other
entity that completes a known fact is filtered; the score of the answer comes from the same matrix
as those of its rivals.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Literal

import numpy as np
import torch

from hyperfact.batches import FactBatch
from hyperfact.errors import DataError, NumericalError
from hyperfact.hkg import HKG
from hyperfact.kernels.ranking import count_rivals
from hyperfact.kg import Representations
from hyperfact.model import TransEQ
from hyperfact.queries import KnownAnswers, Queries
from hyperfact.ragged import Array, Groups, group, places_of

Ties = Literal["realistic", "optimistic", "pessimistic"]
_CELLS = 2**25  # scores that exist at once: 128 MB in float32


@dataclass(frozen=True)
class Policy:
    """What was asked and how it was ranked; part of every result."""

    ties: Ties = "realistic"
    slots: Literal["all", "so"] = "all"
    filter: str = "exact"  # every known fact that differs in the asked slot only
    candidates: str = "all entities"
    average: str = "micro"


@dataclass(frozen=True)
class Ranks:
    """One row for each ranked query."""

    fact: Array  # (queries,) row of the fact in its split
    slot: Array  # (queries,) 0 subject, 1 object, 2 + i the i-th value
    arity: Array  # (queries,) of the fact
    greater: Array  # (queries,) rivals with a higher score
    equal: Array  # (queries,) rivals with the same score
    candidates: int

    def __len__(self) -> int:
        return len(self.fact)

    def by(self, ties: Ties) -> Array:  # (queries,)
        """Ranks from 1: best, middle or worst place among equals."""
        share = {"optimistic": 0.0, "realistic": 0.5, "pessimistic": 1.0}[ties]
        return 1.0 + self.greater + share * self.equal

    def take(self, rows: Array) -> "Ranks":
        """These queries only."""
        columns = {f.name: getattr(self, f.name)[rows] for f in fields(self)[:-1]}
        return replace(self, **columns)


@dataclass(frozen=True)
class Metrics:
    """Averages over ranks."""

    mrr: float
    hits_at_1: float
    hits_at_3: float
    hits_at_10: float
    mean_rank: float
    ranks: int

    @classmethod
    def of(cls, ranks: Ranks, ties: Ties = "realistic") -> "Metrics":
        """Micro averages; each query counts once."""
        if not len(ranks):
            raise DataError("there is nothing to rank")
        places = ranks.by(ties)
        one, three, ten = (float((places <= k).mean()) for k in (1, 3, 10))
        mrr, mean = float((1.0 / places).mean()), float(places.mean())
        return cls(mrr, one, three, ten, mean, len(places))

    def as_dict(self) -> dict[str, float | int]:
        """By the names that commands print."""
        return {name.replace("hits_at_", "hits@"): value for name, value in asdict(self).items()}


@dataclass(frozen=True)
class Evaluation:
    """Ranks, what follows from them, and the policy that made them."""

    ranks: Ranks
    policy: Policy
    metrics: Metrics

    def by_arity(self) -> Mapping[int, Metrics]:
        """Metrics of the facts of each arity."""
        return {int(a): self._where(self.ranks.arity == a) for a in np.unique(self.ranks.arity)}

    def by_slot(self) -> Mapping[str, Metrics]:
        """Metrics of subjects, objects and values."""
        kind = np.minimum(self.ranks.slot, 2)
        names = ("subject", "object", "value")
        return {names[int(k)]: self._where(kind == k) for k in np.unique(kind)}

    def as_dict(self) -> dict[str, Any]:
        """Everything but the single ranks."""
        return {
            **self.metrics.as_dict(),
            "candidates": self.ranks.candidates,
            "policy": asdict(self.policy),
            "by_arity": {str(a): m.as_dict() for a, m in self.by_arity().items()},
            "by_slot": {s: m.as_dict() for s, m in self.by_slot().items()},
        }

    def _where(self, rows: Array) -> Metrics:
        return Metrics.of(self.ranks.take(rows), self.policy.ties)


def evaluate(
    model: TransEQ,
    graph: HKG,
    known: KnownAnswers,
    *,
    policy: Policy | None = None,
    batch_size: int = 1024,
    representations: Representations | None = None,
) -> Evaluation:
    """Rank the answer of every slot of every fact of `graph`.

    Args:
        model: Left as it was, also after an error.
        graph: The facts to ask about.
        known: Answers to filter, of all splits.
        policy: Ties and slots.
        batch_size: Queries scored at once, at most.
        representations: Of the model, if they exist already.

    Raises:
        NumericalError: A score that is not a finite number.
    """
    policy = policy or Policy()
    queries = Queries.of(graph)
    if policy.slots == "so":
        queries = queries.take(np.flatnonzero(queries.slot < 2))
    with evaluating(model):
        z = representations or model.encode()
        counts = _count_all(model, graph, queries, z, known=known, batch_size=batch_size)
    ranks = Ranks(
        queries.fact,
        queries.slot,
        graph.arity[queries.fact],
        counts[:, 0],
        counts[:, 1],
        len(z.entities),
    )
    return Evaluation(ranks, policy, Metrics.of(ranks, policy.ties))


@contextmanager
def evaluating(model: TransEQ) -> Iterator[None]:
    """Without gradients and in evaluation mode; whatever the mode was comes back."""
    modes = [(module, module.training) for module in model.modules()]
    try:
        with torch.no_grad():
            model.eval()
            yield
    finally:
        for module, training in modes:
            module.training = training


def _count_all(
    model: TransEQ,
    graph: HKG,
    queries: Queries,
    z: Representations,
    *,
    known: KnownAnswers,
    batch_size: int,
) -> Array:  # (queries, 2)
    """Rivals above and beside each answer; queries with the same known part are scored once."""
    table = queries.table(graph.columns)
    groups = group(table)
    keys = known.find(table.take(groups.first))
    rows = max(1, min(batch_size, _CELLS // max(1, len(z.entities))))
    counts = np.zeros((len(queries), 2), dtype=np.int64)
    width = graph.arity[queries.fact[groups.first]]
    order = np.argsort(width, kind="stable")  # facts of one arity together: less padding
    for start in range(0, len(order), rows):
        part = order[start : start + rows]
        members, found = _count_part(
            model, graph, queries, z, groups=groups, part=part, keys=keys, known=known
        )
        counts[members] = found
    return counts


def _count_part(
    model: TransEQ,
    graph: HKG,
    queries: Queries,
    z: Representations,
    *,
    groups: Groups,
    part: Array,
    keys: Array,
    known: KnownAnswers,
) -> tuple[Array, Array]:  # (members,), (members, 2)
    examples = queries.take(groups.first[part])
    facts = FactBatch.of(graph, examples.fact)
    slots = torch.from_numpy(examples.slot.astype(np.int64))
    scores = model.score_slot(facts, slots, z)  # (part, entities)
    sizes = groups.offsets[part + 1] - groups.offsets[part]
    members = groups.order[places_of(groups.offsets, part)]
    row = np.repeat(np.arange(len(part)), sizes)
    if len(row) > len(part):  # several answers of one query
        scores = scores.index_select(0, torch.from_numpy(row))
    offsets, filtered = known.at(keys[part][row])
    counts = count_rivals(
        scores,
        torch.from_numpy(queries.answer[members].astype(np.int64)),
        offsets=torch.from_numpy(offsets),
        filtered=torch.from_numpy(filtered.astype(np.int64)),
    )
    if not bool(counts.finite.all()):
        at = members[int(torch.nonzero(~counts.finite)[0, 0])]
        fact, slot = graph[int(queries.fact[at])], int(queries.slot[at])
        raise NumericalError(f"a score of slot {slot} of the fact '{fact}' is not a finite number")
    return members, np.stack([counts.greater.numpy(), counts.equal.numpy()], axis=1)
