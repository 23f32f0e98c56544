"""Hashes of what surrounds a mediator: the content that names it, orders it and compares it."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hyperfact.facts import Literal
from hyperfact.ragged import Array, Hashes, mix

Words = NDArray[np.uint64]  # (rows, 2): two independent 64-bit hashes a row


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


def name_hashes(names: Iterable[str]) -> Words:
    """Two words of each name; a literal never shares them with the entity of the same text."""
    digests = b"".join(
        hashlib.blake2b(
            name.encode("utf-8", "surrogatepass"),
            digest_size=16,
            person=b"literal" if isinstance(name, Literal) else b"name",
        ).digest()
        for name in names
    )
    return np.frombuffer(digests, dtype="<u8").reshape(-1, 2)  # (names, 2)


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
    total = hashlib.sha256(f"hyperfact edges 1 {title}".encode())
    for words in (entities, relations, mediators, np.stack(lanes, axis=1)):
        block = words[_order(words)].astype("<u8").tobytes()
        total.update(len(block).to_bytes(8, "little") + block)
    return total.hexdigest()


def _order(words: Words) -> Array:
    """The rising order of rows; the second word is looked at only where the first ones tie."""
    order: Array = np.argsort(words[:, 0])
    first = words[order, 0]
    if (first[1:] == first[:-1]).any():
        return np.lexsort((words[:, 1], words[:, 0]))
    return order
