"""How the page shows names and numbers, and how it writes addresses: nothing is markup but ours."""

from collections.abc import Iterable
from functools import lru_cache
from math import exp
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined

from hyperfact import __version__
from hyperfact.draw.text import visible
from hyperfact.graph.facts import Literal

if TYPE_CHECKING:
    from hyperfact.serve.opened import Served

SHORT = 96  # characters of a name in a list
LONGEST = 6000  # characters of an address that a server takes without doubt

Value = str | int | None


def short(name: str, limit: int = SHORT) -> str:
    """A name for a list: cut, with a sign for each character that cannot be shown."""
    return visible(name if len(name) <= limit else name[: limit - 1]) + ("…" * (len(name) > limit))


def percent(share: float) -> str:
    """A share as people read it."""
    if 0.0 < share < 0.0005:
        return "< 0.1 %"
    return f"{100 * share:.1f} %"


def times(change: float) -> str:
    """A change of a log probability as a factor."""
    if abs(change) < 0.02:
        return "no change"
    factor = exp(min(abs(change), 60.0))
    sign = "÷" if change < 0 else "×"
    return f"{sign} {factor:,.0f}" if factor >= 10 else f"{sign} {factor:.2g}"


def figure(value: object) -> str:
    """A number of a table."""
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no"}.get(value, "–")  # type: ignore[arg-type]
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.3f}"
    return visible(str(value))


def address(path: str, pairs: Iterable[tuple[str, Value]] = ()) -> str:
    """A path with its query; None is left out."""
    kept = [(key, str(value)) for key, value in pairs if value is not None]
    query = urlencode(kept, quote_via=quote, errors="replace")
    return path + (f"?{query}" if query else "")


def home_of(model: str) -> str:
    """The path of a model."""
    return f"/m/{quote(model, safe='', errors='replace')}"


def entity_address(home: str, name: str, number: int | None) -> str:
    """The page of an entity; one with a long name is called by its number."""
    plain = address(f"{home}/entity", [("name", name)])
    if len(plain) > LONGEST and number is not None:
        return address(f"{home}/entity", [("id", number)])
    return plain


def frame(served: "Served", here: str) -> dict[str, Any]:
    """What every page of a model needs."""
    home, entities = home_of(served.name), served.predictor.entities

    def page_of(name: str) -> str:
        return entity_address(home, name, entities.get(name))

    return {"model": served.name, "home": home, "here": here, "page_of": page_of}


def reason(error: Exception) -> str:
    """The text of an error without the near name, which the page offers as a link."""
    text = str(error)
    near = getattr(error, "nearest", None)
    return text.replace(f"; did you mean {near!r}?", "") if near is not None else text


def is_literal(name: str) -> bool:
    """Whether a name is a value and no thing."""
    return isinstance(name, Literal)


@lru_cache
def templates() -> Environment:
    """The templates, with every value escaped."""
    found = Environment(
        loader=PackageLoader("hyperfact.serve", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(short=short, visible=visible, percent=percent, figure=figure, times=times)
    found.tests["literal"] = is_literal
    found.globals.update(address=address, home_of=home_of, version=__version__)
    return found


def render(template: str, **values: Any) -> str:
    """A page."""
    return templates().get_template(template).render(**values)
