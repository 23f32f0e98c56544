"""Where the pages of the service are, and what every page of a model needs."""

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, urlencode

from hyperfact.serve.opened import Served

LONGEST = 6000  # characters of an address that a server takes without doubt

Value = str | int | None


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


def frame(served: Served, here: str) -> dict[str, Any]:
    """What every page of a model needs."""
    home, entities = home_of(served.name), served.predictor.entities

    def page_of(name: str) -> str:
        return entity_address(home, name, entities.get(name))

    labels = served.predictor.labels
    return {"model": served.name, "home": home, "here": here, "page_of": page_of, "labels": labels}


def reason(error: Exception) -> str:
    """The text of an error without the near name, which the page offers as a link."""
    text = str(error)
    near = getattr(error, "nearest", None)
    return text.replace(f"; did you mean {near!r}?", "") if near is not None else text
