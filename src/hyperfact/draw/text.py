"""Names made fit for a picture: how wide they are, where to cut them, what cannot be shown."""

import unicodedata

from hyperfact.graph.facts import Fact
from hyperfact.graph.labels import Labels

SIZE = 13  # of names, in pixels
_JOINERS = "\u200c\u200d"  # invisible, but part of how some scripts are written
_NARROW, _WIDE = set("iIjl.,:;'|!()[]{}ft r"), set("mwMW@%")


class Caption(str):
    """What is drawn for a name; the tooltip holds the name itself, behind a label if it has one."""

    __slots__ = ("tip",)
    tip: str

    @classmethod
    def of(cls, name: str, labels: Labels) -> "Caption":
        """The label of a name, or how it reads without one."""
        found, label = cls(labels.show(name)), labels.label(name)
        found.tip = visible(name) if label is None else f"{visible(label)} ({visible(name)})"
        return found


def captions(fact: Fact, labels: Labels) -> Fact:
    """The fact with what is drawn in the place of each name."""
    s, r, o = (Caption.of(name, labels) for name in fact.primary)
    pairs = ((Caption.of(a, labels), Caption.of(v, labels)) for a, v in fact.qualifiers)
    return Fact(s, r, o, tuple(pairs))


def tooltip(text: str) -> str:
    """What shows when one points at a text."""
    return text.tip if isinstance(text, Caption) else visible(text)


def visible(name: str) -> str:
    """A name with a sign for each character that a picture cannot show, or that would hide."""
    if not name:
        return "(empty)"
    return "".join(_sign(char) for char in name)


def _sign(char: str) -> str:
    if char.isprintable() or char in _JOINERS:
        return char
    if char < " ":
        return chr(0x2400 + ord(char))
    return "\u2423" if char.isspace() else "\ufffd"


def width(text: str, size: float = SIZE) -> float:
    """An estimate of the width of a text, rather too wide than too narrow."""
    return sum(map(_advance, text)) * size


def _advance(char: str) -> float:
    if unicodedata.combining(char) or char in _JOINERS:
        return 0.0
    if unicodedata.east_asian_width(char) in "WF":
        return 1.05
    if char in _NARROW:
        return 0.36
    return 0.9 if char in _WIDE else (0.7 if char.isupper() else 0.59)


def fit(name: str, limit: float, size: float = SIZE) -> str:
    """The visible form of a name, cut with an ellipsis where it is wider than the limit."""
    text = visible(name[:400])
    if len(name) <= 400 and width(text, size) <= limit:
        return text
    room, kept = limit - width("…", size), ""
    for char in text:
        room -= _advance(char) * size
        if room < 0:
            break
        kept += char
    return kept.rstrip() + "…"


def is_rtl(text: str) -> bool:
    """Whether the first letter with a direction is written from right to left."""
    for char in text:
        direction = unicodedata.bidirectional(char)
        if direction in ("L", "R", "AL"):
            return direction != "L"
    return False
