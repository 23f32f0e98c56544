"""In how many facts each name stands."""

import numpy as np

from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.labels import Kind
from hyperfact.graph.ragged import Array, owners_of


def fact_counts(splits: Splits) -> dict[Kind, Array]:
    """For every entity and every relation, attributes included, over all splits."""
    sizes: dict[Kind, int] = {"entity": len(splits.entities), "relation": len(splits.relations)}
    return {
        kind: sum(
            (_facts_of_each(part, kind, size) for part in splits.values()),
            start=np.zeros(size, dtype=np.int64),
        )
        for kind, size in sizes.items()
    }


def _facts_of_each(graph: HKG, kind: Kind, size: int) -> Array:  # (size,)
    """In how many facts each id stands; a fact counts once, however often it holds the id."""
    c = graph.columns
    here, inside = (
        ([c.subject, c.object], c.values) if kind == "entity" else ([c.relation], c.attributes)
    )
    rows = [np.arange(len(graph))] * len(here)
    row = np.concatenate([*rows, owners_of(c.offsets)])
    codes = np.unique(row * size + np.concatenate([*here, inside]))
    counts: Array = np.bincount(codes % size, minlength=size)
    return counts
