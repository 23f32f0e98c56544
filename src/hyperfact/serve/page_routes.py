"""The HTML routes: every page is rendered here, and the address holds its whole state."""

from collections.abc import Callable, Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from hyperfact.draw.pages.environment import render
from hyperfact.errors import HyperfactError, UnknownNameError, UserError
from hyperfact.serve.addresses import address, frame, home_of, reason
from hyperfact.serve.asking import State, question_of_form
from hyperfact.serve.cards import card_of
from hyperfact.serve.download import answers_csv, file_name
from hyperfact.serve.entities import entity_view
from hyperfact.serve.maps import map_view
from hyperfact.serve.opened import Served
from hyperfact.serve.querying import lines_of, query_of_lines, query_view, refused_query
from hyperfact.serve.results import ask_view, changed_by_form, refused_view
from hyperfact.serve.static_files import static_address, static_files

Models = Mapping[str, Served]
Endpoint = Callable[[Request, Served], Response]
_FIELDS = {"s", "r", "o", "blank"}
_YEAR = "public, max-age=31536000, immutable"


def pages(models: Models) -> list[Route]:
    """Every HTML route over these models."""

    def start(request: Request) -> Response:  # noqa: ARG001 - every endpoint takes one
        if len(models) == 1:
            return RedirectResponse(home_of(next(iter(models))), status_code=303)
        cards = {name: served.card() for name, served in models.items()}
        return page("start.html", cards=cards, home_of=home_of, model=None, here="start")

    def of_model(endpoint: Endpoint) -> Callable[[Request], Response]:
        def answer(request: Request) -> Response:
            name = request.path_params["model"]
            served = models.get(name)
            if served is None:
                return error_page(404, str(UnknownNameError("model", name, list(models))))
            try:
                return endpoint(request, served)
            except HyperfactError as error:
                return refuse(error, served)

        return answer

    routes = {
        "/m/{model}": ask,
        "/m/{model}/query": query,
        "/m/{model}/entity": entity,
        "/m/{model}/map": show_map,
        "/m/{model}/card": card,
        "/m/{model}/answers.csv": download,
    }
    return [
        Route("/", start),
        *(Route(path, of_model(endpoint)) for path, endpoint in routes.items()),
        Route("/static/{file}", static),
    ]


def page(template: str, *, status: int = 200, **values: object) -> HTMLResponse:
    """A rendered page; a character that UTF-8 cannot hold is replaced."""
    text = render(template, static=static_address, **values)
    return HTMLResponse(text.encode("utf-8", "replace"), status_code=status)


def error_page(status: int, message: str) -> HTMLResponse:
    """A page that says what is wrong and where to go from there."""
    return page(
        "error.html",
        status=status,
        code=status,
        message=message,
        near=None,
        model=None,
        here="error",
    )


def refuse(error: HyperfactError, served: Served) -> HTMLResponse:
    """The page of an error inside a model."""
    status = 404 if isinstance(error, UnknownNameError) else 400
    status = status if isinstance(error, UserError) else 500
    near = error.nearest if isinstance(error, UnknownNameError) else None
    return page(
        "error.html",
        status=status,
        code=status,
        message=reason(error),
        near=near,
        **frame(served, "error"),
    )


def ask(request: Request, served: Served) -> Response:
    """Search, build a question, answers, explanation, what-if."""
    params = request.query_params.multi_items()
    home, one = home_of(served.name), dict(params)
    state = State()
    try:
        state = State.read(params)
        if _FIELDS & set(one):
            state = state.asking(question_of_form(one, served.predictor))
            return RedirectResponse(state.at(home), status_code=303)
        if "add_a" in one or "add_v" in one:
            state = changed_by_form(served, state, one)
            return RedirectResponse(state.at(home), status_code=303)
        return page("ask.html", **ask_view(served.supposing(state.also), state))
    except UserError as error:
        status = 404 if isinstance(error, UnknownNameError) else 400
        return page("ask.html", status=status, **refused_view(served, state, one, error))


def query(request: Request, served: Served) -> Response:
    """Build a query with several blanks; its answers and its graph."""
    one = dict(request.query_params.multi_items())
    view = query_view(served, one)
    if "s1" in one and "q" not in one:
        try:
            text = str(query_of_lines(lines_of(one), one.get("find", "x").strip().lstrip("?")))
            where = address(f"{home_of(served.name)}/query", [("q", text)])
            return RedirectResponse(where, status_code=303)
        except UserError as error:
            view = refused_query(served, one, error)
    return page("query.html", **view)


def entity(request: Request, served: Served) -> Response:
    """The facts of an entity."""
    return page("entity.html", **entity_view(served, request.query_params))


def show_map(request: Request, served: Served) -> Response:  # noqa: ARG001 - one signature for all
    """Entities and mediators in two dimensions."""
    return page("map.html", **map_view(served))


def card(request: Request, served: Served) -> Response:  # noqa: ARG001 - one signature for all
    """What the dataset and the model are, and how well it does by which protocol."""
    return page("card.html", **card_of(served))


def download(request: Request, served: Served) -> Response:
    """The answers of a question as CSV."""
    state = State.read(request.query_params.multi_items())
    if not state.question:
        raise UserError("there is no question; ask one with ?q=s | r | ?")
    headers = {"content-disposition": f'attachment; filename="{file_name(served.name)}"'}
    return Response(
        answers_csv(served.supposing(state.also), state), media_type="text/csv", headers=headers
    )


def static(request: Request) -> Response:
    """One of the files of the page, and no other."""
    found = static_files().get(request.path_params["file"])
    if found is None:
        raise HTTPException(404, "no such file")
    fresh = request.query_params.get("v") == found.mark
    headers = {"cache-control": _YEAR if fresh else "no-cache"}
    return Response(found.content, media_type=found.kind, headers=headers)
