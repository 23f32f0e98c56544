"""A query as a graph: variables by colour, known entities, and a line for each fact."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hyperfact.draw.svg import BOX_HEIGHT, HUES, Group, Picture, Point, box_width, picture
from hyperfact.draw.text import Caption
from hyperfact.graph.labels import Labels
from hyperfact.graph.language.formula import Atom, Formula, Not, Query, Term, Variable

_COLUMN, _ROW = 300.0, 74.0
_DOT = 6.0


def hue_of(query: Query, variable: Variable) -> int:
    """The number of the colour of a variable; the asked one has the first."""
    others = [v for v in query.where.variables if v != query.asked]
    return [query.asked, *others].index(variable) % len(HUES)


def draw_query(
    query: Query,
    chosen: Mapping[Variable, str] | None = None,
    *,
    labels: Labels | None = None,
    styled: bool = True,
) -> Picture:
    """The graph of a query, with those who were chosen for its variables.

    Args:
        query: Any.
        chosen: A name for some variables.
        labels: How names are shown.
        styled: Whether it brings its style; not in a page that has `hyperfact.draw.svg.STYLE`.
    """
    scene = _Scene(query, dict(chosen or {}), labels or Labels())
    return picture(scene.drawn(), str(query), styled=styled)


@dataclass(frozen=True)
class _Node:
    key: Term
    text: str
    at: Point  # the left end of its middle line
    wide: float

    @property
    def middle(self) -> Point:
        return self.at[0] + self.wide / 2, self.at[1]


class _Scene:
    """Where everything of a query stands: the asked variable at the right, the rest by distance."""

    def __init__(self, query: Query, chosen: dict[Variable, str], labels: Labels) -> None:
        self.query, self.chosen, self.labels = query, chosen, labels
        self.facts = list(_signed(query.where, denied=False))
        self.nodes = self._placed()

    def drawn(self) -> Group:
        group = Group()
        for number, (atom, denied) in enumerate(self.facts):
            self._line(group, atom, number, denied=denied)
        for node in self.nodes.values():
            x, y = node.at
            group.box(x, y - BOX_HEIGHT / 2, node.text, lit=node.key == self.query.asked)
            if isinstance(node.key, Variable):
                hue = f"tip hue{hue_of(self.query, node.key)}"
                group.add(f'<circle class="{hue}" cx="{x:.1f}" cy="{y:.1f}" r="{_DOT}"/>')
        group.grow(group.width + _DOT, group.height + 20)
        return group

    def _line(self, group: Group, atom: Atom, number: int, *, denied: bool) -> None:
        """Subject to object, with relation and qualifiers beside the middle."""
        start, end = self.nodes[_key(atom.subject, number)], self.nodes[_key(atom.object, number)]
        group.line(start.middle, _edge(start, end), css="faint" if denied else "main")
        x, y = (start.middle[0] + end.middle[0]) / 2, (start.middle[1] + end.middle[1]) / 2
        word = "not " if denied else ""
        group.label(x, y - 2, f"{word}{self._caption(atom.relation)}", limit=190)
        for i, (attribute, value) in enumerate(atom.qualifiers, start=1):
            text = f"{self._caption(attribute)} = {self._caption(value)}"
            group.label(x, y - 2 + 17 * i, text, limit=230)
            if isinstance(value, Variable):
                there = self.nodes[value]
                group.line((x, y + 17 * i), there.middle, css="faint", arrow=False)
        group.grow(0, y + 17 * len(atom.qualifiers) + 12)

    def _caption(self, term: Term) -> str:
        if isinstance(term, Variable):
            return str(term)
        return Caption.of(term, self.labels)

    def _text(self, key: Term) -> str:
        if isinstance(key, Variable):
            name = self.chosen.get(key)
            return str(key) if name is None else f"{key} = {self.labels.show(name)}"
        return Caption.of(str(key).partition("\0")[2], self.labels)

    def _placed(self) -> dict[Term, _Node]:
        """Columns by distance from the asked variable, the farthest at the left."""
        far = self._distances()
        columns: dict[int, list[Term]] = {}
        for key, steps in far.items():
            columns.setdefault(steps, []).append(key)
        most, high = max(columns), max(map(len, columns.values()))
        found = {}
        for steps, keys in columns.items():
            top = (high - len(keys)) * _ROW / 2 + BOX_HEIGHT
            for row, key in enumerate(keys):
                at = ((most - steps) * _COLUMN + _DOT, top + row * _ROW)
                found[key] = _Node(key, self._text(key), at, box_width(self._text(key)))
        return found

    def _distances(self) -> dict[Term, int]:
        groups: Sequence[list[Term]] = [
            [
                *(_key(end, number) for end in (atom.subject, atom.object)),
                *(value for _, value in atom.qualifiers if isinstance(value, Variable)),
            ]
            for number, (atom, _) in enumerate(self.facts)
        ]
        found: dict[Term, int] = {}
        every = dict.fromkeys(key for group in groups for key in group)
        for first in (self.query.asked, *every):
            front, steps = [first], 0
            while front := [key for key in dict.fromkeys(front) if key not in found]:
                found |= dict.fromkeys(front, steps)
                front = [k for g in groups if set(g) & set(front) for k in g]
                steps += 1
        return found


def _key(term: Term, number: int) -> Term:
    """A known entity stands once for each fact, so that lines do not run together."""
    return term if isinstance(term, Variable) else f"{number}\0{term}"


def _edge(start: _Node, end: _Node) -> Point:
    """Where a line meets the box at its end."""
    (x0, y0), (x1, y1) = start.middle, end.middle
    dx, dy = x1 - x0, y1 - y0
    scale = max(abs(dx) / (end.wide / 2 + 3), abs(dy) / (BOX_HEIGHT / 2 + 3), 1.0)
    return x1 - dx / scale, y1 - dy / scale


def _signed(where: Formula, *, denied: bool) -> list[tuple[Atom, bool]]:
    if isinstance(where, Atom):
        return [(where, denied)]
    turned = denied != isinstance(where, Not)
    return [pair for part in where.inner for pair in _signed(part, denied=turned)]
