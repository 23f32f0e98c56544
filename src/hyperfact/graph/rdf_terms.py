"""RDF terms to names and back, exactly.

An absolute IRI is a name as it stands, a blank node is `_:label`, a literal keeps its N-Triples
form. Every other name is written as a reserved IRI (see `reserved`), and a literal that has no
N-Triples form is written with a datatype of ours.
"""

import re
from importlib import import_module
from typing import Any

from hyperfact.errors import MissingExtraError
from hyperfact.graph import reserved
from hyperfact.graph.facts import Derived, Literal
from hyperfact.system.source import Fault

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
REIFIES = RDF + "reifies"
#: The vocabulary of standard reification, and the class of its nodes.
SUBJECT, PREDICATE, OBJECT = RDF + "subject", RDF + "predicate", RDF + "object"
TYPE, STATEMENT = RDF + "type", RDF + "Statement"
BARE = reserved.PREFIX + "literal"  # the datatype of a literal without N-Triples form
_STRING = "http://www.w3.org/2001/XMLSchema#string"
_STRUCTURAL = {REIFIES, SUBJECT, PREDICATE, OBJECT}

_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")
_LABEL = re.compile(r"_:[A-Za-z][A-Za-z0-9]*")
_OURS = re.compile(r"_:fact[0-9]+")
_RANDOM = re.compile(r"[0-9a-f]{20,32}")  # how pyoxigraph labels a node without a label
_FORM = re.compile(r'"(?:[^"\\\n\r]|\\["\\nr])*"(?:@[a-z0-9-]+|\^\^<[^<>\s]+>)?')
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


def oxigraph() -> Any:
    """The RDF parser, or how to get it."""
    try:
        return import_module("pyoxigraph")
    except ImportError:
        raise MissingExtraError("pyoxigraph", "rdf", "reading and writing RDF") from None


class TermReader:
    """Turns the terms of one file into names."""

    def __init__(self, first: int = 0, *, anonymous: bool = False):
        self.ox = oxigraph()
        self._anonymous: dict[str, str] | None = {} if anonymous else None
        self._first = first

    def entity(self, term: Any) -> str:
        """The name of a subject, object or value."""
        if isinstance(term, self.ox.NamedNode):
            return reserved.entity_of(term.value)
        if isinstance(term, self.ox.BlankNode):
            return self._blank(term.value)
        if isinstance(term, self.ox.Literal):
            return literal_of(term)
        raise Fault("a triple as subject, object or value; only rdf:reifies may have one")

    def relation(self, term: Any) -> str:
        """The name of a predicate."""
        return reserved.relation_of(term.value)

    def _blank(self, label: str) -> str:
        """`_:label`; a node without a label is numbered, since its label changes at each parse."""
        if self._anonymous is None or not _RANDOM.fullmatch(label):
            return f"_:{label}"
        name = self._anonymous.get(label)
        if name is None:
            name = f"_:[{self._first + len(self._anonymous)}]"
            self._anonymous[label] = name
        return name


def literal_of(term: Any) -> Literal:
    """An RDF literal by its N-Triples form."""
    if term.datatype.value == BARE:
        return Literal(term.value)
    text = f'"{term.value.translate(_ESCAPES)}"'
    if term.language is not None:
        direction = f"--{term.direction}" if term.direction is not None else ""
        return Literal(f"{text}@{term.language}{direction}")
    return Literal(text if term.datatype.value == _STRING else f"{text}^^<{term.datatype.value}>")


class TermWriter:
    """Writes names as N-Triples terms; each is checked by reading it back."""

    def __init__(self) -> None:
        self._reader = TermReader()

    def subject(self, name: str) -> str:
        """An entity as subject, where no literal may stand."""
        if isinstance(name, Literal):
            return f"<{reserved.reserve(reserved.LITERAL, name)}>"
        return self.value(name)

    def value(self, name: str) -> str:
        """An entity as object or value."""
        if isinstance(name, Literal):
            return self._literal(name)
        if _LABEL.fullmatch(name) and not _OURS.fullmatch(name) and not _RANDOM.search(name):
            return name
        if self._is_iri(name):
            return f"<{name}>"
        return f"<{reserved.reserve(reserved.NAME, name)}>"

    def relation(self, name: str) -> str:
        """A relation or attribute; a name with a meaning of its own in RDF is encoded."""
        if isinstance(name, Derived):
            return f"<{reserved.reserve(reserved.DERIVED, name)}>"
        if name not in _STRUCTURAL and self._is_iri(name):
            return f"<{name}>"
        return f"<{reserved.reserve(reserved.NAME, name)}>"

    def _is_iri(self, name: str) -> bool:
        return (
            _IRI.fullmatch(name) is not None
            and not name.startswith(reserved.PREFIX)
            and self._reads_as(f"<{name}>", name)
        )

    def _literal(self, name: Literal) -> str:
        reserved.check_text(name)
        text = str.__str__(name)
        if _FORM.fullmatch(text) and self._reads_as(text, name):
            return _without_openings(text)
        return f'"{_without_openings(text.translate(_ESCAPES))}"^^<{BARE}>'

    def _reads_as(self, token: str, name: str) -> bool:
        ox = self._reader.ox
        line = f"<a:a> <a:a> {token} ."
        try:
            (quad,) = ox.parse(input=line.encode(), format=ox.RdfFormat.N_TRIPLES)
        except (SyntaxError, ValueError):
            return False
        return self._reader.entity(quad.object) == name


def _without_openings(text: str) -> str:
    """Readers count `<<(` before they parse, so a text must not seem to open triple terms."""
    return text.replace("<<(", "<\\u003C(")
