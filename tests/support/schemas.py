"""Requests drawn from an OpenAPI document: some fit it, most nearly do."""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode

from hypothesis import strategies as st

Schema = Mapping[str, Any]

_ANYTHING: st.SearchStrategy[Any] = st.sampled_from(
    [
        *(None, True, False, 0, -1, 1, 10**9, 10**400, 1.5, 1e308, float("nan"), float("inf")),
        *("", "?", "a | b | ?", "\x00", "x" * 5000, "\ud800", [], [None], [[]], {}, {"a": {}}),
    ]
) | st.text(max_size=10)


def values(schema: Schema, words: st.SearchStrategy[str]) -> st.SearchStrategy[Any]:
    """Values that fit a schema; texts come from `words`."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "string":
        return words
    if kind == "integer":
        return st.integers(schema.get("minimum", -5), min(schema.get("maximum", 50), 50))
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        inner = values(schema["items"], words)
        return st.lists(inner, min_size=schema.get("minItems", 0), max_size=3)
    if kind == "object":
        required = schema.get("required", ())
        fields = {n: values(s, words) for n, s in schema.get("properties", {}).items()}
        must = {name: fields[name] for name in required}
        may = {name: part for name, part in fields.items() if name not in required}
        return st.fixed_dictionaries(must, optional=may)
    raise AssertionError(f"a schema that this does not know: {schema}")


@st.composite
def requests(
    draw: st.DrawFn, document: Schema, words: st.SearchStrategy[str], models: list[str]
) -> tuple[str, str, bytes | None]:
    """Method, address and body of a request to some operation."""
    path = draw(st.sampled_from(sorted(document["paths"])))
    ((method, operation),) = document["paths"][path].items()
    model = draw(st.sampled_from(models) | st.text(max_size=8))
    target = path.replace("{model}", quote(model, safe=""))
    given = [p for p in operation.get("parameters", ()) if p["in"] == "query"]
    schema = {
        "type": "object",
        "properties": {p["name"]: p["schema"] for p in given},
        "required": [p["name"] for p in given if p["required"]],
    }
    query = _spoilt(draw, draw(values(schema, words)))
    pairs = [(name, str(value)) for name, value in query.items()]
    text = urlencode(pairs, errors="replace")
    target = f"{target}?{text[:4000]}" if text else target
    if method == "get":
        return "GET", target, None
    reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    found = document["components"]["schemas"][reference.rpartition("/")[2]]
    body = _spoilt(draw, draw(values(found, words)))
    return "POST", target.partition("?")[0], json.dumps(body).encode()


def _spoilt(draw: st.DrawFn, value: dict[str, Any]) -> dict[str, Any]:
    """The same, or with one field changed, lost or added."""
    way = draw(st.sampled_from(("keep", "keep", "change", "drop", "add")))
    names = sorted(value)
    if way in ("change", "drop") and names:
        name = draw(st.sampled_from(names))
        rest = {n: v for n, v in value.items() if n != name}
        return rest if way == "drop" else {**rest, name: draw(_ANYTHING)}
    return {**value, draw(st.text(max_size=6)): draw(_ANYTHING)} if way == "add" else value
