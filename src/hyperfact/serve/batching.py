"""One thread computes; questions that wait for it are answered together.

While a batch is computed new questions gather, and the next batch takes them all: nobody waits for
a clock. Equal questions are computed and written once. Different ones are scored together where
that does not change a bit (`hyperfact.serve.exactness`), so that a question always gets the same
bytes. Anything else (an explanation, a what-if) is computed by itself, in the order of arrival.
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
from hyperfact.predict.questions import ResolvedQuestion
from hyperfact.serve.opened import Models, Served

#: Questions of one batch.
WIDEST = 32

T = TypeVar("T")


@dataclass(frozen=True)
class TextQuestion:
    """A question as it came."""

    text: str
    request: Request


#: Who waits for the answer to each question, in the order of arrival.
Waiting = dict[TextQuestion, list["asyncio.Future[bytes]"]]


class AnswerQueue:
    """The queue before the one thread that computes.

    Args:
        models: All runs; each has its own gathering questions.
    """

    def __init__(self, models: Models) -> None:
        self._waiting: dict[str, Waiting] = {name: {} for name in models}
        self._busy: set[str] = set()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="hyperfact-answers")
        self._reader = ThreadPoolExecutor(1, thread_name_prefix="hyperfact-reader")
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, served: Served, question: TextQuestion) -> "asyncio.Future[bytes]":
        """The answers to a question as JSON, or the HyperfactError that says what is wrong."""
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._waiting[served.name].setdefault(question, []).append(future)
        if served.name not in self._busy:
            self._busy.add(served.name)
            task = asyncio.create_task(self._work(served))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return future

    async def run(self, served: Served, compute: Callable[[], T]) -> T:
        """What a function returns that computes with this run, by itself."""

        def locked() -> T:
            with served.lock:
                return compute()

        return await asyncio.get_running_loop().run_in_executor(self._thread, locked)

    async def look(self, compute: Callable[[], T]) -> T:
        """What a function returns that only reads names and facts; it waits for nobody."""
        return await asyncio.get_running_loop().run_in_executor(self._reader, compute)

    def close(self) -> None:
        """Compute no more."""
        for thread in (self._thread, self._reader):
            thread.shutdown(wait=False, cancel_futures=True)

    async def _work(self, served: Served) -> None:
        """Batch after batch, until nobody waits."""
        waiting = self._waiting[served.name]
        try:
            while waiting:
                first = list(islice(waiting, WIDEST))
                await self._batch(served, {question: waiting.pop(question) for question in first})
        finally:
            self._busy.discard(served.name)

    async def _batch(self, served: Served, some: Waiting) -> None:
        live = [q for q, futures in some.items() if not all(f.done() for f in futures)]
        try:
            found = await self.run(served, lambda: answer(served, live))
        except Exception as error:
            found = dict.fromkeys(live, error)
        for question, result in found.items():
            for future in some[question]:
                if future.done():  # its client has gone
                    continue
                if isinstance(result, bytes):
                    future.set_result(result)
                else:
                    future.set_exception(result)


def answer(
    served: Served, questions: Sequence[TextQuestion]
) -> dict[TextQuestion, bytes | Exception]:
    """The answers to different questions, or what is wrong with each."""
    found: dict[TextQuestion, bytes | Exception] = {}
    ready: dict[Request, dict[TextQuestion, ResolvedQuestion]] = {}
    for question in questions:
        try:
            resolved = served.predictor.resolve(question.text)
            ready.setdefault(question.request, {})[question] = resolved
        except HyperfactError as error:
            found[question] = error
    for request, members in ready.items():
        texts, resolved_ones = list(members), list(members.values())
        width = len(members) if served.together else 1
        for start in range(0, len(members), width):
            part = slice(start, start + width)
            answers = served.predictor.answer(resolved_ones[part], request)
            found.update(zip(texts[part], map(written, answers), strict=True))
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
