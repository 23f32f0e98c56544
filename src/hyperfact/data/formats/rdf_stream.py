"""Turtle and TriG as a stream of triples, with the line of each for messages."""

import re
from typing import Any

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats.rdf_facts import NestedError, Triples
from hyperfact.errors import FormatError
from hyperfact.graph import rdf_terms as rdf_names
from hyperfact.graph.rdf_terms import TermReader
from hyperfact.system.source import Fault, Source

MAX_DEPTH = 500  # of triple terms; the parser overflows its stack at some ten thousand
NESTED = "triple terms inside triple terms are no facts"
_BLOCK = 65_536
_MARKS = re.compile(rb"<<\(|\)>>")
_WHERE = re.compile(r"Parser error (?:at|between) line .*?: (?=\S)|\s*\(line \d+\)$")


class Feed:
    """The lines of a source as the bytes that the parser asks for."""

    def __init__(self, source: Source, *, block: int = _BLOCK):
        self._path = source.path
        self._lines = source.lines()
        self._block = block
        self._buffer = b""
        self._depth = 0
        self.line = 0  # the last one handed out

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; no more than one line if the block is one byte."""
        if not self._buffer:
            parts, length = [], 0
            while length < self._block:
                number, text = next(self._lines, (0, ""))
                if not number:
                    break
                self.line = number
                parts.append(self._checked(text.encode() + b"\n"))
                length += len(parts[-1])
            self._buffer = b"".join(parts)
        size = len(self._buffer) if size < 0 else size
        out, self._buffer = self._buffer[:size], self._buffer[size:]
        return out

    def _checked(self, line: bytes) -> bytes:
        if b"<<(" in line or (self._depth and b")>>" in line):
            for mark in _MARKS.findall(line):
                self._depth = self._depth + 1 if mark == b"<<(" else max(self._depth - 1, 0)
                if self._depth > MAX_DEPTH:
                    raise FormatError(self._path, self.line, NESTED)
        return line


class QuadReader:
    """Gives the quads of one file to its triples; an IRI seen before is found by its text."""

    def __init__(self, triples: Triples, terms: TermReader):
        self.triples, self.terms = triples, terms
        self._named, self._triple = terms.ox.NamedNode, terms.ox.Triple
        self._blank, self._default = terms.ox.BlankNode, terms.ox.DefaultGraph
        self._iris: dict[str, int] = {}
        self._predicates: dict[str, int] = {}

    def add(self, quad: Any, place: int) -> tuple[int, int | None, int | None]:
        """Add a triple or a reifier; the ids of subject and, of a plain triple, of the rest."""
        s, p, o, graph = quad
        if type(graph) is not self._default:
            self.triples.graphs += 1
        subject = self._entity(s)
        if type(o) is self._triple and p.value == rdf_names.REIFIES:
            ids = self._entity(o.subject), self._relation(o.predicate), self._entity(o.object)
            self.triples.reify(subject, *ids, place=place)
            return subject, None, None
        relation, obj = self._relation(p), self._entity(o)
        self.triples.add(subject, relation, obj)
        return subject, relation, obj

    def _entity(self, term: Any) -> int:
        if type(term) is self._blank:
            return self.triples.blank(self.terms.entity(term))
        if type(term) is not self._named:
            return self.triples.entity(self.terms.entity(term))
        found = self._iris.get(term.value)
        if found is None:
            found = self._iris[term.value] = self.triples.entity(self.terms.entity(term))
        return found

    def _relation(self, term: Any) -> int:
        found = self._predicates.get(term.value)
        if found is None:
            found = self.triples.relation(self.terms.relation(term), iri=term.value)
            self._predicates[term.value] = found
        return found


def read_stream(source: Source, builder: FactBuilder, format: str) -> None:
    """Read Turtle or TriG."""
    triples = Triples(builder)
    terms = TermReader(len(builder.entities.names), anonymous=True)
    add = QuadReader(triples, terms).add
    kind, place, feed = getattr(terms.ox.RdfFormat, format), -1, Feed(source)
    try:
        parser = terms.ox.parse(input=feed, format=kind)
        for place, quad in enumerate(parser):
            add(quad, place)
        place = -1
        builder.labels.prefixes.update(parser.prefixes)
        triples.finish(str(source.path))
    except SyntaxError as error:
        line = min(error.lineno or 1, max(feed.line, 1))  # the end is not a line of its own
        raise FormatError(source.path, line, reason_of(error)) from None
    except NestedError as error:
        raise FormatError(source.path, _line_of(source, kind, error.place), str(error)) from None
    except Fault as fault:
        raise FormatError(source.path, _line_of(source, kind, place), str(fault)) from None


def reason_of(error: SyntaxError) -> str:
    """The parser's reason, without the line that stands before it anyway."""
    text = _WHERE.sub("", str(error))
    return f"{text[:1].lower()}{text[1:]} (column {error.offset})"


def _line_of(source: Source, kind: Any, place: int) -> int | None:
    """The line that ends the triple of this number: parse again, a line at a time."""
    feed = Feed(source, block=1)
    for number, _ in enumerate(rdf_names.oxigraph().parse(input=feed, format=kind)):
        if number == place:
            return feed.line
    return None
