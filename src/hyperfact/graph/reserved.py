"""Reserved identifiers for names that a format cannot hold as they stand.

Where a format wants an identifier (an IRI, a symbol, a node id), any text can be percent-encoded
under a prefix of ours. One text has one encoding, so that two identifiers never mean one name.
"""

from urllib.parse import quote, unquote

from hyperfact.errors import NotWritableError
from hyperfact.graph.facts import Derived, Literal
from hyperfact.system.source import Fault

PREFIX = "urn:hyperfact:"
NAME = PREFIX + "name:"
DERIVED = PREFIX + "derived:"
LITERAL = PREFIX + "literal:"


def reserve(prefix: str, text: str) -> str:
    """The reserved identifier of a text."""
    check_text(text)
    return prefix + quote(str.__str__(text), safe="")


def check_text(name: str) -> None:
    """Refuse what no encoding of text can hold."""
    if any("\ud800" <= char <= "\udfff" for char in name):
        raise NotWritableError(f"the name {str(name)!r} holds half of a surrogate pair")


def entity_of(identifier: str) -> str:
    """The entity or literal that an identifier means."""
    if identifier.startswith(NAME):
        return _text(identifier, NAME)
    if identifier.startswith(LITERAL):
        return Literal(_text(identifier, LITERAL))
    return identifier


def relation_of(identifier: str) -> str:
    """The relation that an identifier means."""
    if identifier.startswith(NAME):
        return _text(identifier, NAME)
    if identifier.startswith(DERIVED):
        return Derived(_text(identifier, DERIVED))
    return identifier


def _text(identifier: str, prefix: str) -> str:
    code = identifier.removeprefix(prefix)
    try:
        text = unquote(code, errors="strict")
    except UnicodeDecodeError:
        raise Fault(f"{identifier[:200]!r} does not percent-encode UTF-8") from None
    if quote(text, safe="") != code:
        raise Fault(f"{identifier[:200]!r} is not percent-encoded as hyperfact does it")
    return text
