"""The OpenAPI document, made from the shapes that requests are checked with."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel, TypeAdapter

from hyperfact import __version__
from hyperfact.serve import change_replies as changed
from hyperfact.serve import replies, requests

_REF = "#/components/schemas/{model}"
_MODEL = "/api/models/{model}"
_ERRORS = {400: "a wrong request", 404: "an unknown name", 503: "too many requests at once"}


@dataclass(frozen=True)
class Operation:
    """One endpoint: what it takes and what it gives."""

    method: str
    path: str
    summary: str
    takes: type[BaseModel]
    gives: Any  # a typed dictionary


OPERATIONS = (
    Operation("get", "/api/health", "whether the service answers", requests.Query, replies.Health),
    Operation("get", "/api/models", "the runs", requests.Query, replies.ModelList),
    Operation(
        "post", "/api/ask", "answer a query with several blanks", requests.Ask, replies.QueryReply
    ),
    Operation(
        "post", "/api/facts", "add or remove facts", requests.ChangeFacts, replies.FactsReply
    ),
    Operation("get", f"{_MODEL}/search", "search names", requests.Search, replies.NameList),
    Operation("get", f"{_MODEL}/facts", "facts of an entity", requests.Facts, replies.FactList),
    Operation(
        "get", f"{_MODEL}/slots", "attributes of a relation", requests.Slots, replies.AttributeList
    ),
    Operation("get", f"{_MODEL}/map", "names in two dimensions", requests.Query, replies.MapReply),
    Operation(
        "post", f"{_MODEL}/predict", "answer a question", requests.Predict, replies.AnswerList
    ),
    Operation(
        "post", f"{_MODEL}/explain", "explain an answer", requests.Explain, replies.ExplanationReply
    ),
    Operation(
        "post", f"{_MODEL}/what-if", "change a question", requests.WhatIf, changed.WhatIfReply
    ),
    Operation("post", f"{_MODEL}/move", "move a number", requests.Move, changed.MovedReply),
    Operation(
        "post", f"{_MODEL}/complete", "propose facts", requests.Complete, replies.CompletionReply
    ),
    Operation(
        "post", f"{_MODEL}/batch", "answer many questions", requests.Batch, replies.BatchReply
    ),
)


@cache
def document() -> dict[str, Any]:
    """The document, as JSON would hold it."""
    schemas: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    error = _schema(replies.ErrorReply, schemas)
    for operation in OPERATIONS:
        given = {"description": "done", "content": _content(_schema(operation.gives, schemas))}
        wrong = {
            str(status): {"description": text, "content": _content(error)}
            for status, text in _ERRORS.items()
        }
        entry: dict[str, Any] = {"summary": operation.summary, "responses": {"200": given, **wrong}}
        parameters = list(_parameters(operation))
        if parameters:
            entry["parameters"] = parameters
        if operation.method == "post":
            body = _content(_schema(operation.takes, schemas))
            entry["requestBody"] = {"required": True, "content": body}
        paths.setdefault(operation.path, {})[operation.method] = entry
    info = {"title": "hyperfact", "version": __version__, "description": "Ask trained runs."}
    return {
        "openapi": "3.1.0",
        "info": info,
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _parameters(operation: Operation) -> Iterator[dict[str, Any]]:
    if "{model}" in operation.path:
        text = {"type": "string"}
        yield {"name": "model", "in": "path", "required": True, "schema": text}
    if operation.method == "get":
        schema = operation.takes.model_json_schema()
        required = schema.get("required", ())
        for name, shape in schema.get("properties", {}).items():
            yield {"name": name, "in": "query", "required": name in required, "schema": shape}


def _schema(shape: Any, schemas: dict[str, Any]) -> dict[str, Any]:
    """Note a shape with all that it refers to, and refer to it."""
    found = TypeAdapter(shape).json_schema(ref_template=_REF)
    schemas.update(found.pop("$defs", {}))
    schemas[shape.__name__] = found
    return {"$ref": _REF.format(model=shape.__name__)}


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
