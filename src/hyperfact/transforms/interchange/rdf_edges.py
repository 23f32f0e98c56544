"""N-Triples: mediators as reifiers, by standard reification or by RDF 1.2's `rdf:reifies`.

Keeps every fact, the kinds of all edges and the mode; of the vocabularies the names in use, not
their order. So `restore` gives back `hkg.compact()`. Only graphs of the transformations
`equivalent` and `no_distinction` have reifiers. A mediator is the IRI `urn:hyperfact:fact:HASH`.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hyperfact.errors import FormatError, NotWritableError, UserError
from hyperfact.graph import reserved
from hyperfact.graph.facts import name_order
from hyperfact.graph.kg import KG, TYPED, Kind
from hyperfact.graph.ragged import Array
from hyperfact.graph.rdf_terms import (
    OBJECT,
    PREDICATE,
    REIFIES,
    STATEMENT,
    SUBJECT,
    TYPE,
    TermReader,
    TermWriter,
    oxigraph,
)
from hyperfact.system.source import Fault
from hyperfact.system.writing import write_lines
from hyperfact.transforms.interchange.edge_table import (
    MEDIATOR,
    OBJ,
    RELATION,
    SUB,
    Label,
    Node,
    Tables,
    type_of,
)
from hyperfact.transforms.interchange.identifiers import FACT

_GRAPH = reserved.PREFIX + "graph"
_TRANSFORMATION, _MODE = reserved.PREFIX + "transformation", reserved.PREFIX + "mode"


def write_reified(kg: KG, path: Path) -> None:
    """Standard reification: rdf:Statement, rdf:subject, rdf:predicate, rdf:object."""
    write_lines(path, _lines(kg, standard=True))


def write_reifiers(kg: KG, path: Path) -> None:
    """RDF 1.2: `mediator rdf:reifies <<( s r o )>>`."""
    write_lines(path, _lines(kg, standard=False))


def _lines(kg: KG, *, standard: bool) -> Iterator[str]:
    if kg.transformation not in TYPED:
        raise NotWritableError(f"a graph of {kg.transformation!r} has no reifiers to write")
    kg = kg.canonical()
    writer, n = TermWriter(), kg.num_entities
    subjects = [writer.subject(name) for name in kg.entities]
    values = [writer.value(name) for name in kg.entities]
    relations = [writer.relation(name) for name in kg.relations]
    mediators = [f"<{FACT}{name}>" for name in kg.mediator_names()]
    yield f'<{_GRAPH}> <{_TRANSFORMATION}> "{kg.transformation}" .'
    if kg.mode is not None:
        yield f'<{_GRAPH}> <{_MODE}> "{kg.mode}" .'
    for s, r, o in _edges(kg, Kind.BASE):
        yield f"{subjects[s]} {relations[r]} {values[o]} ."
    roles = zip(_edges(kg, Kind.SUB), _edges(kg, Kind.OBJ), strict=True)
    for (b, r, s), (_, _, o) in roles:
        triple = (subjects[s], relations[r], values[o])
        yield from (_reified if standard else _reifier)(mediators[b - n], triple)
    for b, r, v in _edges(kg, Kind.QUALIFIER):
        attribute = relations[r]
        if attribute == f"<{TYPE}>":  # also said of every statement, so it must not be mistaken
            attribute = f"<{reserved.reserve(reserved.NAME, TYPE)}>"
        yield f"{mediators[b - n]} {attribute} {values[v]} ."


def _edges(kg: KG, kind: Kind) -> list[list[int]]:
    at = kg.kind == kind
    found: list[list[int]] = np.stack([kg.source, kg.relation, kg.target], axis=1)[at].tolist()
    return found


def _reifier(mediator: str, triple: tuple[str, str, str]) -> Iterator[str]:
    yield f"{mediator} <{REIFIES}> <<( {' '.join(triple)} )>> ."


def _reified(mediator: str, triple: tuple[str, str, str]) -> Iterator[str]:
    yield f"{mediator} <{TYPE}> <{STATEMENT}> ."
    for part, term in zip((SUBJECT, PREDICATE, OBJECT), triple, strict=True):
        yield f"{mediator} <{part}> {term} ."


def read_rdf(path: Path) -> Tables:
    """Read either form back."""
    ox = oxigraph()
    reader = _Reader()
    try:
        for quad in ox.parse(path=str(path), format=ox.RdfFormat.N_TRIPLES):
            reader.add(quad)
    except SyntaxError as error:
        raise FormatError(path, error.lineno, error.msg) from None
    except Fault as fault:
        raise FormatError(path, None, str(fault)) from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from None
    if reader.transformation is None:
        reason = "no graph that hyperfact exported; `hyperfact convert` reads any RDF facts"
        raise FormatError(path, None, reason)
    return reader.tables()


class _Reader:
    """Collects edges by name; mediators are known by their IRI."""

    def __init__(self) -> None:
        self.ox = oxigraph()
        self.terms = TermReader()
        self.transformation: str | None = None
        self.mode: str | None = None
        self.edges: list[tuple[Node, Label, Node]] = []
        self.parts: dict[str, dict[str, Any]] = {}  # of a statement, until it is complete

    def add(self, quad: Any) -> None:
        subject, predicate, object_ = quad.subject.value, quad.predicate.value, quad.object
        if subject == _GRAPH:
            self._note(predicate, object_.value)
        elif predicate == REIFIES:
            self._reify(
                self._node(quad.subject), object_.subject, object_.predicate, object_.object
            )
        elif subject.startswith(FACT) and predicate in (SUBJECT, PREDICATE, OBJECT):
            self._part(quad.subject, predicate, object_)
        elif not (subject.startswith(FACT) and predicate == TYPE):
            label = self._label(RELATION, quad.predicate)
            self.edges.append((self._node(quad.subject), label, self._node(object_)))

    def _note(self, predicate: str, text: str) -> None:
        if predicate == _TRANSFORMATION:
            self.transformation = text
        elif predicate == _MODE:
            self.mode = text

    def _part(self, subject: Any, predicate: str, object_: Any) -> None:
        parts = self.parts.setdefault(subject.value, {})
        if predicate in parts:
            raise Fault(f"{subject.value} has two {predicate}")
        parts[predicate] = object_
        if len(parts) == 3:
            self._reify(self._node(subject), *(parts[p] for p in (SUBJECT, PREDICATE, OBJECT)))

    def _reify(self, mediator: Node, subject: Any, predicate: Any, object_: Any) -> None:
        self.edges.append((mediator, self._label(SUB, predicate), self._node(subject)))
        self.edges.append((mediator, self._label(OBJ, predicate), self._node(object_)))

    def _node(self, term: Any) -> Node:
        if isinstance(term, self.ox.NamedNode) and term.value.startswith(FACT):
            return Node(MEDIATOR, term.value.removeprefix(FACT))
        name = self.terms.entity(term)
        return Node(type_of(name), str(name))

    def _label(self, role: str, term: Any) -> Label:
        name = self.terms.relation(term)
        return Label(role, type_of(name), str(name))

    def tables(self) -> Tables:
        """Names in name order, mediators behind the entities."""
        ends = {node for s, _, o in self.edges for node in (s, o)}
        nodes = sorted(ends, key=lambda n: (n.type == MEDIATOR, n.type == "literal", n.name))
        used = {label for _, label, _ in self.edges}
        used |= {Label(RELATION, label.type, label.name) for label in used}
        labels = sorted(used, key=lambda x: (x.role != RELATION, x.role, name_order(x.name)))
        number = {n: i for i, n in enumerate(nodes)}, {x: i for i, x in enumerate(labels)}
        rows = [(number[0][s], number[1][r], number[0][o]) for s, r, o in self.edges]
        triples: Array = np.array(rows, dtype=np.int64).reshape(-1, 3)
        transformation = self.transformation or ""
        return Tables(tuple(nodes), tuple(labels), triples, transformation, self.mode)
