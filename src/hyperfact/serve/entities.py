"""What the page of an entity shows: its facts drawn, each place of each a way to go on."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hyperfact.draw.svg import Picture, picture
from hyperfact.draw.text import Caption, captions
from hyperfact.draw.views import hyperedge
from hyperfact.errors import UserError
from hyperfact.graph.facts import Fact
from hyperfact.predict import complete
from hyperfact.serve.addresses import LONGEST, address, frame, home_of
from hyperfact.serve.asking import State, blanked
from hyperfact.serve.opened import Served
from hyperfact.serve.requests import MOST_SCORED

_PAGE, _DRAWN, _GUESSES, _RELATIONS = 20, 6, 10, 24


@dataclass(frozen=True)
class ListedFact:
    """A fact in the list."""

    fact: Fact
    split: str
    ask: Mapping[str, str]  # for each of its fields the address of the question for it


@dataclass(frozen=True)
class Guess:
    """A fact that no split holds, but that the model finds likely."""

    fact: Fact
    probability: float
    why: str  # address of the question that it answers, explained


def entity_view(served: Served, params: Mapping[str, str]) -> dict[str, Any]:
    """Everything that the template of an entity needs.

    Raises:
        UserError: No such entity, or no such relation.
    """
    number = _number(served, params)
    name, home = served.predictor.entities[number], home_of(served.name)
    offset, relation = _offset(params.get("from", "0")), params.get("relation") or None
    total, found = served.facts_of(name, offset, _PAGE, relation=relation)
    everything = served.predictor.splits.all
    counts = Counter(everything.columns.relation[everything.rows_of_entity(number)].tolist())
    key = ("id", str(number)) if len(name) > 300 else ("name", name)

    def page(start: int = 0, only: str | None = None, *, guess: bool = False) -> str:
        guessed = 1 if guess else None
        pairs = [key, ("relation", only), ("from", start or None), ("else", guessed)]
        return address(f"{home}/entity", pairs)

    return {
        **frame(served, "entity"),
        "name": name,
        "all": sum(counts.values()),
        "total": total,
        "offset": offset,
        "relation": relation,
        "facts": [ListedFact(fact, split, _links(fact, home)) for split, fact in found],
        "relations": _relations(served, counts, page),
        "everything": page(),
        "drawings": _drawings(served, name),
        "before": page(max(0, offset - _PAGE), relation) if offset else None,
        "after": page(offset + _PAGE, relation) if offset + _PAGE < total else None,
        "guesses": _guesses(served, name) if params.get("else") == "1" else None,
        "guess": page(guess=True),
    }


def _relations(
    served: Served, counts: Counter[int], page: Callable[[int, str], str]
) -> list[tuple[str, int, str]]:
    """Relations with their facts, frequent ones first, and the page of these facts alone."""
    names = served.predictor.relations
    return [(names[r], count, page(0, names[r])) for r, count in counts.most_common(_RELATIONS)]


def _guesses(served: Served, name: str) -> list[Guess]:
    """What else might be true of an entity; nothing, if training has no fact of it."""
    if not len(served.predictor.knowledge.train.rows_of_entity(name)):
        return []
    with served.lock:
        found = complete(served.predictor, entity=name, budget=MOST_SCORED, limit=_GUESSES)
    home = home_of(served.name)
    return [
        Guess(p.fact, p.probability, State(question=p.question).explaining(p.answer).at(home))
        for p in found.proposals
    ]


def _number(served: Served, params: Mapping[str, str]) -> int:
    if "id" in params:
        text = params["id"]
        size = len(served.predictor.entities)
        if not (text.isascii() and text.isdigit() and len(text) < 12 and int(text) < size):
            raise UserError(f"there is no entity with the number {text[:40]!r}")
        return int(text)
    if not params.get("name") and "" not in served.predictor.entities:
        raise UserError("which entity? search for its name")
    name = served.predictor.labels.meant(params.get("name", ""), "entity")
    return served.predictor.entities.id(name, "entity")


def _offset(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise UserError(f"from is the number of a fact, got {text[:40]!r}")
    return int(text)


def _drawings(served: Served, name: str) -> list[Picture]:
    """A fact of each relation, then others, as far as there is room; each by itself, to stack."""
    near = served.predictor.splits.all.of_entity(name)
    _, firsts = np.unique(near.columns.relation, return_index=True)
    rows = list(dict.fromkeys([*sorted(firsts.tolist()), *range(min(len(near), _DRAWN))]))[:_DRAWN]
    facts = [near[row] for row in rows]
    labels = served.predictor.labels
    lit = Caption.of(name, labels)
    return [
        picture(hyperedge(captions(fact, labels), lit=lit), labels.fact(fact), styled=False)
        for fact in facts
    ]


def _links(fact: Fact, home: str) -> dict[str, str]:
    links = {field: State(question=text).at(home) for field, text in blanked(fact).items()}
    return {field: link for field, link in links.items() if len(link) <= LONGEST}
