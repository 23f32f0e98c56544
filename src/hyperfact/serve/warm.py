"""Everything once before the first client: what is made when first needed is made by then.

Afterwards a request opens no file, writes none, and imports nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, get_args
from urllib.parse import urlencode

from hyperfact.draw.pages.environment import environment
from hyperfact.graph.facts import show
from hyperfact.predict.fitting import Kind
from hyperfact.serve.app import Service
from hyperfact.serve.batching import to_json
from hyperfact.serve.exactness import same_together
from hyperfact.serve.http.exchange import answered
from hyperfact.serve.opened import Served
from hyperfact.serve.querying import examples


@dataclass(frozen=True)
class Call:
    """One request."""

    path: str
    query: dict[str, str] | None = None
    body: dict[str, Any] | None = None


async def warm(service: Service) -> None:
    """Ask the routes of every run once; the map is left, for it takes long and needs no file."""
    for name in environment().list_templates():
        environment().get_template(name)
    for path in ("/", "/api/health", "/api/models", "/api/openapi.json", "/no/such/page"):
        await _ask(service, Call(path))
    for served in service.models.values():
        with served.lock:
            for kind in get_args(Kind):
                served.predictor.calibration(kind)
            served.together = same_together(served.predictor)
        for call in _calls(served):
            await _ask(service, call)


def _calls(served: Served) -> Iterator[Call]:
    """Questions from the first fact; a run without facts is asked nothing."""
    fact = next((part[0] for part in served.splits.values() if len(part)), None)
    if fact is None:
        return
    api, page = f"/api/models/{served.name}", f"/m/{served.name}"
    question = f"{show(fact.subject)} | {show(fact.relation)} | ?"
    change = f"+ {show(fact.relation)} = {show(fact.object)}"
    one = {"question": question}
    yield Call(f"{api}/search", {"q": fact.subject[:3]})
    yield Call(f"{api}/search", {"q": fact.relation[:3], "kind": "relation"})
    yield Call(f"{api}/facts", {"entity": fact.subject})
    yield Call(f"{api}/slots", {"relation": fact.relation})
    yield Call(f"{api}/predict", body={**one, "any_name": True})
    yield Call(f"{api}/predict", body={"question": f"{show(fact.subject)} | no such name | ?"})
    yield Call(f"{api}/explain", body={**one, "answer": str(fact.object)})
    yield Call(f"{api}/what-if", body={**one, "changes": [change]})
    yield Call(
        f"{api}/complete", body={"entity": fact.subject, "budget": len(served.splits.entities)}
    )
    yield Call(f"{api}/batch", body={"questions": [question]})
    for query in examples(served):
        yield Call("/api/ask", body={"query": query, "model": served.name})
        yield Call(f"{page}/query", {"q": query})
    yield Call(page, {"q": question, "answer": fact.object, "change": change})
    yield Call(f"{page}/entity", {"name": fact.subject})
    yield Call(f"{page}/answers.csv", {"q": question})
    yield Call(f"{page}/card")


async def _ask(service: Service, call: Call) -> None:
    scope = {
        "type": "http",
        "method": "GET" if call.body is None else "POST",
        "http_version": "1.1",
        "scheme": "http",
        "path": call.path,
        "raw_path": call.path.encode(),
        "query_string": urlencode(call.query or {}, errors="replace").encode(),
        "root_path": "",
        "headers": [
            (b"host", b"localhost"),
            (b"accept", b"text/html"),
            (b"content-type", b"application/json"),
        ],
        "client": ("127.0.0.1", 0),
        "server": ("127.0.0.1", 0),
    }
    await answered(service, scope, b"" if call.body is None else to_json(call.body))
