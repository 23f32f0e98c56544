"""What the page of an entity shows: its facts drawn, each place of each a way to go on."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hyperfact.draw import Picture, draw_neighbourhood
from hyperfact.errors import UserError
from hyperfact.graph.facts import Fact
from hyperfact.serve.addresses import LONGEST, address, frame, home_of
from hyperfact.serve.asking import State, blanked
from hyperfact.serve.opened import Served

_PAGE, _DRAWN = 20, 5


@dataclass(frozen=True)
class ListedFact:
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
        "facts": [ListedFact(fact, split, _links(fact, home)) for split, fact in found],
        "relations": [(served.predictor.relations[r], count) for r, count in relations],
        "drawing": _drawing(served, name),
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


def _drawing(served: Served, name: str) -> Picture:
    """A fact of each relation, then others, as far as there is room."""
    near = served.predictor.splits.all.of_entity(name)
    _, firsts = np.unique(near.columns.relation, return_index=True)
    rows = list(dict.fromkeys([*sorted(firsts.tolist()), *range(min(len(near), _DRAWN))]))[:_DRAWN]
    drawn = near.select(np.array(rows, dtype=np.int64))
    return draw_neighbourhood(drawn, name, limit=_DRAWN, styled=False)


def _links(fact: Fact, home: str) -> dict[str, str]:
    links = {field: State(question=text).at(home) for field, text in blanked(fact).items()}
    return {field: link for field, link in links.items() if len(link) <= LONGEST}
