"""Evaluation: ranks, what follows from them, and the policy that made them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from hyperfact.evaluation.bootstrap import (
    LEVEL,
    RESAMPLES,
    Interval,
    interval,
    resampled_means,
)
from hyperfact.evaluation.number_errors import NumberErrors
from hyperfact.evaluation.policy import Policy
from hyperfact.evaluation.ranks import HITS, Metrics, Ranks, mrr_by_ties
from hyperfact.evaluation.slices import NOT_SEEN, RankedQueries, slices_of
from hyperfact.graph.facts import Slot
from hyperfact.graph.frames import make_frame
from hyperfact.graph.hkg import HKG
from hyperfact.graph.queries import entity_at

#: A larger gap between the best and the worst place among equals deserves a warning.
TIE_GAP = 0.001


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Ranks with the facts they are about; every table is computed from them."""

    ranks: Ranks
    policy: Policy
    graph: HKG
    train: HKG | None = None  # for slices that compare with training facts
    candidates: int = 0  # entities that compete, known answers included
    skipped: int = 0  # queries left out because a fact holds an unseen entity
    support: int = 0  # facts beyond those of training that the model was shown
    hits: Sequence[int] = HITS
    beside: Mapping[str, Metrics] = field(default_factory=dict)  # other figures of the same facts
    numbers: NumberErrors | None = None  # of queries that are not ranked but estimated

    @cached_property
    def metrics(self) -> Metrics:
        """Over all ranks; each counts once."""
        return Metrics.of(self.ranks, self.policy.ties, hits=self.hits)

    @cached_property
    def ties(self) -> Mapping[str, float]:
        """MRR under each rule for ties, and its mean over random orders of equals."""
        return mrr_by_ties(self.ranks)

    @property
    def tie_gap(self) -> float:
        """By how much the rule for ties can change the MRR."""
        return self.ties["optimistic"] - self.ties["pessimistic"]

    @property
    def macro(self) -> Metrics:
        """The mean over primary relations; each relation counts once."""
        return Metrics.macro(list(self.by("relation").values()))

    @property
    def leak_free(self) -> Metrics | None:
        """Of facts whose primary triple training did not show; None where there are none."""
        return self.by("primary").get(NOT_SEEN)

    def by(self, name: str) -> Mapping[str, Metrics]:
        """Metrics of each slice: of slot, arity, relation, attribute, frequency or primary."""
        rows = slices_of(RankedQueries(self.ranks, self.graph, self.train), name)
        return {label: self._of(part) for label, part in rows.items()}

    def by_arity(self) -> Mapping[int, Metrics]:
        """Metrics of the facts of each arity."""
        return {int(label): found for label, found in self.by("arity").items()}

    def by_slot(self) -> Mapping[str, Metrics]:
        """Metrics of subjects, objects and values."""
        return self.by("slot")

    def intervals(
        self, *, level: float = LEVEL, resamples: int = RESAMPLES, seed: int = 0
    ) -> Mapping[str, Interval]:
        """Of MRR and of each Hits@k, by drawing facts again."""
        places = self.ranks.by(self.policy.ties)
        values = np.stack([1.0 / places, *(places <= k for k in self.hits)], axis=1)
        means = resampled_means(self.ranks.fact, values, resamples=resamples, seed=seed)
        names = ["mrr", *(f"hits@{k}" for k in self.hits)]
        return {name: interval(column, level) for name, column in zip(names, means.T, strict=True)}

    def as_dict(self) -> dict[str, Any]:
        """Everything but the single ranks."""
        free = self.leak_free
        return {
            **self.metrics.as_dict(),
            "candidates": self.candidates,
            "policy": asdict(self.policy),
            "skipped": self.skipped,
            "support": self.support,
            "tied": int((self.ranks.equal > 0).sum()),
            "mrr_by_ties": dict(self.ties),
            "intervals": {name: asdict(found) for name, found in self.intervals().items()},
            "leak_free": None if free is None else free.as_dict(),
            "beside": {name: found.as_dict() for name, found in self.beside.items()},
            "macro": {"over": "relations", **self.macro.as_dict()},
            "by_arity": {str(a): m.as_dict() for a, m in self.by_arity().items()},
            "by_slot": {s: m.as_dict() for s, m in self.by_slot().items()},
            **({} if self.numbers is None else {"numbers": self.numbers.as_dict()}),
        }

    def to_frame(self, kind: str | None = None) -> Any:
        """A row for each ranked query, by name: which fact, which slot, which answer, what rank."""
        asked, graph = self.ranks, self.graph
        facts = [graph[i] for i in asked.fact.tolist()]
        answers = entity_at(graph.columns, asked.fact, asked.slot).tolist()
        columns = {
            "fact": [str(fact) for fact in facts],
            "relation": [fact.relation for fact in facts],
            "slot": [str(Slot(slot)) for slot in asked.slot.tolist()],
            "answer": [graph.entities[i] for i in answers],
            "rank": asked.by(self.policy.ties),
            **{name: getattr(asked, name) for name in ("arity", "score", "candidates")},
        }
        return make_frame(columns, kind)

    def _of(self, rows: Any) -> Metrics:
        return Metrics.of(self.ranks.take(rows), self.policy.ties, hits=self.hits)

    def __repr__(self) -> str:
        m, how = self.metrics, self.policy.text(self.candidates)
        return f"Evaluation(MRR {m.mrr:.4f} over {m.ranks:,} ranks; {how})"
