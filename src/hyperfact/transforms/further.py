"""The edges that further facts bring to a transformed graph, without transforming it again.

For transformations in which the edges of a fact depend on facts with the same primary triple only.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hyperfact.graph.hkg import HKG
from hyperfact.graph.joining import Joined
from hyperfact.graph.kg import KG
from hyperfact.graph.ragged import Array

#: Transformations of this kind; in a clique, facts of other triples share edges.
LOCAL = ("equivalent", "no_distinction", "plain")


@dataclass(frozen=True)
class FurtherEdges:
    """Edges that were not there; a node beyond the entities is a mediator that was not there."""

    source: Array  # (edges,)
    type: Array  # (edges,) as `KG.edge_type`
    target: Array  # (edges,)
    mediator_relation: Array  # (new mediators,)


def further_edges(joined: Joined, transform: Callable[[HKG], KG]) -> FurtherEdges:
    """What the added facts bring.

    Args:
        joined: The facts that were transformed, and the added ones.
        transform: One of `LOCAL`.
    """
    c, added = joined.graph.columns, joined.added.columns
    near = np.isin(c.subject[: joined.known], added.subject)
    near &= np.isin(c.object[: joined.known], added.object)
    near &= np.isin(c.relation[: joined.known], added.relation)
    old = np.flatnonzero(near)
    rows = np.concatenate([old, np.arange(joined.known, len(c))])
    before, after = (_edges(joined.graph, some, transform) for some in (old, rows))
    known = set(map(tuple, before.tolist()))
    new = np.array([e for e in after.tolist() if tuple(e) not in known], dtype=np.int64)
    source, kind, target = new.reshape(-1, 3).T
    entities = len(joined.entities)
    facts = np.unique(source[source >= entities])  # only mediators send and never receive
    source = np.where(source < entities, source, entities + np.searchsorted(facts, source))
    return FurtherEdges(source, kind, target, c.relation[facts - entities].astype(np.int64))


def _edges(graph: HKG, rows: Array, transform: Callable[[HKG], KG]) -> Array:  # (edges, 3)
    """Source, type and target; the mediator of a fact has the number of its row, after entities."""
    kg, entities = transform(graph.select(rows)), len(graph.entities)
    node = np.concatenate([np.arange(entities), entities + rows[kg.mediator_fact]])
    return np.stack([node[kg.source], kg.edge_type, node[kg.target]], axis=1)
