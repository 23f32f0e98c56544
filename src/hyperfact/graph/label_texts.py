"""Labels as data: what people call names, and the prefixes that a file declares."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hyperfact.graph.facts import Literal
from hyperfact.graph.literal_forms import form_of
from hyperfact.graph.prefixes import PREFIXES, Prefixes, is_iri

#: The properties of RDF that give a label, the best first.
LABEL_PROPERTIES = (
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://schema.org/name",
)
_WIKIDATA = re.compile(
    r"https?://www\.wikidata\.org/(?:entity|wiki|prop(?:/[a-z-]+)*)/(?:Property:)?([QPL][1-9]\d*)",
    re.ASCII,
)
_UNIT = re.compile(r"/entity/(Q[1-9]\d*)>?$", re.ASCII)


def key_of(name: str) -> str:
    """What a label is kept under: every IRI of a Wikidata entity has the label of its id."""
    match = _WIKIDATA.fullmatch(name) if name.startswith("http") else None
    return name if match is None else match[1]


def _key_or_unit(name: str) -> str:
    unit = _UNIT.search(name) if isinstance(name, Literal) else None
    return key_of(name) if unit is None else unit[1]


@dataclass(frozen=True)
class LabelTexts:
    """What names are called, and prefixes; made by `of`, which keeps a label to one line."""

    texts: Mapping[str, str] = field(default_factory=dict)  # by `key_of` the name
    prefixes: Mapping[str, str] = field(default_factory=dict)  # prefix to namespace

    @classmethod
    def of(
        cls, rows: Iterable[tuple[str, str]], prefixes: Mapping[str, str] | None = None
    ) -> "LabelTexts":
        """From pairs of name and label; the first label of a name counts."""
        texts: dict[str, str] = {}
        for name, label in rows:
            line = " ".join(label.split())
            if line:
                texts.setdefault(key_of(name), line)
        return cls(texts, dict(prefixes or {}))

    def __bool__(self) -> bool:
        return bool(self.texts or self.prefixes)

    def over(self, others: "LabelTexts") -> "LabelTexts":
        """These, and the others where these say nothing."""
        return LabelTexts({**others.texts, **self.texts}, {**others.prefixes, **self.prefixes})

    def used_by(self, *vocabularies: Iterable[str]) -> "LabelTexts":
        """Those of these names and of units of quantities; the prefixes that shorten a name."""
        if not self:
            return self
        names = [name for vocabulary in vocabularies for name in vocabulary]
        keys = dict.fromkeys(_key_or_unit(name) for name in names)
        texts = {key: self.texts[key] for key in keys if key in self.texts}
        known = Prefixes(self.prefixes)
        iris = (name for name in names if self.prefixes and is_iri(name))
        namespaces = {known.namespace(name) for name in iris}
        own = {
            prefix: namespace
            for prefix, namespace in self.prefixes.items()
            if namespace in namespaces and PREFIXES.get(prefix) != namespace
        }
        return LabelTexts(texts, own)


class LabelCollector:
    """Takes labels while a file is read, and keeps the best of each name: English, or untagged."""

    def __init__(self) -> None:
        self.prefixes: dict[str, str] = {}
        self._best: dict[str, tuple[int, str]] = {}

    def add(self, name: str, label: str, language: str = "", *, place: int = 0) -> None:
        """A label; `place` orders those of one language, the smallest first."""
        rank = 10 * _language_rank(language.lower()) + place
        if label.strip() and (name not in self._best or rank < self._best[name][0]):
            self._best[name] = rank, label

    def add_literal(self, name: str, literal: str, *, place: int = 0) -> None:
        """A label as a literal of RDF, with or without a language."""
        form = form_of(literal)
        if form is not None:
            self.add(name, form.text, form.language, place=place)

    def all(self) -> LabelTexts:
        """The labels of every name."""
        rows = ((name, label) for name, (_, label) in self._best.items())
        return LabelTexts.of(rows, self.prefixes)

    def used_by(self, *vocabularies: Iterable[str]) -> LabelTexts:
        """The labels of these names."""
        return self.all().used_by(*vocabularies)


def _language_rank(language: str) -> int:
    if language == "en":
        return 0
    if language in {"", "mul"}:
        return 1
    return 2 if language.startswith("en-") else 3
