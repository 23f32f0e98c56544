"""Hashes of what surrounds a mediator: the content that names it, orders it and compares it."""

from dataclasses import dataclass

import numpy as np

from hyperfact.graph.fingerprints import Words, digest_of
from hyperfact.graph.ragged import Array, Hashes, mix


@dataclass(frozen=True)
class Edges:
    """The columns of a graph, and how many of its nodes are entities; the others are mediators."""

    source: Array  # (edges,)
    relation: Array  # (edges,)
    target: Array  # (edges,)
    kind: Array  # (edges,)
    place: Array  # (edges,)
    num_entities: int
    num_mediators: int


def id_hashes(count: int) -> Words:
    """Two words of each id: quicker than names, and enough to compare."""
    ids = np.arange(count)
    return np.stack([mix(ids, 1), mix(ids, 2)], axis=1)  # (ids, 2)


def star_hashes(edges: Edges, entities: Words, relations: Words) -> Words:
    """Two words for the edges of each mediator; a neighbour that is a mediator counts as such."""
    nodes = np.concatenate([entities, np.zeros((edges.num_mediators, 2), dtype=np.uint64)])
    lanes = [_star_lane(edges, nodes[:, lane], relations[:, lane], lane) for lane in (0, 1)]
    return np.stack(lanes, axis=1)  # (mediators, 2)


def _star_lane(edges: Edges, nodes: Hashes, relations: Hashes, lane: int) -> Hashes:
    label = _labels(edges, relations, lane)
    total = np.zeros(len(nodes), dtype=np.uint64)
    for here, there, salt in ((edges.source, edges.target, 1), (edges.target, edges.source, 2)):
        at = np.flatnonzero(here >= edges.num_entities)
        np.add.at(total, here[at], mix(label[at] + mix(nodes[there[at]], salt), lane + 10))
    return mix(total[edges.num_entities :], lane + 20)


def _labels(edges: Edges, relations: Hashes, lane: int) -> Hashes:
    """A hash of the kind, place and relation of each edge."""
    tags: Array = edges.kind.astype(np.int64) + 16 * edges.place.astype(np.int64)
    return mix(relations[edges.relation] + mix(tags, 100 + lane), 200 + lane)


def digest(edges: Edges, title: str, entities: Words, relations: Words) -> str:
    """SHA-256 of a title, the names and the sorted edges, mediators by content."""
    mediators = star_hashes(edges, entities, relations)
    nodes = np.concatenate([entities, mediators])
    lanes = []
    for lane in (0, 1):
        ends = mix(nodes[edges.source, lane], 3) + mix(nodes[edges.target, lane], 4)
        lanes.append(mix(_labels(edges, relations[:, lane], lane) + ends, 5 + lane))
    blocks = (entities, relations, mediators, np.stack(lanes, axis=1))
    return digest_of(f"hyperfact edges 1 {title}", blocks)
