"""Search among many names: by prefix, by the beginning of a word, and by likeness.

Names are folded (case, accents, compatibility forms) into one text; likeness is rapidfuzz's ratio.
"""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from rapidfuzz import fuzz, process

_BREAK = "\n"  # around each folded name; no folded name holds it
_BEST = 50  # names that are alike, at most
_LONGEST = 256  # characters of a name that are compared
_HITS = 100_000  # places of a text that are looked at
_TELLING = 4  # characters at least of words that tell which name is meant

Ids = NDArray[np.int64]


class NameIndex:
    """An index of names by how they read.

    Args:
        names: In the order of their ids.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._text = "".join(f"{_BREAK}{fold(name)}" for name in names) + _BREAK
        self._names = self._text[1:].split(_BREAK)[:-1]
        sizes = np.array([len(name) + 1 for name in self._names], dtype=np.int64)
        self._ends = np.cumsum(sizes)  # of each name in the text, with the break before it

    def __len__(self) -> int:
        return len(self._names)

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
        """The id of the name that was most likely meant, if any is near.

        Words that begin a name, or stand in it, are closer than any that only look alike: who asks
        for "Ken Griffey" means one of those of that name, not "Ben Grieve".
        """
        folded = fold(text).strip()
        if len(folded) >= _TELLING and (ids := self._holding(folded)):
            return min(ids, key=lambda i: (len(self._names[i]), i))
        ratio, best = next(iter(self.alike(text)), (0.0, -1))
        return best if ratio >= cutoff else None

    def _holding(self, words: str) -> list[int]:
        """Names that begin with these whole words, else those that hold them."""
        for ids in self._groups(words):
            if whole := [i for i in ids.tolist() if _holds_words(self._names[i], words)]:
                return whole
        return []

    def alike(self, text: str, least: float = 0.5) -> list[tuple[float, int]]:
        """Names like this one with their likeness from 0 to 1, best first."""
        folded = fold(text)[:_LONGEST]
        if not folded:
            return []
        found = process.extract(
            folded, self._short, scorer=fuzz.ratio, limit=_BEST, score_cutoff=100 * least
        )
        return sorted(((ratio / 100, i) for _, ratio, i in found), key=lambda p: (-p[0], p[1]))

    @cached_property
    def _short(self) -> list[str]:
        """The names as far as they are compared."""
        return [name[:_LONGEST] for name in self._names]

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
        """The names at these places of the text."""
        return np.unique(np.searchsorted(self._ends, np.array(places, dtype=np.int64), "right"))


def _holds_words(name: str, words: str) -> bool:
    """Whether a name holds these words, none of them cut."""
    place = name.find(words)
    while place >= 0:
        before, after = name[place - 1 : place], name[place + len(words) :][:1]
        if not before.isalnum() and not after.isalnum():
            return True
        place = name.find(words, place + 1)
    return False


def fold(name: str) -> str:
    """A name as it is compared: no case, no accents, no line breaks."""
    if name.isascii():
        return name.casefold().replace(_BREAK, " ")
    plain = unicodedata.normalize("NFKD", name.casefold())
    kept = "".join(c for c in plain if not unicodedata.combining(c))
    return kept.casefold().replace(_BREAK, " ")
