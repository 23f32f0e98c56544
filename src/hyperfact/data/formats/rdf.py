"""RDF 1.2: N-Triples, N-Quads, Turtle and TriG, with reifiers as qualified facts.

The line formats are read line by line, with a cache of terms; Turtle and TriG as a stream. The
grammar is pyoxigraph's throughout. See `rdf_facts` for what is a fact and `rdf_names` for names.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from hyperfact.data.formats.format import Format, labelled_rows, line_writer
from hyperfact.data.formats.rdf_lines import read_lines
from hyperfact.data.formats.rdf_stream import read_stream
from hyperfact.graph.hkg import HKG
from hyperfact.graph.rdf_terms import REIFIES, TermWriter
from hyperfact.graph.reserved import DERIVED, NAME
from hyperfact.system.source import Source

_PREFIXES = {"n": NAME, "d": DERIVED}
_LOCAL = re.compile(r"(?:%[0-9A-F]{2}|[A-Za-z0-9_])(?:%[0-9A-F]{2}|[A-Za-z0-9_-])*")
_NODE = r'(?:<[^<>"{}|^`\\\s]*>|_:[^\s<>"]+)'
_OBJECT = rf'(?:{_NODE}|"(?:[^"\\]|\\.)*"(?:@[A-Za-z0-9-]+|\^\^<[^<>\s]*>)?|<<\(.*\)>>)'
_STATEMENT = re.compile(rf"\s*{_NODE}\s*<[^<>\s]*>\s*{_OBJECT}\s*({_NODE})?\s*\.\s*(?:#.*)?")
_DIRECTIVE = re.compile(r"\s*(?:@prefix|@base|(?i:prefix|base)\s+[^<]*<|(?i:version)\s+[\"'])")
_START = re.compile(r"\s*(?:<[A-Za-z][A-Za-z0-9+.-]*:[^<>\s]*>|<<|_:\S|\[|\()")
_GRAPH = re.compile(r"\{(?!\|)")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|<[^<>\s]*>|#.*')


def _primaries(graph: HKG) -> tuple[set[tuple[int, int, int]], list[tuple[int, int, int]]]:
    """The primary triples of qualified facts, and that of each fact."""
    c = graph.columns
    rows = list(zip(c.subject.tolist(), c.relation.tolist(), c.object.tolist(), strict=True))
    counts = graph.num_qualifiers.tolist()
    return {row for row, count in zip(rows, counts, strict=True) if count}, rows


class _Names:
    """The terms of a graph's names, ready to be joined."""

    def __init__(self, graph: HKG, shorten: Callable[[str], str] = str):
        writer = TermWriter()
        self.subjects = [shorten(writer.subject(name)) for name in graph.entities]
        self.values = [shorten(writer.value(name)) for name in graph.entities]
        self.relations = [shorten(writer.relation(name)) for name in graph.relations]


def _triple_lines(graph: HKG) -> Iterator[str]:
    """N-Triples; an assertion, and a reifier for each fact that is qualified or has such a twin."""
    names = _Names(graph)
    qualified, primaries = _primaries(graph)
    asserted: set[tuple[int, int, int]] = set()
    facts = labelled_rows(graph, names.values, names.relations)
    for number, (primary, (_, r, o, pairs)) in enumerate(zip(primaries, facts, strict=True)):
        triple = f"{names.subjects[primary[0]]} {r} {o}"
        if primary not in qualified:
            yield f"{triple} ."
            continue
        if primary not in asserted:
            asserted.add(primary)
            yield f"{triple} ."
        yield f"_:fact{number} <{REIFIES}> <<( {triple} )>> ."
        for a, v in pairs:
            yield f"_:fact{number} {a} {v} ."


def _turtle_lines(graph: HKG) -> Iterator[str]:
    """Turtle; an annotation block holds the qualifiers, `~` states a bare fact beside such."""
    for prefix, iri in _PREFIXES.items():
        yield f"@prefix {prefix}: <{iri}> ."
    names = _Names(graph, _shorten)
    qualified, primaries = _primaries(graph)
    facts = labelled_rows(graph, names.values, names.relations)
    for primary, (_, r, o, pairs) in zip(primaries, facts, strict=True):
        triple = f"{names.subjects[primary[0]]} {r} {o}"
        if pairs:
            yield f"{triple} {{| {' ; '.join(f'{a} {v}' for a, v in pairs)} |}} ."
        else:
            yield f"{triple} ~ ." if primary in qualified else f"{triple} ."


def _shorten(term: str) -> str:
    for prefix, iri in _PREFIXES.items():
        local = term[1 + len(iri) : -1]
        if term.startswith(f"<{iri}") and _LOCAL.fullmatch(local):
            return f"{prefix}:{local}"
    return term


def _statements(source: Source) -> Sequence[str] | None:
    """The graph names of the first statements, if there is one on every line."""
    lines = [line for line in source.sample[:200] if not line.lstrip().startswith("#")]
    if lines and _DIRECTIVE.match(lines[0]) and lines[0].startswith("VERSION"):
        del lines[0]
    found = [_STATEMENT.fullmatch(line) for line in lines]
    if not lines or None in found:
        return None
    return [match.group(1) or "" for match in found if match is not None]


def _recognises_quads(source: Source) -> bool:
    graphs = _statements(source)
    return graphs is not None and (source.suffix == ".nq" or any(graphs))


def _recognises_turtle(source: Source) -> bool:
    lines = [line for line in source.sample[:500] if not line.lstrip().startswith("#")]
    if not lines or source.suffix == ".trig":
        return False
    ends = any(line.rstrip().endswith((" .", ";", ">.", '".')) for line in lines)
    return bool(_DIRECTIVE.match(lines[0]) or (_START.match(lines[0]) and ends))


def _recognises_trig(source: Source) -> bool:
    """Turtle with a graph in braces; strings, IRIs and comments may hold braces as well."""
    lines = source.sample[:500]
    if source.suffix == ".trig":
        return bool(lines)
    graphs = any(_GRAPH.search(_QUOTED.sub("", line)) for line in lines)
    return graphs and (_recognises_turtle(source) or lines[0].lstrip()[:5].upper() == "GRAPH")


NQUADS = Format(
    "nquads",
    "RDF 1.2 N-Quads, reifiers as qualified facts",
    ".nq",
    _recognises_quads,
    partial(read_lines, format="N_QUADS"),
    line_writer(_triple_lines),
    typed=True,
)
NTRIPLES = Format(
    "ntriples",
    "RDF 1.2 N-Triples, reifiers as qualified facts",
    ".nt",
    lambda source: _statements(source) is not None,
    partial(read_lines, format="N_TRIPLES"),
    line_writer(_triple_lines),
    typed=True,
)
TRIG = Format(
    "trig",
    "RDF 1.2 TriG, reifiers and annotations as qualified facts",
    ".trig",
    _recognises_trig,
    partial(read_stream, format="TRIG"),
    line_writer(_turtle_lines),
    typed=True,
)
TURTLE = Format(
    "turtle",
    "RDF 1.2 Turtle, reifiers and annotations as qualified facts",
    ".ttl",
    _recognises_turtle,
    partial(read_stream, format="TURTLE"),
    line_writer(_turtle_lines),
    typed=True,
)
