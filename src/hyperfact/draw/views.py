"""One fact in different views: as a hyperedge, with a mediator, as a clique."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import cos, pi, sin

from hyperfact.draw.svg import BOX_HEIGHT, HUES, Group, Point, box_width
from hyperfact.draw.text import fit, width
from hyperfact.graph.facts import Fact

ROW = 34.0
SHOWN = 24  # qualifiers; more are counted, not drawn
_LABEL = 170.0  # at most so wide is the name of an edge


def hyperedge(fact: Fact, *, lit: str | None = None) -> Group:
    """The fact as it is: qualifiers hang on the primary edge, inside one area."""
    inner = Group()
    middle = _primary(inner, fact, gap=_gap(fact.relation, 60), lit=lit)
    if fact.qualifiers:
        _spine(inner, fact, (middle, BOX_HEIGHT / 2), first=BOX_HEIGHT + 16, lit=lit)
    area = Group(inner.width + 24, inner.height + 24)
    area.add(f'<rect class="shape" width="{area.width:.1f}" height="{area.height:.1f}" rx="16"/>')
    area.place(inner, 12, 12, "area")
    return area


@dataclass(frozen=True)
class StarStyle:
    """How the edges of a mediator are drawn."""

    base: bool = True  # the base edge
    roles: bool = True  # sub, obj and attributes; else every edge is called like the relation


def star(fact: Fact, style: StarStyle | None = None) -> Group:
    """The fact with a mediator."""
    style = style or StarStyle()
    group = Group()
    gap = _gap(fact.relation, 250)
    middle = _primary(group, fact, gap=gap, edge=style.base)
    hub = (middle, BOX_HEIGHT + 62.0)
    if fact.qualifiers:
        names = None if style.roles else [fact.relation] * len(fact.qualifiers)
        _spine(group, fact, hub, first=hub[1] + 14, names=names)
    left = box_width(fact.subject) / 2
    right = box_width(fact.subject) + gap + box_width(fact.object) / 2
    for x, up in ((left, "sub"), (right, "obj")):
        start = (hub[0] + (-7 if x < hub[0] else 7), hub[1] - 4)
        end = (x, BOX_HEIGHT + 1.0)
        group.line(start, end)
        at = ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2)
        group.label(*at, fact.relation, limit=110, up=up if style.roles else "")
    group.add(f'<circle class="hub" cx="{hub[0]:.1f}" cy="{hub[1]:.1f}" r="8"/>')
    group.text(hub[0] - 16, hub[1] + 10, "b", css="dim", anchor="end")
    group.grow(0, hub[1] + 16)
    return group


def triple(fact: Fact) -> Group:
    """The primary triple alone: how every transformation keeps a fact without qualifiers."""
    group = Group()
    _primary(group, fact, gap=_gap(fact.relation, 60))
    return group


def clique(fact: Fact, *, semantic: bool) -> Group:
    """Every pair of the fact's slots as an edge; colours tell the labels apart."""
    pairs = fact.qualifiers[:SHOWN]
    names = [fact.subject, fact.object, *(v for _, v in pairs)]
    group = Group()
    centres, boxes = _ring(names)
    for j in range(1, len(names)):
        for i in range(j):
            if names[i] == names[j] and (i, j) != (0, 1):
                continue
            hue = HUES[(j - 1) % len(HUES)] if semantic and j > 1 else ""
            start = _border(centres[i], centres[j], boxes[i])
            end = _border(centres[j], centres[i], boxes[j])
            group.line(start, end, css="main" if j == 1 else "faint", hue=hue)
    for name, (x, y), wide in zip(names, centres, boxes, strict=True):
        group.box(x - wide / 2, y - BOX_HEIGHT / 2, name, limit=130)
    _legend(group, fact, pairs, semantic=semantic)
    return group


def _gap(relation: str, least: float) -> float:
    return max(least, min(_LABEL, width(fit(relation, _LABEL, 12), 12)) + 40)


def _primary(
    group: Group, fact: Fact, *, gap: float, edge: bool = True, lit: str | None = None
) -> float:
    """Subject, relation and object in a row; returns the middle of the edge."""
    left = group.box(0, 0, fact.subject, lit=fact.subject == lit)
    group.box(left + gap, 0, fact.object, lit=fact.object == lit)
    y = BOX_HEIGHT / 2
    if edge:
        group.line((left + 2, y), (left + gap - 2, y), css="main")
        group.label(left + gap / 2, y - 11, fact.relation, limit=min(_LABEL, gap - 16))
    return left + gap / 2


def _spine(
    group: Group,
    fact: Fact,
    top: Point,
    *,
    first: float,
    lit: str | None = None,
    names: Sequence[str] | None = None,
) -> None:
    """Qualifiers below a point, a row each: attribute, arrow, value."""
    pairs = fact.qualifiers[:SHOWN]
    labels = list(names or (a for a, _ in pairs))
    room = max(width(fit(label, _LABEL, 12), 12) for label in labels[: len(pairs)])
    at = top[0] + room + 44
    y = first
    for label, (_, value) in zip(labels, pairs, strict=False):
        y += ROW
        middle = y - BOX_HEIGHT / 2
        group.line((top[0], middle), (at - 2, middle))
        group.label(top[0] + 12 + room / 2, middle, label, limit=_LABEL)
        group.box(at, y - BOX_HEIGHT, value, lit=value == lit)
    group.marks.insert(
        0, f'<path class="line" d="M{top[0]:.1f} {top[1]:.1f}V{y - BOX_HEIGHT / 2:.1f}"/>'
    )
    more = len(fact.qualifiers) - len(pairs)
    if more:
        group.text(at, y + 14, f"and {more} more qualifiers", css="dim", anchor="start")
        group.grow(0, y + 24)


def _ring(names: Sequence[str]) -> tuple[list[Point], list[float]]:
    """Places on an ellipse, clockwise from the upper left, and the widths of the boxes."""
    boxes = [box_width(name, 130) for name in names]
    count = len(names)
    rx, ry = 80 + 15 * count, 50 + 12 * count
    turn = -3 * pi / 4
    return [
        (
            rx + 66 + rx * cos(turn + 2 * pi * i / count),
            ry + 14 + ry * sin(turn + 2 * pi * i / count),
        )
        for i in range(count)
    ], boxes


def _border(centre: Point, towards: Point, wide: float) -> Point:
    """Where the line between two boxes leaves the first."""
    dx, dy = towards[0] - centre[0], towards[1] - centre[1]
    scale = max(abs(dx) / (wide / 2 + 3), abs(dy) / (BOX_HEIGHT / 2 + 3))
    return centre if scale < 1 else (centre[0] + dx / scale, centre[1] + dy / scale)


def _legend(group: Group, fact: Fact, pairs: Sequence[tuple[str, str]], *, semantic: bool) -> None:
    """Which label the edges of a colour have."""
    y = group.height + 20
    rows = [("", fact.relation, "every edge" if not semantic else "subject to object")]
    if semantic:
        rows += [
            (HUES[(j + 1) % len(HUES)], a, f"each pair with value {j + 1}")
            for j, (a, _) in enumerate(pairs)
        ]
    for hue, name, note in rows:
        group.line((0, y), (26, y), hue=hue, arrow=False, css="main")
        group.label(34, y, name, limit=_LABEL, anchor="start")
        shift = 42 + min(_LABEL, width(fit(name, _LABEL, 12), 12))
        group.text(shift, y, note, css="dim", anchor="start")
        group.grow(shift + width(note, 12), y + 10)
        y += 20
