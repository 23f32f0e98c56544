"""The one set of templates and files: every value is escaped, a missing one is an error."""

from functools import lru_cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from hyperfact import __version__
from hyperfact.data.audit.findings import percent
from hyperfact.draw.pages.filters import figure, short, times, tone
from hyperfact.draw.text import visible
from hyperfact.graph.facts import Literal


@lru_cache
def environment() -> Environment:
    """The templates of every page."""
    found = Environment(
        loader=PackageLoader("hyperfact.draw.pages", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters.update(figure=figure, percent=percent, short=short, times=times, tone=tone)
    found.filters["visible"] = visible
    found.tests["literal"] = lambda name: isinstance(name, Literal)
    found.globals.update(style=_style, version=__version__)
    return found


def render(template: str, **values: Any) -> str:
    """A page."""
    return environment().get_template(template).render(**values)


def static_content(name: str) -> bytes:
    """One of the files that pages use."""
    return (files("hyperfact.draw.pages") / "static" / name).read_bytes()


def _style(*names: str) -> Markup:
    """Style sheets for a page that is one file."""
    return Markup("".join(static_content(name).decode("utf-8") for name in names))
