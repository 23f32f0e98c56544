"""Fingerprints: hashes of content that do not depend on ids or on order."""

import hashlib
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from hyperfact.graph.columns import Columns
from hyperfact.graph.facts import Literal
from hyperfact.graph.ragged import Array, Hashes, mix

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


def fact_hashes(c: Columns, entities: Words, relations: Words) -> Words:
    """Two words of each fact."""
    return np.stack([_fact_lane(c, entities, relations, lane) for lane in (0, 1)], axis=1)


def _fact_lane(c: Columns, entities: Words, relations: Words, lane: int) -> Hashes:
    e, r = entities[:, lane], relations[:, lane]
    salt = 100 * (lane + 1)
    pairs = mix(mix(r[c.attributes], salt) + e[c.values], salt + 1)
    sums = np.zeros(len(pairs) + 1, dtype=np.uint64)
    np.cumsum(pairs, out=sums[1:])
    total = sums[c.offsets[1:]] - sums[c.offsets[:-1]]
    for column, place in ((e[c.subject], 2), (r[c.relation], 3), (e[c.object], 4)):
        total = mix(total, salt + place) + mix(column, salt + place)
    return mix(total, salt)


def digest_of(title: str, blocks: Sequence[Words]) -> str:
    """SHA-256 of a title and of blocks of words, each in rising order."""
    total = hashlib.sha256(title.encode())
    for words in blocks:
        block = words[rising(words)].astype("<u8").tobytes()
        total.update(len(block).to_bytes(8, "little") + block)
    return total.hexdigest()


def rising(words: Words) -> Array:
    """The rising order of rows; the second word is looked at only where the first ones tie."""
    order: Array = np.argsort(words[:, 0])
    first = words[order, 0]
    if (first[1:] == first[:-1]).any():
        return np.lexsort((words[:, 1], words[:, 0]))
    return order
