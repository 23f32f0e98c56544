"""Search among many names: by prefix, by the beginning of a word, and by likeness.

Names are folded (case, accents, compatibility forms) into one text. Likeness is found in two steps:
a count of shared pairs of characters over all names at once, then the exact ratio of difflib for
the best of them. So a look-up among 50,000 names takes milliseconds, where difflib alone takes more
than a second.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

_BREAK = "\n"  # around each folded name; no folded name holds it
_BUCKETS = 2**16
_BEST = 50  # names whose exact likeness is computed
_LONGEST = 256  # characters of a name that are compared
_HITS = 100_000  # places of a text that are looked at

Ids = NDArray[np.int64]


class NameIndex:
    """An index of names by how they read.

    Args:
        names: In the order of their ids.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._text = "".join(f"{_BREAK}{fold(name)}" for name in names) + _BREAK
        codes = _codes(self._text)
        breaks = np.flatnonzero(codes == ord(_BREAK))
        self._starts = breaks[:-1]  # of a name with the break before it
        self._sizes = np.diff(breaks)  # so a name has as many pairs, the last with the next break
        self._pairs = _pairs(codes)
        self._owners = np.repeat(np.arange(len(self._starts), dtype=np.int32), self._sizes)

    def __len__(self) -> int:
        return len(self._starts)

    def search(self, text: str, limit: int, *, weights: Sequence[int] | Ids) -> list[int]:
        """Ids of names: equal ones, those that begin so, with such a word, and alike ones.

        Args:
            text: What was typed; nothing finds the heaviest names.
            limit: How many at most.
            weights: Of each name; among names that fit equally well the heavier come first.
        """
        weight = np.asarray(weights)
        found: dict[int, None] = {}
        for ids in self._groups(fold(text)):
            order = np.argsort(-weight[ids], kind="stable")
            found.update(dict.fromkeys(ids[order][: limit + len(found)].tolist()))
            if len(found) >= limit:
                return list(found)[:limit]
        alike = [i for _, i in self.alike(text)]
        found.update(dict.fromkeys(alike))
        return list(found)[:limit]

    def nearest(self, text: str, cutoff: float = 0.6) -> int | None:
        """The id of the name that was most likely meant, if any is near."""
        ratio, best = next(iter(self.alike(text)), (0.0, -1))
        return best if ratio >= cutoff else None

    def alike(self, text: str, least: float = 0.5) -> list[tuple[float, int]]:
        """Names like this one with their likeness from 0 to 1, best first."""
        folded = fold(text)[:_LONGEST]
        if not folded or not len(self):
            return []
        asked = _pairs(_codes(f"{_BREAK}{folded}{_BREAK}"))
        wanted = np.zeros(_BUCKETS, dtype=bool)
        wanted[asked] = True
        shared = np.bincount(self._owners[wanted[self._pairs]], minlength=len(self))
        count = min(_BEST, len(self))
        best = np.argpartition(-shared / (self._sizes + len(asked)), count - 1)[:count]
        matcher = SequenceMatcher(None, b=folded, autojunk=False)
        found = []
        for place in best[shared[best] > 0].tolist():
            matcher.set_seq1(self._folded(place))
            if matcher.quick_ratio() >= least and (ratio := matcher.ratio()) >= least:
                found.append((ratio, place))
        return sorted(found, key=lambda pair: (-pair[0], pair[1]))

    def _folded(self, place: int) -> str:
        start, size = int(self._starts[place]), int(self._sizes[place])
        return self._text[start + 1 : start + min(size, _LONGEST + 1)]

    def _groups(self, asked: str) -> Iterator[Ids]:
        """Ids of names that are equal, that begin so, and in which a word does."""
        if not asked:
            yield np.arange(len(self))
            return
        yield self._owners_at(self._places(f"{_BREAK}{asked}{_BREAK}"))
        yield self._owners_at(self._places(_BREAK + asked))
        inside = self._places(asked)
        yield self._owners_at([p for p in inside if not self._text[p - 1].isalnum()])

    def _places(self, part: str) -> list[int]:
        """Where the text holds this."""
        found: list[int] = []
        place = self._text.find(part)
        while place >= 0 and len(found) < _HITS:
            found.append(place)
            place = self._text.find(part, place + 1)
        return found

    def _owners_at(self, places: Sequence[int]) -> Ids:
        at = np.array(places, dtype=np.int64)
        return np.unique(self._owners[at]).astype(np.int64)


def fold(name: str) -> str:
    """A name as it is compared: no case, no accents, no line breaks."""
    if name.isascii():
        return name.casefold().replace(_BREAK, " ")
    plain = unicodedata.normalize("NFKD", name.casefold())
    kept = "".join(c for c in plain if not unicodedata.combining(c))
    return kept.casefold().replace(_BREAK, " ")


def _codes(text: str) -> NDArray[np.uint32]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)


def _pairs(codes: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """A number for each character and the one after it; equal pairs have equal numbers."""
    mixed = codes[:-1] * np.uint32(0x9E3779B1) + codes[1:] * np.uint32(0x85EBCA77)
    return (mixed >> np.uint32(16)).astype(np.uint16)
