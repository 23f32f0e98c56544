"""One text for each node and each label, for formats that know nothing but names.

A user's name stays as it is unless it would be misread: then it is percent-encoded under a reserved
prefix, as are r^sub and r^obj. So no two things ever get the same identifier.
"""

from hyperfact.errors import DataError
from hyperfact.graph import reserved
from hyperfact.graph.facts import Literal
from hyperfact.system.source import Fault
from hyperfact.transforms.interchange.edge_table import MEDIATOR, OBJ, RELATION, SUB, Label, Node

FACT = reserved.PREFIX + "fact:"  # a mediator, by the hash of what it stands for
_UNSAFE = "\t\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029\ufeff"


def node_identifier(node: Node) -> str:
    """The identifier of a node."""
    if node.type == MEDIATOR:
        return FACT + node.name
    if node.type == "literal":
        return reserved.reserve(reserved.LITERAL, node.name)
    return _plain(node.name)


def node_of(identifier: str) -> Node:
    """The node that an identifier means."""
    if identifier.startswith(FACT):
        return Node(MEDIATOR, identifier.removeprefix(FACT))
    try:
        name = reserved.entity_of(identifier)
    except Fault as fault:
        raise DataError(str(fault)) from None
    return Node("literal" if isinstance(name, Literal) else "entity", str(name))


def label_identifier(label: Label) -> str:
    """The identifier of a label; a relation keeps its name, its roles are reserved."""
    if label.role == RELATION and label.type != "literal":
        return _plain(label.name)
    kind = "literal:" if label.type == "literal" else ""
    return reserved.reserve(f"{reserved.PREFIX}{label.role}:{kind}", label.name)


def label_of(identifier: str) -> Label:
    """The label that an identifier means."""
    role, found, code = identifier.removeprefix(reserved.PREFIX).partition(":")
    known = role in (RELATION, SUB, OBJ) or role.startswith("place")
    if not identifier.startswith(reserved.PREFIX) or not found or not known:
        return Label(RELATION, "entity", _decode(identifier))
    type_ = "literal" if code.startswith("literal:") else "entity"
    return Label(role, type_, _decode(reserved.NAME + code.removeprefix("literal:")))


def _plain(name: str) -> str:
    safe = not name.startswith(reserved.PREFIX) and not any(c in _UNSAFE for c in name)
    if safe and name and name == name.strip():
        reserved.check_text(name)
        return name
    return reserved.reserve(reserved.NAME, name)


def _decode(identifier: str) -> str:
    try:
        return str(reserved.relation_of(identifier))
    except Fault as fault:
        raise DataError(str(fault)) from None
