"""The whole service as one ASGI app."""

from collections.abc import Iterable

from starlette.routing import Route, Router

from hyperfact.serve.batching import AnswerQueue
from hyperfact.serve.guard import Guard
from hyperfact.serve.opened import Models
from hyperfact.serve.page_routes import error_page, pages
from hyperfact.serve.routes import Api


class Service(Guard):
    """The app with what it holds.

    Args:
        models: The runs.
        hosts: Further names under which it may be asked.
        at_once: Requests in work at once.
    """

    def __init__(self, models: Models, *, hosts: Iterable[str] = (), at_once: int = 64) -> None:
        self.models, self.queue = models, AnswerQueue(models)
        self.routes: list[Route] = [*Api(models, self.queue).routes(), *pages(models)]
        router = Router(self.routes, redirect_slashes=False)
        super().__init__(router, hosts=hosts, at_once=at_once, page=error_page)


def create_app(models: Models, *, hosts: Iterable[str] = (), at_once: int = 64) -> Service:
    """The service over these runs."""
    return Service(models, hosts=hosts, at_once=at_once)
