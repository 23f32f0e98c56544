"""N3: a penalty on the size of vectors, of each as often as facts are asked about that have it.

A decay of weights is the same for all; this one weighs by how often an entity or relation is used,
as the loss does (Lacroix, Usunier, Obozinski: Canonical tensor decomposition for knowledge base
completion, ICML 2018).
"""

from torch import Tensor

from hyperfact.graph.batches import FactBatch
from hyperfact.models.representations import Representations, rows_of
from hyperfact.models.shard import Shard


def cubes(
    facts: FactBatch, slots: Tensor, z: Representations, *, dim: int, weights: Tensor | None
) -> Tensor:  # (batch,)
    """The sum of |x|³ over all coordinates of all vectors of each fact.

    Args:
        facts: As they are read by a decoder.
        slots: The asked slot of each.  # (batch,)
        z: Of which a step may have some coordinates only; then they stand for all.
        dim: How many there are in all.
        weights: What each fact weighs; None: 1.  # (batch,)
    """
    entities = (sizes(z.vectors(facts, slots)) * facts.mask).sum(dim=1)
    relations = (sizes(rows_of(z.relations, facts.relations)) * facts.relation_mask).sum(dim=1)
    found = (entities + relations) * (dim / z.entities.shape[1])
    return found if weights is None else found * weights.to(found)


def sizes(vectors: Tensor) -> Tensor:  # (…)
    """The sum of |x|³ over the coordinates."""
    return vectors.abs().pow(3).sum(dim=-1)


def counted_by_turns(values: Tensor, shard: Shard | None) -> Tensor:
    """The sum of what all shards compute alike, each fact counted by one of them."""
    return (values if shard is None else values[shard.turn(len(values))]).sum()
