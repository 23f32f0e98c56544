"""N-Triples and N-Quads line by line: a term seen before is found by its text."""

import re

from hyperfact.data.builder import FactBuilder
from hyperfact.data.formats.rdf_facts import NestedError, Triples
from hyperfact.data.formats.rdf_stream import NESTED, QuadReader, reason_of
from hyperfact.errors import FormatError
from hyperfact.graph.rdf_terms import REIFIES, TermReader
from hyperfact.system.source import Fault, Source

MAX_OPEN = 64  # triple terms that one line may open; thousands overflow the parser's stack
_NODE = re.compile(r"<[^<>\s]*>|_:[A-Za-z0-9]+")
_BLANK = re.compile(r"_:[A-Za-z][A-Za-z0-9]*")
_IRI = re.compile(r"<[^<>\s]*>")
_LITERAL = re.compile(r'"[^"\\]*"(?:@[A-Za-z0-9-]+|\^\^<[^<>\s]*>)?')
_VERSION = re.compile(r"""VERSION[ \t]+("[^"]*"|'[^']*')[ \t]*(?:#.*)?""")
_REIFIES = f"<{REIFIES}>"


def read_lines(source: Source, builder: FactBuilder, format: str) -> None:
    """Read N-Triples or N-Quads."""
    reader, number = _LineReader(builder, format), 0
    nodes, predicates, objects = reader.nodes, reader.predicates, reader.objects
    add, unknown = reader.triples.add, ("", "", "")
    try:
        for number, line in source.lines():
            fields = line.split(" ", 2)
            s, p, o = fields if len(fields) == 3 else unknown
            node, relation, obj = nodes.get(s), predicates.get(p), objects.get(o)
            if node is not None and relation is not None and obj is not None:
                add(node, relation, obj)
            elif p != _REIFIES or not reader.reify(s, o, number):
                reader.parse(line, number, (s, p, o))
        number = 0
        reader.triples.finish(str(source.path))
    except NestedError as error:
        raise FormatError(source.path, error.place or None, str(error)) from None
    except Fault as fault:
        raise FormatError(source.path, number or None, str(fault)) from None


class _LineReader:
    """The ids of terms by their text; that of an object with the full stop behind it."""

    def __init__(self, builder: FactBuilder, format: str):
        self.triples = Triples(builder)
        terms = TermReader()
        self._parse, self._add = terms.ox.parse, QuadReader(self.triples, terms).add
        self._format = getattr(terms.ox.RdfFormat, format)
        self.nodes: dict[str, int] = {}
        self.predicates: dict[str, int] = {}
        self.objects: dict[str, int] = {}

    def reify(self, node: str, o: str, number: int) -> bool:
        """`<<( s p o )>> .` of known terms; the reifier itself is most often new."""
        fields = o[4:-6].split(" ", 2)
        if o[:4] != "<<( " or o[-6:] != " )>> ." or len(fields) != 3 or not _BLANK.fullmatch(node):
            return False
        s, p, inner = fields
        known = self.nodes.get(s), self.predicates.get(p), self.objects.get(f"{inner} .")
        if None in known:
            return False
        place = self.nodes.get(node)
        if place is None:
            place = self._keep(node, self.triples.blank(node))
        self.triples.reify(place, *known, place=number)  # type: ignore[arg-type]
        return True

    def parse(self, line: str, number: int, texts: tuple[str, str, str]) -> None:
        """Leave a line to the parser, and remember its terms."""
        if line.count("<<(") > MAX_OPEN:
            raise Fault(NESTED)
        try:
            quads = list(self._parse(input=line.encode(), format=self._format))
        except SyntaxError as error:
            if _VERSION.fullmatch(line):
                return
            hint = "; RDF 1.2 states it by rdf:reifies" if line.startswith("<<") else ""
            raise Fault(reason_of(error) + hint) from None
        for quad in quads:
            self._remember(self._add(quad, number), texts)

    def _remember(
        self, ids: tuple[int, int | None, int | None], texts: tuple[str, str, str]
    ) -> None:
        """Keep the ids of terms that stand by themselves between single blanks."""
        (node, relation, obj), (s, p, o) = ids, texts
        if not _NODE.fullmatch(s) or not _IRI.fullmatch(p):
            return
        self._keep(s, node)
        if relation is None or obj is None or o[-2:] != " .":
            return
        self.predicates[p] = relation
        if _NODE.fullmatch(o[:-2]):
            self._keep(o[:-2], obj)
        elif _LITERAL.fullmatch(o[:-2]):
            self.objects[o] = obj

    def _keep(self, text: str, node: int) -> int:
        self.nodes[text] = self.objects[f"{text} ."] = node
        return node
