"""The statements of a Wikidata entity as facts: which are taken, and what is left out and why."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from hyperfact.data.formats.wikidata_values import ENTITY, PROPERTY, name_of
from hyperfact.errors import UnknownNameError, UserError
from hyperfact.system.source import Fault

RANKS = ("all", "best", "truthy")
INSTANCE_OF = "P31"
_LABELS = ("labels", "lemmas", "representations", "glosses")  # of items, lexemes, forms, senses
_RANKS = ("preferred", "normal", "deprecated")
#: What can be left out, in words behind its number.
NOTES = {
    "deprecated": "deprecated statements are left out",
    "statement": "statements without a known value (somevalue, novalue) are left out",
    "qualifier": "qualifiers without a known value (somevalue, novalue) are left out",
    "type": "values of a type that is unknown here are left out with their statement or qualifier",
    "missing": "entities are marked as missing",
    "class": "entities of other classes are left out",
    "property": "statements of other properties are left out",
    "rank": "statements are left out for a preferred one of the same property",
    "truthy": "qualifiers are left out of truthy statements",
    "literal": "facts with a literal are dropped",
    "literal qualifier": "qualifiers with a literal are dropped",
}


@dataclass(frozen=True)
class Choice:
    """Which statements are taken.

    Args:
        properties: Only statements of these; of all if empty.
        classes: Only entities that are an instance (P31) of one of these; all if empty.
        rank: `all` preferred and normal statements; `best`, only preferred ones of a property
            that has one; `truthy`, the same without their qualifiers.
        language: Of labels; English ones first if empty.
    """

    properties: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    rank: str = "all"
    language: str = ""

    def __post_init__(self) -> None:
        if self.rank not in RANKS:
            raise UnknownNameError("rank", self.rank, RANKS)
        for names, pattern, example in (
            (self.properties, PROPERTY, "P39"),
            (self.classes, ENTITY, "Q5"),
        ):
            for name in names:
                if not pattern.fullmatch(name):
                    raise UserError(f"{name!r} is no id of Wikidata; expected one like {example}")


class Labels(Protocol):
    """Takes what names are called."""

    def add(self, name: str, label: str, language: str = "") -> None:
        """One label."""


Add = Callable[[str, str, str, Iterable[str], Sequence[str]], None]


class Statements:
    """Gives the facts of entities to `add` and their labels to `labels`; counts the rest."""

    def __init__(self, add: Add, labels: Labels, choice: Choice | None = None):
        self._add, self._labels = add, labels
        self._choice = choice or Choice()
        self.left_out = Counter[str]()

    def entity(self, entity: object) -> None:
        """The facts of an item, a property, or a lexeme with its forms and senses."""
        if not isinstance(entity, dict):
            raise Fault("an entity must be an object")
        name = entity.get("id")
        if "missing" in entity:
            self.left_out["missing"] += 1
            return
        if not isinstance(name, str) or not ENTITY.fullmatch(name):
            raise Fault(f"expected an entity with an id like Q42, got {name!r}"[:200])
        claims = entity["claims"] if "claims" in entity else entity.get("statements")
        groups = _groups(claims, "claims")
        if not self._is_of_class(groups):
            self.left_out["class"] += 1
            return
        self._label(name, entity)
        for key, statements in groups:
            for statement in self._chosen(key, statements):
                self._statement(name, key, statement)
        for part in (*_list(entity, "forms"), *_list(entity, "senses")):
            self.entity(part)

    def _is_of_class(self, groups: Iterable[tuple[str, list[Any]]]) -> bool:
        wanted = self._choice.classes
        if not wanted:
            return True
        found = (row for key, rows in groups if key == INSTANCE_OF for row in rows)
        return any(_item(row) in wanted for row in found)

    def _chosen(self, key: str, statements: list[Any]) -> list[Any]:
        """The statements of a property that are asked for."""
        choice = self._choice
        if choice.properties and key not in choice.properties:
            self.left_out["property"] += len(statements)
            return []
        if choice.rank == "all":
            return statements
        best = [s for s in statements if isinstance(s, dict) and s.get("rank") == "preferred"]
        if best:
            self.left_out["rank"] += len(statements) - len(best)
        return best or statements

    def _label(self, name: str, entity: Mapping[str, Any]) -> None:
        """Labels are no facts, so that one of an unknown form is let be."""
        groups = (entity[key] for key in _LABELS if isinstance(entity.get(key), dict))
        for language, term in dict(next(groups, {})).items():
            text = term.get("value") if isinstance(term, dict) else term
            wanted = self._choice.language
            if isinstance(text, str) and (not wanted or language == wanted):
                self._labels.add(name, text, language)

    def _statement(self, subject: str, key: str, statement: object) -> None:
        if not isinstance(statement, dict):
            raise Fault(f"a statement of {key} must be an object")
        rank = statement.get("rank", "normal")
        if rank not in _RANKS:
            raise Fault(f"the rank of a statement must be one of {', '.join(_RANKS)}, got {rank!r}")
        obj = self._snak(key, statement.get("mainsnak"), "statement")
        attributes, values = self._qualifiers(statement)
        if rank == "deprecated":
            self.left_out["deprecated"] += 1
        elif obj is not None:
            self._add(subject, key, obj, attributes, values)

    def _qualifiers(self, statement: Mapping[str, Any]) -> tuple[list[str], list[str]]:
        attributes, values = [], []
        for attribute, snaks in _groups(statement.get("qualifiers"), "qualifiers"):
            for snak in snaks:
                value = self._snak(attribute, snak, "qualifier")
                if value is not None:
                    attributes.append(attribute)
                    values.append(value)
        if values and self._choice.rank == "truthy":
            self.left_out["truthy"] += len(values)
            return [], []
        return attributes, values

    def _snak(self, key: str, snak: object, what: str) -> str | None:
        if not isinstance(snak, dict):
            raise Fault(f"a {what} of {key} must have a snak, which is an object")
        if snak.get("property", key) != key:
            raise Fault(f"a {what} of {key} is about {snak['property']!r}")
        if snak.get("snaktype") in ("somevalue", "novalue"):
            self.left_out[what] += 1
            return None
        if snak.get("snaktype") != "value":
            raise Fault(f"the snaktype of a {what} cannot be {snak.get('snaktype')!r}")
        found = name_of(snak.get("datavalue"))
        if found is None:
            self.left_out["type"] += 1
        return found


def _item(statement: object) -> object:
    """The id that a statement points to, if it is a valid one of an item."""
    if not isinstance(statement, dict) or statement.get("rank") == "deprecated":
        return None
    snak = statement.get("mainsnak")
    value = snak.get("datavalue") if isinstance(snak, dict) else None
    inner = value.get("value") if isinstance(value, dict) else None
    return inner.get("id") if isinstance(inner, dict) else None


def _list(entity: Mapping[str, Any], key: str) -> list[Any]:
    found = entity.get(key, [])
    if isinstance(found, dict) and not found:
        return []
    if not isinstance(found, list):
        raise Fault(f"{key!r} must be a list")
    return found


def _groups(groups: object, what: str) -> Iterable[tuple[str, list[Any]]]:
    """Lists by property; where nothing stands Wikidata writes an empty list."""
    if groups is None or groups == []:
        return ()
    if not isinstance(groups, dict):
        raise Fault(f"the {what} must be an object with a list for each property")
    for key, rows in groups.items():
        if not PROPERTY.fullmatch(key) or not isinstance(rows, list):
            raise Fault(f"the {what} must be an object with a list for each property, not {key!r}")
    return groups.items()
