"""One thread computes; questions that wait for it are answered together.

While a turn is computed new questions gather, and the next turn takes them all: nobody waits for a
clock. Equal questions are computed and written once. Different ones are scored together where that
does not change a bit (`hyperfact.serve.exactness`), so that a question always gets the same bytes.
Anything else (an explanation, a what-if) is a turn of its own, in the order of arrival.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from typing import Any, TypeVar

from hyperfact.errors import HyperfactError
from hyperfact.predict import Answers
from hyperfact.predict.answers import Request
from hyperfact.predict.questions import AnyQuestion, Asked
from hyperfact.serve.opened import Models, Served

#: Questions of one turn.
WIDEST = 32

T = TypeVar("T")


@dataclass(frozen=True)
class Query:
    """A question as it came."""

    text: str
    request: Request


#: Who waits for the answer to each question, in the order of arrival.
Waiting = dict[Query, list["asyncio.Future[bytes]"]]


class AnswerQueue:
    """The queue before the one thread that computes.

    Args:
        models: All runs; each has its own gathering questions.
    """

    def __init__(self, models: Models) -> None:
        self._waiting: dict[str, Waiting] = {name: {} for name in models}
        self._busy: set[str] = set()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hyperfact-turns")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="hyperfact-reader")
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, served: Served, query: Query) -> "asyncio.Future[bytes]":
        """The answers to a question as JSON, or the HyperfactError that says what is wrong."""
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[served.name].setdefault(query, []).append(future)
        if served.name not in self._busy:
            self._busy.add(served.name)
            task = asyncio.create_task(self._work(served))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return future

    async def run(self, served: Served, compute: Callable[[], T]) -> T:
        """What a function returns that computes with this run, in a turn of its own."""

        def locked() -> T:
            with served.lock:
                return compute()

        return await asyncio.get_running_loop().run_in_executor(self._thread, locked)

    async def look(self, compute: Callable[[], T]) -> T:
        """What a function returns that only reads names and facts; it waits for no turn."""
        return await asyncio.get_running_loop().run_in_executor(self._reader, compute)

    def close(self) -> None:
        """Take no more turns."""
        for thread in (self._thread, self._reader):
            thread.shutdown(wait=False, cancel_futures=True)

    async def _work(self, served: Served) -> None:
        """Turn after turn, until nobody waits."""
        waiting = self._waiting[served.name]
        try:
            while waiting:
                first = list(islice(waiting, WIDEST))
                await self._turn(served, {query: waiting.pop(query) for query in first})
        finally:
            self._busy.discard(served.name)

    async def _turn(self, served: Served, some: Waiting) -> None:
        queries = [q for q, futures in some.items() if not all(f.done() for f in futures)]
        try:
            found = await self.run(served, lambda: answer(served, queries))
        except Exception as error:
            found = dict.fromkeys(queries, error)
        for query, result in found.items():
            for future in some[query]:
                if future.done():  # its client has gone
                    continue
                if isinstance(result, bytes):
                    future.set_result(result)
                else:
                    future.set_exception(result)


def answer(served: Served, queries: Sequence[Query]) -> dict[Query, bytes | Exception]:
    """The answers to different questions, or what is wrong with each."""
    found: dict[Query, bytes | Exception] = {}
    ready: dict[Request, list[tuple[Query, tuple[AnyQuestion, Asked]]]] = {}
    for query in queries:
        try:
            looked = served.predictor.look_up(query.text)
            ready.setdefault(query.request, []).append((query, looked))
        except HyperfactError as error:
            found[query] = error
    for request, members in ready.items():
        width = len(members) if served.together else 1
        for start in range(0, len(members), width):
            some = members[start : start + width]
            answers = served.predictor.answer([looked for _, looked in some], request)
            found.update((query, written(a)) for (query, _), a in zip(some, answers, strict=True))
    return found


def written(answers: Answers) -> bytes:
    """Answers as the bytes of JSON."""
    return to_json(answers.as_dict())


def to_json(value: Any) -> bytes:
    """JSON without spaces; characters that UTF-8 cannot hold are escaped."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode("ascii")
