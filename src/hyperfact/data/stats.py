"""Numbers that describe a dataset: sizes, arities, qualifiers, degrees."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from hyperfact.graph.facts import Literal
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.queries import Queries


@dataclass(frozen=True)
class SplitStats:
    """The numbers of one split."""

    name: str
    facts: int
    qualified: int
    qualifiers: int
    max_arity: int
    arities: Mapping[int, int]  # arity -> facts
    qualified_share: float


@dataclass(frozen=True)
class Degree:
    """In how many slots of facts an entity stands, over all splits."""

    median: float
    mean: float
    max: int
    top: str  # the entity with the most


@dataclass(frozen=True)
class Stats:
    """The numbers of a dataset."""

    name: str
    entities: int
    literals: int
    relations: int
    primary_relations: int
    attributes: int
    splits: tuple[SplitStats, ...]
    degree: Degree

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def stats_of(splits: Splits) -> Stats:
    """Describe a dataset."""
    everything = splits.all.columns
    return Stats(
        name=splits.name,
        entities=len(splits.entities),
        literals=sum(isinstance(name, Literal) for name in splits.entities),
        relations=len(splits.relations),
        primary_relations=len(np.unique(everything.relation)),
        attributes=len(np.unique(everything.attributes)),
        splits=tuple(_split(name, part) for name, part in splits.items()),
        degree=_degree(splits.all),
    )


def _split(name: str, part: HKG) -> SplitStats:
    arities, counts = np.unique(part.arity, return_counts=True)
    qualified = int((part.num_qualifiers > 0).sum())
    return SplitStats(
        name=name,
        facts=len(part),
        qualified=qualified,
        qualifiers=int(part.num_qualifiers.sum()),
        max_arity=int(arities.max(initial=0)),
        arities=dict(zip(arities.tolist(), counts.tolist(), strict=True)),
        qualified_share=qualified / len(part) if len(part) else 0.0,
    )


def _degree(graph: HKG) -> Degree:
    degree = np.bincount(Queries.of(graph).answer, minlength=len(graph.entities))
    if not len(degree):
        return Degree(0.0, 0.0, 0, "")
    top = int(degree.argmax())
    return Degree(
        float(np.median(degree)), float(degree.mean()), int(degree[top]), str(graph.entities[top])
    )
