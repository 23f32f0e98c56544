"""SVG of a fact, of a neighbourhood, of a transformation; own marks, no network, dark and light.

Every function returns a `Picture`, a string that notebooks show. See docs/howto/draw.md.

Order: text, svg, views, query_graph, pages.
"""

from collections.abc import Callable, Sequence

from hyperfact.draw.svg import Group, Picture, box_width, picture
from hyperfact.draw.text import Caption, captions, width
from hyperfact.draw.views import StarStyle, clique, hyperedge, star, triple
from hyperfact.errors import UserError
from hyperfact.graph.facts import Fact
from hyperfact.graph.hkg import HKG
from hyperfact.graph.labels import Labels
from hyperfact.transforms import TRANSFORMS, verify

_GAP = 28.0


def draw_fact(fact: Fact, labels: Labels | None = None) -> Picture:
    """The fact as a hyperedge, and beside it with its mediator."""
    labels = labels or Labels()
    drawn = captions(fact, labels)
    panels = [("a fact with its qualifiers", hyperedge(drawn), "")]
    if fact.qualifiers:
        panels.append(("with a mediator b", star(drawn), ""))
    return picture(_grid(panels, columns=2), labels.fact(fact))


def draw_neighbourhood(
    hkg: HKG, entity: str, *, limit: int = 8, styled: bool = True, labels: Labels | None = None
) -> Picture:
    """An entity and the first facts that it has a part in, each as a hyperedge.

    Args:
        hkg: Where the facts are.
        entity: Its name.
        limit: How many facts at most.
        styled: Whether it brings its style; not in a page that has `hyperfact.draw.svg.STYLE`.
        labels: How names are shown, as `Splits.labels` has it.
    """
    if limit < 1:
        raise UserError(f"a neighbourhood shows at least one fact, got limit {limit}")
    near = hkg.of_entity(entity)
    labels = labels or Labels(None, hkg.entities, hkg.relations)
    name = Caption.of(hkg.entities[hkg.entities.id(entity, "entity")], labels)
    facts = [captions(near[i], labels) for i in range(min(limit, len(near)))]
    cards = [hyperedge(fact, lit=name) for fact in facts]
    group = Group()
    wide = box_width(name)
    total = sum(card.height + _GAP for card in cards) - _GAP if cards else 30.0
    left, y = wide + 130.0, 0.0
    for fact, card in zip(facts, cards, strict=True):
        middle = y + card.height / 2
        _connect(group, (wide, total / 2), (left, middle), _part(fact, name))
        group.place(card, left, y)
        y += card.height + _GAP
    group.box(0, total / 2 - 13, name, lit=True)
    if len(near) > limit:
        note = f"{len(near) - limit:,} more facts"
        group.text(left, y, note, css="dim", anchor="start")
        group.grow(0, y + 12)
    return picture(group, name, styled=styled)


def draw_transformations(fact: Fact, labels: Labels | None = None) -> Picture:
    """One fact under every transformation, side by side (figures 4 and 5 of the paper)."""
    labels = labels or Labels()
    drawn = captions(fact, labels)
    panels = [("the fact", hyperedge(drawn), "")]
    for name, view in _VIEWS.items():
        view = view if fact.qualifiers else triple
        panels.append((name, view(drawn), _verdict(fact, name)))
    return picture(_grid(panels, columns=2), labels.fact(fact))


def draw_facts(hkg: HKG, *, limit: int = 6) -> Picture:
    """The first facts of a graph, each as a hyperedge."""
    labels = Labels(None, hkg.entities, hkg.relations)
    facts = [captions(hkg[i], labels) for i in range(min(limit, len(hkg)))]
    panels = [(f"fact {i}", hyperedge(fact), "") for i, fact in enumerate(facts)]
    title = repr(hkg).partition("\n")[0]
    group = Group()
    group.text(0, 8, title, css="head", anchor="start")
    group.grow(width(title), 20)
    if panels:
        group.place(_grid(panels, columns=2), 0, 36)
    return picture(group, title)


_VIEWS: dict[str, Callable[[Fact], Group]] = {
    "equivalent": star,
    "no_distinction": lambda fact: star(fact, StarStyle(base=False)),
    "plain": lambda fact: star(fact, StarStyle(base=False, roles=False)),
    "clique_plain": lambda fact: clique(fact, semantic=False),
    "clique_semantic": lambda fact: clique(fact, semantic=True),
}
assert set(_VIEWS) == set(TRANSFORMS)


def _verdict(fact: Fact, name: str) -> str:
    """Whether this fact alone can be had back."""
    found = verify(HKG.from_facts([fact]), name)
    return "ok:on its own it can be restored" if found.lossless else "bad:it cannot be restored"


def _grid(panels: Sequence[tuple[str, Group, str]], *, columns: int) -> Group:
    """Titled panels in rows."""
    group = Group()
    wide = max(max(panel.width, 200.0) for _, panel, _ in panels) + _GAP
    y = 0.0
    for start in range(0, len(panels), columns):
        row = panels[start : start + columns]
        for i, (title, panel, verdict) in enumerate(row):
            x = i * wide
            group.text(x, y + 8, title, css="head", anchor="start")
            if verdict:
                css, _, text = verdict.partition(":")
                group.text(x, y + 27, text, css=css, anchor="start")
            group.place(panel, x, y + (48 if any(v for *_, v in row) else 28))
        y = group.height + _GAP
    return group


def _connect(group: Group, start: tuple[float, float], end: tuple[float, float], part: str) -> None:
    bend = (start[0] + end[0]) / 2
    group.add(
        f'<path class="line" d="M{start[0]:.1f} {start[1]:.1f}C{bend:.1f} {start[1]:.1f} '
        f'{bend:.1f} {end[1]:.1f} {end[0]:.1f} {end[1]:.1f}"/>'
    )
    group.label(end[0] - 8, end[1], part, limit=90, anchor="end")


def _part(fact: Fact, name: str) -> str:
    """The part that an entity has in a fact: subject, object, or the attribute it is a value of."""
    if fact.subject == name:
        return "subject"
    if fact.object == name:
        return "object"
    return next((a for a, v in fact.qualifiers if v == name), "value")


__all__ = [
    "Picture",
    "draw_fact",
    "draw_facts",
    "draw_neighbourhood",
    "draw_transformations",
]
