"""The JSON API: each endpoint reads a request, lets it be computed, and writes the result."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeVar

from pydantic import BaseModel
from starlette.requests import Request as Http
from starlette.responses import Response
from starlette.routing import Route

from hyperfact.errors import HyperfactError
from hyperfact.predict import complete
from hyperfact.predict.explain import explain
from hyperfact.predict.moving import move
from hyperfact.predict.whatif import whatif
from hyperfact.serve import requests
from hyperfact.serve.batching import WIDEST, AnswerQueue, TextQuestion, to_json
from hyperfact.serve.guard import error_body
from hyperfact.serve.http.refusals import RefusedError
from hyperfact.serve.openapi import document
from hyperfact.serve.opened import FoundName, Models, QueryRequest, Served
from hyperfact.serve.projection import projection

Shape = TypeVar("Shape", bound=BaseModel)
Endpoint = Callable[[Http], Awaitable[Response]]


class Told(Protocol):
    """What can be told as JSON."""

    def as_dict(self) -> dict[str, Any]:
        """By the names that the interface has."""
        ...


class Api:
    """The endpoints over some runs.

    Args:
        models: The runs.
        queue: Where answers are computed.
    """

    def __init__(self, models: Models, queue: AnswerQueue) -> None:
        self.models, self.queue = models, queue

    def routes(self) -> list[Route]:
        """All of them; but for added facts, where allowed, nothing changes the service."""
        model = "/api/models/{model}"
        gets: dict[str, Endpoint] = {
            "/api/health": self.health,
            "/api/openapi.json": self.openapi,
            "/api/models": self.list_models,
            f"{model}/search": self.search,
            f"{model}/facts": self.facts,
            f"{model}/slots": self.slots,
            f"{model}/map": self.show_map,
        }
        posts: dict[str, Endpoint] = {
            "/api/ask": self.ask,
            "/api/facts": self.change_facts,
            f"{model}/predict": self.predict,
            f"{model}/explain": self.explain,
            f"{model}/what-if": self.what_if,
            f"{model}/move": self.move,
            f"{model}/complete": self.complete,
            f"{model}/batch": self.batch,
        }
        return [
            *(Route(path, end, methods=["GET"]) for path, end in gets.items()),
            *(Route(path, end, methods=["POST"]) for path, end in posts.items()),
        ]

    async def health(self, request: Http) -> Response:
        """Whether the service answers."""
        _query(requests.Query, request)
        return _json({"status": "ok"})

    async def openapi(self, request: Http) -> Response:
        """The description of all this."""
        _query(requests.Query, request)
        return _json(document())

    async def list_models(self, request: Http) -> Response:
        """The runs."""
        _query(requests.Query, request)
        return _json({"models": [served.card() for served in self.models.values()]})

    async def search(self, request: Http) -> Response:
        """Names."""
        served, asked = self._served(request), _query(requests.Search, request)
        found = await self.queue.look(lambda: served.search(asked.kind, asked.q, asked.limit))
        return _json({"names": _found(found)})

    async def facts(self, request: Http) -> Response:
        """The facts of an entity."""
        served, asked = self._served(request), _query(requests.Facts, request)
        total, facts = await self.queue.look(
            lambda: served.facts_of(asked.entity, asked.offset, asked.limit)
        )
        rows = [
            {
                "subject": fact.subject,
                "relation": fact.relation,
                "object": fact.object,
                "qualifiers": [list(pair) for pair in fact.qualifiers],
                "split": split,
                "text": str(fact),
                "label": served.predictor.labels.fact(fact),
            }
            for split, fact in facts
        ]
        return _json({"total": total, "facts": rows})

    async def slots(self, request: Http) -> Response:
        """The attributes of a relation."""
        served, asked = self._served(request), _query(requests.Slots, request)
        found = await self.queue.look(lambda: served.attributes_of(asked.relation))
        return _json({"attributes": _found(found)})

    async def show_map(self, request: Http) -> Response:
        """All names in two dimensions."""
        served = self._served(request)
        _query(requests.Query, request)

        def compute() -> bytes:
            return to_json(projection(served.predictor).as_dict())

        return _bytes(await self.queue.run(served, compute))

    async def predict(self, request: Http) -> Response:
        """The best answers to a question."""
        served, asked = self._served(request), await _body(requests.Predict, request)
        return _bytes(await self.queue.ask(served, TextQuestion(asked.question, asked.request)))

    async def ask(self, request: Http) -> Response:
        """The best answers to a query with several blanks."""
        asked = await _body(requests.Ask, request)
        served = self.models.get_known(asked.model or self._only())
        how = QueryRequest(asked.k, asked.logic, asked.beam, asked.milliseconds, asked.any_name)

        def compute() -> bytes:
            return to_json(served.query(asked.query, how).as_dict())

        return _bytes(await self.queue.run(served, compute))

    async def change_facts(self, request: Http) -> Response:
        """Facts that count as true, in this process and until it ends."""
        asked = await _body(requests.ChangeFacts, request)
        served = self.models.get_known(asked.model or self._only())
        if not served.most_facts:
            raise RefusedError(403, "facts cannot be added here: start the service with --facts N")

        def compute() -> bytes:
            addition = served.change_facts(asked.add, asked.remove)
            facts = sorted(map(str, served.predictor.added))
            return to_json({**addition.as_dict(), "facts": facts})

        return _bytes(await self.queue.run(served, compute))

    def _only(self) -> str:
        if len(self.models) != 1:
            raise requests.RequestError(f"model: one of {', '.join(self.models)}")
        return next(iter(self.models))

    async def _told(self, served: Served, find: Callable[[], Told]) -> Response:
        """What is found when it is this request's turn, as JSON."""
        return _bytes(await self.queue.run(served, lambda: to_json(find().as_dict())))

    async def explain(self, request: Http) -> Response:
        """What speaks for an answer."""
        served, asked = self._served(request), await _body(requests.Explain, request)

        def find() -> Told:
            return explain(
                served.predictor,
                asked.question,
                asked.answer,
                count=asked.count,
                request=asked.request,
            )

        return await self._told(served, find)

    async def what_if(self, request: Http) -> Response:
        """The same question with other qualifiers."""
        served, asked = self._served(request), await _body(requests.WhatIf, request)

        def find() -> Told:
            return whatif(
                served.predictor,
                asked.question,
                asked.changes,
                k=asked.k,
                known=asked.known,
                restrict_range=not asked.any_name,
            )

        return await self._told(served, find)

    async def move(self, request: Http) -> Response:
        """The same question at each value of a number."""
        served, asked = self._served(request), await _body(requests.Move, request)

        def find() -> Told:
            return move(
                served.predictor,
                asked.question,
                asked.attribute,
                k=asked.k,
                known=asked.known,
                restrict_range=not asked.any_name,
            )

        return await self._told(served, find)

    async def complete(self, request: Http) -> Response:
        """New facts of an entity."""
        served, asked = self._served(request), await _body(requests.Complete, request)

        def find() -> Told:
            return complete(
                served.predictor,
                entity=asked.entity,
                budget=asked.budget,
                limit=asked.limit,
                restrict_range=not asked.any_name,
            )

        return await self._told(served, find)

    async def batch(self, request: Http) -> Response:
        """Many questions, a few at a time; between them those of others are answered."""
        served, asked = self._served(request), await _body(requests.Batch, request)
        questions = [TextQuestion(text, asked.request) for text in asked.questions]
        different = list(dict.fromkeys(questions))
        parts: dict[TextQuestion, bytes] = {}
        for start in range(0, len(different), WIDEST):
            some = different[start : start + WIDEST]
            waiting = [self.queue.ask(served, question) for question in some]
            found = await asyncio.gather(*waiting, return_exceptions=True)
            parts.update(zip(some, map(_part, found), strict=True))
        return _bytes(b'{"answers":[' + b",".join(parts[q] for q in questions) + b"]}")

    def _served(self, request: Http) -> Served:
        return self.models.get_known(request.path_params["model"])


def _part(found: bytes | BaseException) -> bytes:
    """One item of a batch: answers, or what is wrong with the question."""
    if isinstance(found, HyperfactError):
        return error_body(found)
    if isinstance(found, BaseException):
        raise found
    return found


def _query(shape: type[Shape], request: Http) -> Shape:
    return requests.read_query(shape, request.query_params.multi_items())


async def _body(shape: type[Shape], request: Http) -> Shape:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusedError(415, "the content type of a request is application/json")
    if request.query_params:
        raise requests.RequestError("this address takes no parameters; they belong into the body")
    return requests.read_body(shape, await request.body())


def _found(found: Sequence[FoundName]) -> list[dict[str, Any]]:
    return [{"name": one.name, "label": one.label, "facts": one.facts} for one in found]


def _json(value: Any) -> Response:
    return _bytes(to_json(value))


def _bytes(body: bytes) -> Response:
    return Response(body, media_type="application/json")
