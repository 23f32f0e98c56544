"""Labels: how names are shown to people, and which name a person means by a label.

A name stays what it is in the data; here is only its look. What the data calls it goes first. An
IRI without a label is shortened by a prefix, or to its last segment where no other name of the
dataset reads the same. A literal is written as a person writes it.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Literal as OneOf

from hyperfact.errors import UnknownNameError, UserError, nearest
from hyperfact.graph.facts import Derived, Fact, Literal, Vocabulary
from hyperfact.graph.facts import show as written
from hyperfact.graph.label_texts import LabelTexts, key_of
from hyperfact.graph.literal_texts import literal_text
from hyperfact.graph.name_search import NameIndex
from hyperfact.graph.prefixes import Prefixes, is_iri, last_segment
from hyperfact.graph.syntax import BLANK, quote

Kind = OneOf["entity", "relation"]
KINDS: tuple[Kind, ...] = ("entity", "relation")
_NAMED = 8  # names that an error lists


class Labels:
    """How the names of one dataset are shown, and found again.

    Args:
        given: What the data calls them; nothing is needed to shorten IRIs and to read literals.
        entities: Among which a label should be the only one of its kind.
        relations: Likewise.
    """

    def __init__(
        self,
        given: LabelTexts | None = None,
        entities: Vocabulary | None = None,
        relations: Vocabulary | None = None,
    ) -> None:
        self.given = given or LabelTexts()
        self._prefixes = Prefixes(self.given.prefixes)
        self._sides: Mapping[Kind, _Side] = {
            "entity": _Side(entities or Vocabulary(), self),
            "relation": _Side(relations or Vocabulary(), self),
        }

    # -- names to texts ---------------------------------------------------------------------------

    def label(self, name: str) -> str | None:
        """What the data calls a name, if it says so."""
        if isinstance(name, Literal):
            return None
        if isinstance(name, Derived) and name not in self.given.texts:
            base = self.given.texts.get(key_of(name.base))
            return None if base is None else f"{base} ({name.role})"
        return self.given.texts.get(key_of(name))

    def show(self, name: str) -> str:
        """A name as people read it; with its id where two names have the same label."""
        label = self.label(name)
        if label is None:
            return self.plain(name)
        return f"{label} ({self.plain(name)})" if label in self._shared else label

    def full(self, name: str) -> str:
        """The same with the id beside every label, where there is room for both."""
        label = self.label(name)
        return self.plain(name) if label is None else f"{label} ({self.plain(name)})"

    def fact(self, fact: Fact) -> str:
        """A fact as people read it, in the syntax of facts."""
        return self.line(*fact.primary, fact.qualifiers)

    def line(
        self,
        subject: str | None,
        relation: str | None,
        obj: str | None,
        qualifiers: "tuple[tuple[str | None, str | None], ...]" = (),
    ) -> str:
        """A fact, or a question with None where its blank is."""
        parts = [self.field(name) for name in (subject, relation, obj)]
        parts += [f"{self.field(a)} = {self.field(v)}" for a, v in qualifiers]
        return " | ".join(parts)

    def field(self, name: str | None) -> str:
        """One field of a fact, or its blank."""
        return BLANK if name is None else quote(self.show(name))

    def plain(self, name: str) -> str:
        """A name without its label: an IRI shortened, a literal as a person writes it."""
        if isinstance(name, Literal):
            return literal_text(name, self._unit)
        if not is_iri(name):
            return str(name)
        short = self._prefixes.shorten(name)
        if short is not None:
            return short
        segment = last_segment(name)
        return segment if self._segments[segment] == 1 else str(name)

    def _unit(self, unit: str) -> str:
        label = self.given.texts.get(key_of(unit))
        return label or (last_segment(unit) if is_iri(unit) else unit)

    @cached_property
    def _shared(self) -> frozenset[str]:
        """Labels that several entities or several relations have, or that are another's name."""
        found: set[str] = set()
        for side in self._sides.values() if self.given.texts else ():
            counts = Counter(map(self.label, side.names))
            found |= {
                label
                for label, count in counts.items()
                if label is not None and (count > 1 or side.names.get(label) is not None)
            }
        return frozenset(found)

    @cached_property
    def _segments(self) -> Counter[str]:
        """How many names read like the last segment of an IRI."""
        names = {name for side in self._sides.values() for name in side.names}
        return Counter(last_segment(name) if is_iri(name) else str(name) for name in names)

    # -- texts to names ---------------------------------------------------------------------------

    def find(self, text: str, kind: Kind) -> str | None:
        """The name that a person means: the text itself, or the name that is shown so.

        Raises:
            UserError: Several are; says which.
        """
        side = self._sides[kind]
        if side.names.get(text) is not None:
            return text
        found = side.by_text.get(str.__str__(text), [])
        if len(found) > 1:
            names = [written(side.names[i]) for i in found[:_NAMED]]
            more = f" and {len(found) - _NAMED:,} more" if len(found) > _NAMED else ""
            raise UserError(f"{text!r} may be {', '.join(names)}{more}; name one of them")
        return side.names[found[0]] if found else None

    def meant(self, text: str, kind: Kind) -> str:
        """The same, or the text itself where no name is near.

        Raises:
            UserError: Several names are shown so, or none is but a label is near.
        """
        found = self.find(text, kind)
        if found is not None:
            return found
        side = self._sides[kind]
        label, name = nearest(text, side.by_text), side.names.search.nearest(text)
        if label is not None:
            both = [label] if name is None else [label, str(side.names[name])]
            if nearest(text, both) == label:
                raise UnknownNameError(kind, text, near=label)
        return text

    def typed(self, name: str, kind: Kind) -> str:
        """What a person may type for a name: what is shown, where that means no other name."""
        text = self.show(name)
        found = self._sides[kind].by_text.get(text, [])
        same = len(found) == 1 and self._sides[kind].names.get(text) is None
        return text if same else str(name)

    def search(self, kind: Kind) -> NameIndex:
        """An index of names by how they read and by what they are."""
        return self._sides[kind].search


class _Side:
    """The entities or the relations, by how they are shown."""

    def __init__(self, names: Vocabulary, labels: Labels) -> None:
        self.names, self._labels = names, labels

    @cached_property
    def by_text(self) -> dict[str, list[int]]:
        """Ids by label and by what is shown, where that is not the name itself."""
        found: dict[str, list[int]] = {}
        labels = self._labels
        looks: tuple[Callable[[str], str | None], ...] = (labels.label, labels.show, labels.full)
        for number, name in enumerate(self.names):
            texts = dict.fromkeys(look(name) for look in looks)
            for text in texts:
                if text is not None and text != str.__str__(name):
                    found.setdefault(text, []).append(number)
        return found

    @cached_property
    def search(self) -> NameIndex:
        """Names by what is shown, with the name itself behind it."""
        if not self.by_text:
            return self.names.search
        shown = ((self._labels.show(name), str.__str__(name)) for name in self.names)
        return NameIndex(text if text == name else f"{text} ({name})" for text, name in shown)
