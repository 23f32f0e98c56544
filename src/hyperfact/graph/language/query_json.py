"""Queries as JSON: `{"find": "x", "where": …}`.

A formula is `{"and": [ … ]}`, `{"or": [ … ]}`, `{"not": … }`, or a fact: `subject`, `relation`,
`object` and, if there are any, `qualifiers` as pairs. A name is a text, a variable
`{"variable": "x"}`, a literal `{"literal": "1938"}`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from hyperfact.errors import FactSyntaxError
from hyperfact.graph.facts import Literal
from hyperfact.graph.language.formula import (
    DEEPEST,
    MOST_FACTS,
    And,
    Atom,
    Formula,
    Not,
    Or,
    Query,
    Term,
    Variable,
)

_FIELDS = ("subject", "relation", "object")


def query_to_json(query: Query) -> dict[str, Any]:
    """The values that JSON holds."""
    return {"find": query.asked.name, "where": _formula(query.where)}


def _formula(formula: Formula) -> dict[str, Any]:
    if isinstance(formula, Not):
        return {"not": _formula(formula.part)}
    if isinstance(formula, And | Or):
        word = "and" if isinstance(formula, And) else "or"
        return {word: [_formula(part) for part in formula.parts]}
    assert isinstance(formula, Atom)
    found: dict[str, Any] = {name: _term(getattr(formula, name)) for name in _FIELDS}
    if formula.qualifiers:
        found["qualifiers"] = [[_term(a), _term(v)] for a, v in formula.qualifiers]
    return found


def _term(term: Term) -> Any:
    if isinstance(term, Variable):
        return {"variable": term.name}
    return {"literal": str(term)} if isinstance(term, Literal) else term


def query_from_json(value: Any) -> Query:
    """The query that such values hold.

    Raises:
        FactSyntaxError: With the place and what was expected there.
        UserError: A query that is too large.
    """
    _check_keys(value, {"find", "where"}, "the query")
    if not isinstance(value["find"], str):
        raise FactSyntaxError("find: expected the name of a variable")
    return Query(Variable(value["find"]), _read(value["where"], "where", 1))


def _read(value: Any, place: str, depth: int) -> Formula:
    if depth > DEEPEST:
        raise FactSyntaxError(f"more than {DEEPEST} formulas inside each other")
    if not isinstance(value, Mapping):
        raise FactSyntaxError(f"{place}: expected and, or, not, or a fact")
    if set(value) == {"not"}:
        return Not(_read(value["not"], f"{place}.not", depth + 1))
    for word, kind in (("and", And), ("or", Or)):
        if set(value) == {word}:
            parts = value[word]
            if not _is_list(parts) or not 1 <= len(parts) <= MOST_FACTS:
                raise FactSyntaxError(f"{place}.{word}: expected 1 to {MOST_FACTS} formulas")
            read = [_read(p, f"{place}.{word}[{i}]", depth + 1) for i, p in enumerate(parts)]
            return kind(tuple(read)) if len(read) > 1 else read[0]
    return _read_fact(value, place)


def _read_fact(value: Mapping[str, Any], place: str) -> Atom:
    _check_keys({"qualifiers": [], **value}, {*_FIELDS, "qualifiers"}, place)
    subject, relation, obj = (_read_term(value[name], f"{place}.{name}") for name in _FIELDS)
    pairs = value.get("qualifiers", [])
    if not _is_list(pairs) or not all(_is_list(pair) and len(pair) == 2 for pair in pairs):
        raise FactSyntaxError(f"{place}.qualifiers: expected pairs of attribute and value")
    where = f"{place}.qualifiers"
    read = tuple((_read_term(a, where), _read_term(v, where)) for a, v in pairs)
    return Atom(subject, relation, obj, read)


def _read_term(value: Any, place: str) -> Term:
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping) and len(value) == 1:
        ((kind, text),) = value.items()
        if kind in ("variable", "literal") and isinstance(text, str):
            return Variable(text) if kind == "variable" else Literal(text)
    raise FactSyntaxError(f'{place}: expected a name, {{"variable": …}} or {{"literal": …}}')


def _check_keys(value: Any, keys: set[str], place: str) -> None:
    if not isinstance(value, Mapping) or set(value) != keys:
        raise FactSyntaxError(f"{place}: expected an object of {', '.join(sorted(keys))}")


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
