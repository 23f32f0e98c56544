"""Hashes of what surrounds a mediator: the content that names it, orders it and compares it."""

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hyperfact.facts import Literal
from hyperfact.ragged import Array, Hashes, mix

if TYPE_CHECKING:
    from hyperfact.kg import KG

Words = NDArray[np.uint64]  # (rows, 2): two independent 64-bit hashes a row


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


def id_hashes(kg: "KG") -> tuple[Words, Words]:
    """Two words of each entity id and each relation id: quicker, and enough to compare."""
    sides = (np.arange(kg.num_entities), np.arange(len(kg.relations)))
    entities, relations = (np.stack([mix(ids, 1), mix(ids, 2)], axis=1) for ids in sides)
    return entities, relations


def star_hashes(kg: "KG", entities: Words, relations: Words) -> Words:
    """Two words for the edges of each mediator; a neighbour that is a mediator counts as such."""
    nodes = np.concatenate([entities, np.zeros((kg.num_mediators, 2), dtype=np.uint64)])
    lanes = [_star_lane(kg, nodes[:, lane], relations[:, lane], lane) for lane in (0, 1)]
    return np.stack(lanes, axis=1)  # (mediators, 2)


def _star_lane(kg: "KG", nodes: Hashes, relations: Hashes, lane: int) -> Hashes:
    label = _labels(kg, relations, lane)
    total = np.zeros(kg.num_nodes, dtype=np.uint64)
    for here, there, salt in ((kg.source, kg.target, 1), (kg.target, kg.source, 2)):
        at = np.flatnonzero(here >= kg.num_entities)
        np.add.at(total, here[at], mix(label[at] + mix(nodes[there[at]], salt), lane + 10))
    return mix(total[kg.num_entities :], lane + 20)


def _labels(kg: "KG", relations: Hashes, lane: int) -> Hashes:
    """A hash of the kind, place and relation of each edge."""
    tags: Array = kg.kind.astype(np.int64) + 16 * kg.place.astype(np.int64)
    return mix(relations[kg.relation] + mix(tags, 100 + lane), 200 + lane)


def digest(kg: "KG", mediators: Words) -> str:
    """SHA-256 of the names and the sorted edges, mediators by content."""
    entities, relations = name_hashes(kg.entities), name_hashes(kg.relations)
    nodes = np.concatenate([entities, mediators])
    lanes = []
    for lane in (0, 1):
        ends = mix(nodes[kg.source, lane], 3) + mix(nodes[kg.target, lane], 4)
        lanes.append(mix(_labels(kg, relations[:, lane], lane) + ends, 5 + lane))
    title = f"hyperfact edges 1 {kg.transformation} {kg.mode}"
    total = hashlib.sha256(title.encode())
    for words in (entities, relations, mediators, np.stack(lanes, axis=1)):
        order = np.lexsort((words[:, 1], words[:, 0]))
        block = words[order].astype("<u8").tobytes()
        total.update(len(block).to_bytes(8, "little") + block)
    return total.hexdigest()
