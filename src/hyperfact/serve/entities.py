"""What the page of an entity shows: its facts drawn, each place of each a way to go on."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from hyperfact.draw import draw_neighbourhood
from hyperfact.errors import UserError
from hyperfact.graph.facts import Fact
from hyperfact.serve.asking import State, blanked
from hyperfact.serve.opened import Served
from hyperfact.serve.shown import LONGEST, address, frame, home_of

_PAGE, _DRAWN = 20, 5


@dataclass(frozen=True)
class ShownFact:
    """A fact in the list."""

    fact: Fact
    split: str
    ask: Mapping[str, str]  # for each of its fields the address of the question for it


def entity_view(served: Served, params: Mapping[str, str]) -> dict[str, Any]:
    """Everything that the template of an entity needs.

    Raises:
        UserError: No such entity.
    """
    number = _number(served, params)
    name, home = served.predictor.entities[number], home_of(served.name)
    offset = _offset(params.get("from", "0"))
    total, found = served.facts_of(name, offset, _PAGE)
    everything = served.predictor.splits.all
    rows = everything.rows_of_entity(number)
    relations = Counter(everything.columns.relation[rows].tolist()).most_common(8)
    key = ("id", str(number)) if len(name) > 300 else ("name", name)

    def page(start: int) -> str:
        return address(f"{home}/entity", [key, ("from", start or None)])

    return {
        **frame(served, "entity"),
        "name": name,
        "total": total,
        "offset": offset,
        "facts": [ShownFact(fact, split, _links(fact, home)) for split, fact in found],
        "relations": [(served.predictor.relations[r], count) for r, count in relations],
        "drawing": Markup(_drawing(served, name)),  # every name in it is escaped there
        "before": page(max(0, offset - _PAGE)) if offset else None,
        "after": page(offset + _PAGE) if offset + _PAGE < total else None,
    }


def _number(served: Served, params: Mapping[str, str]) -> int:
    if "id" in params:
        text = params["id"]
        size = len(served.predictor.entities)
        if not (text.isascii() and text.isdigit() and len(text) < 12 and int(text) < size):
            raise UserError(f"there is no entity with the number {text[:40]!r}")
        return int(text)
    if not params.get("name") and "" not in served.predictor.entities:
        raise UserError("which entity? search for its name")
    return served.predictor.entities.id(params.get("name", ""), "entity")


def _offset(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise UserError(f"from is the number of a fact, got {text[:40]!r}")
    return int(text)


def _drawing(served: Served, name: str) -> str:
    """A fact of each relation, then others, as far as there is room."""
    near = served.predictor.splits.all.of_entity(name)
    _, firsts = np.unique(near.columns.relation, return_index=True)
    rows = list(dict.fromkeys([*sorted(firsts.tolist()), *range(min(len(near), _DRAWN))]))[:_DRAWN]
    shown = near.select(np.array(rows, dtype=np.int64))
    return str(draw_neighbourhood(shown, name, limit=_DRAWN, styled=False))


def _links(fact: Fact, home: str) -> dict[str, str]:
    links = {field: State(question=text).at(home) for field, text in blanked(fact).items()}
    return {field: link for field, link in links.items() if len(link) <= LONGEST}
