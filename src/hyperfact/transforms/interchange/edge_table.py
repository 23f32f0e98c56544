"""What every format of a KG is made of: plain triples of numbers, and what the numbers mean.

The triples are untyped. A relation map (`labels`) tells r from r^sub and r^obj, and the list of
nodes tells mediators from entities; both together give every edge its kind back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hyperfact.errors import DataError, NotWritableError
from hyperfact.graph.facts import Derived, Literal, Vocabulary
from hyperfact.graph.kg import KG, TYPED, Kind, Kinds
from hyperfact.graph.ragged import Array, Ids

#: What a relation of the KG is to the relation of the HKG that it comes from.
RELATION, SUB, OBJ, PLACE = "relation", "sub", "obj", "place"
MEDIATOR = "mediator"
_TYPES: dict[str, type[str]] = {"entity": str, "literal": Literal, "derived": Derived}


class Node(NamedTuple):
    """A node: `entity`, `literal` or `mediator`, and its name."""

    type: str
    name: str


class Label(NamedTuple):
    """A line of the relation map: `relation`, `sub`, `obj` or `place3`, and the HKG's relation."""

    role: str
    type: str  # entity (a plain name), literal or derived
    name: str


@dataclass(frozen=True)
class Tables:
    """A KG as nodes, labels and triples of their numbers."""

    nodes: tuple[Node, ...]
    labels: tuple[Label, ...]
    triples: Array  # (edges, 3) node, label, node
    transformation: str
    mode: str | None


def tables_of(kg: KG) -> Tables:
    """The tables of a KG; the same facts in any order give the same tables.

    Raises:
        NotWritableError: if the nodes and labels do not determine the kind of an edge.
    """
    kg = kg.canonical()
    size = len(kg.relations)
    extra = np.unique(kg.edge_type[kg.edge_type >= size])
    number = np.searchsorted(extra, kg.edge_type) + size
    number = np.where(kg.edge_type < size, kg.edge_type, number)
    labels = [Label(RELATION, type_of(name), str(name)) for name in kg.relations]
    labels += [_label(kg, int(edge_type)) for edge_type in extra]
    nodes = [Node(type_of(name), str(name)) for name in kg.entities]
    nodes += [Node(MEDIATOR, name) for name in kg.mediator_names()]
    triples = np.stack([kg.source, number, kg.target], axis=1).astype(np.int64)
    tables = Tables(tuple(nodes), tuple(labels), triples, kg.transformation, kg.mode)
    if not np.array_equal(kg_of(tables).kind, kg.kind):
        raise NotWritableError("only graphs that a transformation made can be exported")
    return tables


def kg_of(tables: Tables) -> KG:
    """The KG of tables; nodes may stand in any order."""
    nodes, labels = tables.nodes, tables.labels
    mediator = np.array([node.type == MEDIATOR for node in nodes], dtype=bool)
    entities = vocabulary((n for n in nodes if n.type != MEDIATOR), "entity")
    relations = vocabulary((x for x in labels if x.role == RELATION), "relation")
    _check_triples(tables)
    new = np.where(mediator, len(entities) - 1 + np.cumsum(mediator), np.cumsum(~mediator) - 1)
    source, target = (new[tables.triples[:, i]].astype(np.int32) for i in (0, 2))
    label = tables.triples[:, 1]
    place = np.array([_place(x.role) for x in labels], dtype=np.int32)[label]
    relation = np.array([relations.id(named(x), "relation") for x in labels], dtype=np.int32)[label]
    kind = _kinds(tables, mediator)
    count = int(mediator.sum())
    return KG(
        entities,
        relations,
        source,
        relation,
        target,
        kind,
        place,
        _primary_relations(source - len(entities), relation, kind, count),
        np.full(count, -1, dtype=np.int64),
        tables.transformation,
        tables.mode,
    )


def type_of(name: str) -> str:
    """Which kind of name this is."""
    if isinstance(name, Literal):
        return "literal"
    return "derived" if isinstance(name, Derived) else "entity"


def named(row: Node | Label) -> str:
    """The name of a row, of its own type."""
    if row.type not in _TYPES:
        raise DataError(f"unknown type {row.type!r} (known: {', '.join(_TYPES)})")
    return _TYPES[row.type](row.name)


def vocabulary(rows: Iterable[Node | Label], kind: str) -> Vocabulary:
    """The vocabulary of these rows; a repeated name is an error that says of what."""
    try:
        return Vocabulary(named(row) for row in rows)
    except DataError as error:
        raise DataError(f"{kind}: {error}") from None


def _label(kg: KG, edge_type: int) -> Label:
    """What an edge type beyond the relations themselves is called."""
    variant, relation = divmod(edge_type, len(kg.relations))
    name = kg.relations[relation]
    typed = (SUB, OBJ)[variant - 1] if kg.transformation in TYPED else f"{PLACE}{variant}"
    return Label(typed, type_of(name), str(name))


def _place(role: str) -> int:
    if role in (RELATION, SUB, OBJ):
        return 0
    number = role.removeprefix(PLACE)
    if number == role or not (number.isascii() and number.isdigit()) or number.startswith("0"):
        raise DataError(f"unknown role {role!r} (known: relation, sub, obj, place1, place2, …)")
    return int(number)


def _kinds(tables: Tables, mediator: Array) -> Kinds:
    from_mediator = mediator[tables.triples[:, 0]]
    role = np.array(
        [(Kind.SUB, Kind.OBJ)[x.role == OBJ] if x.role in (SUB, OBJ) else -1 for x in tables.labels]
    ).astype(np.int8)[tables.triples[:, 1]]
    places = np.array([_place(x.role) for x in tables.labels], dtype=np.int32)
    place = places[tables.triples[:, 1]]
    own = Kind.QUALIFIER if tables.transformation in TYPED else Kind.MEMBER
    plain = np.where(place > 0, Kind.QUALIFIER, np.where(from_mediator, own, Kind.BASE))
    return np.where(role >= 0, role, plain).astype(np.int8)


def _check_triples(tables: Tables) -> None:
    for column, rows, what in ((0, tables.nodes, "node"), (1, tables.labels, "relation")):
        ids = tables.triples[:, column] if column else tables.triples[:, [0, 2]]
        if ids.size and (ids.min() < 0 or ids.max() >= len(rows)):
            raise DataError(f"a triple names {what} {int(ids.max())} of {len(rows)}")


def _primary_relations(owner: Array, relation: Ids, kind: Kinds, count: int) -> Ids:
    """psi(b) by the r^sub edge, or by any edge of a plain star; -1 if there is none."""
    found = np.full(count, -1, dtype=np.int32)
    tells = (owner >= 0) & ((kind == Kind.SUB) | (kind == Kind.MEMBER))
    found[owner[tells]] = relation[tells]
    return found


def names_of(tables: Tables) -> list[str]:
    """The names of all nodes and labels, for checks."""
    return [n.name for n in tables.nodes] + [x.name for x in tables.labels]


def as_triples(columns: Sequence[Array]) -> Array:
    """Three columns as the triples of `Tables`."""
    return np.stack([np.asarray(c, dtype=np.int64) for c in columns], axis=1)  # (edges, 3)
