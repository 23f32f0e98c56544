"""EdgeIndex: the edges of a graph, ordered for the kernels.

Forward passes read edges by target, backward passes by source, relation-wise matrices by relation.
Each order is made on first use by a counting sort. Weights stay aligned with the edge ids, so that
hiding edges for one training step is a change of some weights and never of the index.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from hyperfact.errors import DataError
from hyperfact.kernels.jit import Array, kernel
from hyperfact.kernels.threads import parallel_rows, ragged_bounds

Ids = NDArray[np.int32]
_MAX_PARTS = 16  # partial sums per relation in a backward pass: parallel, yet small


class Grouping(NamedTuple):
    """Edges in the order of one column: those of group g are `offsets[g]` to `offsets[g + 1]`."""

    offsets: NDArray[np.int64]  # (groups + 1,)
    edges: Ids  # (edges,) ids in the order given by the user
    first: Ids  # (edges,) the next of the other two columns, in the order source, target, relation
    second: Ids  # (edges,) the last of them


class Pairs(NamedTuple):
    """Distinct (relation, target) pairs, by relation; a pair's edges lie between its offsets."""

    relation_offsets: NDArray[np.int64]  # (relations + 1,) into the pairs
    target: Ids  # (pairs,)
    offsets: NDArray[np.int64]  # (pairs + 1,) into the edges
    edges: Ids  # (edges,)
    source: Ids  # (edges,)


@dataclass(frozen=True, eq=False)
class EdgeIndex:
    """Directed edges (source, relation, target); make it with `EdgeIndex.build`.

    Who receives may be of another kind than who sends, with numbers of its own: a relation that
    hears the entities of its edges, a fact that hears its values.
    """

    num_nodes: int
    num_relations: int
    source: Ids  # (edges,)
    relation: Ids  # (edges,)
    target: Ids  # (edges,)
    num_targets: int  # who can receive; of a graph its nodes

    @classmethod
    def build(
        cls,
        source: ArrayLike,
        relation: ArrayLike,
        target: ArrayLike,
        *,
        num_nodes: int,
        num_relations: int,
        num_targets: int | None = None,
    ) -> "EdgeIndex":
        """Check the ids, which kernels trust, and store them; by default nodes send and receive.

        Raises:
            DataError: Columns of different length, or an id outside its range.
        """
        num_targets = num_nodes if num_targets is None else num_targets
        columns = (
            _ids(source, num_nodes, "source"),
            _ids(relation, num_relations, "relation"),
            _ids(target, num_targets, "target"),
        )
        if len({len(column) for column in columns}) > 1:
            lengths = ", ".join(str(len(column)) for column in columns)
            raise DataError(f"edges need three columns of equal length, got {lengths}")
        return cls(num_nodes, num_relations, *columns, num_targets)

    def __len__(self) -> int:
        return len(self.source)

    def __repr__(self) -> str:
        return (
            f"EdgeIndex(nodes={self.num_nodes}, relations={self.num_relations}, edges={len(self)})"
        )

    @cached_property
    def by_target(self) -> Grouping:
        """Who sends to a node: `first` is the source, `second` the relation."""
        return _group(self.target, self.num_targets, self.source, self.relation)

    @cached_property
    def by_source(self) -> Grouping:
        """Whom a node sends to: `first` is the target, `second` the relation."""
        return _group(self.source, self.num_nodes, self.target, self.relation)

    @cached_property
    def by_relation(self) -> Grouping:
        """Which edges carry a relation: `first` is the source, `second` the target."""
        return _group(self.relation, self.num_relations, self.source, self.target)

    @cached_property
    def pairs(self) -> Pairs:
        """What a node receives over one relation, for matrices that belong to relations."""
        order = self.by_target.edges
        relation = self.relation[order]
        starts = _starts(relation, self.num_relations)
        edges = order[_counting_sort(relation, starts)]  # by relation, then by target
        relation, target = self.relation[edges], self.target[edges]
        new = np.ones(len(edges), dtype=np.bool_)
        new[1:] = (np.diff(relation) != 0) | (np.diff(target) != 0)
        first = np.flatnonzero(new)
        return Pairs(
            relation_offsets=np.searchsorted(first, starts),
            target=target[first],
            offsets=np.append(first, len(edges)),
            edges=edges,
            source=self.source[edges],
        )

    @cached_property
    def reversed(self) -> "EdgeIndex":
        """The same edges and ids with source and target exchanged; shares every array."""
        columns = self.target, self.relation, self.source
        other = EdgeIndex(self.num_targets, self.num_relations, *columns, self.num_nodes)
        other.__dict__.update(
            by_target=self.by_source, by_source=self.by_target, reversed=self
        )  # cached properties
        return other

    @cached_property
    def source_parts(self) -> NDArray[np.int64]:
        """Bounds of source ranges whose gradients of relations are summed apart, then combined.

        The graph alone decides them, so that a sum has the same bits on any number of threads.
        """
        share = len(self) // max(1, 8 * self.num_relations)  # so that the sums cost little
        parts = 1 if len(self) < 4096 else min(_MAX_PARTS, max(2, share))
        return ragged_bounds(self.by_source.offsets, pieces=parts)

    def degrees(self, keep: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Count received and sent edges of each node, of all edges or of those to `keep`.

        Args:
            keep: Which edges count.  # (edges,) bool

        Returns:
            Received and sent edges.  # (nodes,) int64, (nodes,) int64
        """
        if keep is None:
            return tuple(  # type: ignore[return-value]  # mypy sees a tuple of any length
                torch.from_numpy(np.diff(side.offsets)) for side in (self.by_target, self.by_source)
            )
        kept = keep.cpu().numpy()
        if kept.shape != (len(self),) or kept.dtype != np.bool_:
            raise DataError(f"keep must be ({len(self)},) bool, got {kept.shape} {kept.dtype}")
        return _kept_degrees(self.by_target, kept), _kept_degrees(self.by_source, kept)

    def columns(self, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
        """Source, relation and target as index tensors, for the plain PyTorch path."""
        cache: dict[str, tuple[Tensor, Tensor, Tensor]]
        cache = self.__dict__.setdefault("_columns", {})
        if str(device) not in cache:
            source, relation, target = (
                torch.from_numpy(column.astype(np.int64)).to(device)
                for column in (self.source, self.relation, self.target)
            )
            cache[str(device)] = (source, relation, target)
        return cache[str(device)]


def _ids(column: ArrayLike, limit: int, name: str) -> Ids:
    ids = np.asarray(column)
    if ids.ndim != 1 or (ids.size and not np.issubdtype(ids.dtype, np.integer)):
        raise DataError(f"{name} must be one column of integers, got {ids.dtype} {ids.shape}")
    if limit > np.iinfo(np.int32).max:
        raise DataError(f"{name}: at most {np.iinfo(np.int32).max} ids fit, got {limit}")
    if ids.size and not 0 <= ids.min() <= ids.max() < limit:
        raise DataError(f"{name} ids must be in 0..{limit - 1}, got {ids.min()}..{ids.max()}")
    return np.ascontiguousarray(ids, dtype=np.int32)


def _group(key: Ids, groups: int, first: Ids, second: Ids) -> Grouping:
    offsets = _starts(key, groups)
    edges = _counting_sort(key, offsets)
    return Grouping(offsets, edges, first[edges], second[edges])


def _starts(key: Ids, groups: int) -> NDArray[np.int64]:
    offsets = np.zeros(groups + 1, dtype=np.int64)
    np.cumsum(np.bincount(key, minlength=groups), out=offsets[1:])
    return offsets


def _kept_degrees(side: Grouping, keep: Array) -> Tensor:
    counts = np.empty(len(side.offsets) - 1, dtype=np.int64)
    parallel_rows(
        lambda low, high: _count_kept(side, keep, counts, low, high),
        ragged_bounds(side.offsets),
    )
    return torch.from_numpy(counts)


@kernel
def _counting_sort(key: Ids, starts: NDArray[np.int64]) -> Ids:
    """Positions of `key` in its stable order."""
    place, order = starts.copy(), np.empty(len(key), dtype=np.int32)
    for position in range(len(key)):
        order[place[key[position]]] = position
        place[key[position]] += 1
    return order


@kernel
def _count_kept(side: Grouping, keep: Array, counts: Array, low: int, high: int) -> None:
    for node in range(low, high):
        count = 0
        for j in range(side.offsets[node], side.offsets[node + 1]):
            count += keep[side.edges[j]]
        counts[node] = count
