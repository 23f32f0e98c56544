"""What the page of the map shows: points with a colour for each group, and a legend."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from hyperfact.serve.models import Served
from hyperfact.serve.projection import Point, Projection, projection
from hyperfact.serve.shown import entity_address, frame, home_of

COLOURS = 9  # the last one is for all other groups
SIZE, MARGIN = 1000, 24  # of the drawing


@dataclass(frozen=True)
class Dot:
    """A point as it is drawn."""

    point: Point
    x: float
    y: float
    colour: int
    page: str | None  # of an entity


def map_view(served: Served) -> dict[str, Any]:
    """Everything that the template of the map needs."""
    with served.lock:
        found = projection(served.predictor)
    dots = dots_of(found, served)
    counts = Counter(dot.colour for dot in dots)
    names = {dot.colour: dot.point.group for dot in dots if dot.colour < COLOURS - 1}
    names[COLOURS - 1] = "all other relations"
    legend = [(colour, names[colour], counts[colour]) for colour in sorted(counts)]
    kinds = Counter(dot.point.kind for dot in dots)
    return {
        **frame(served, "map"),
        "map": found,
        "dots": dots,
        "legend": legend,
        "kinds": kinds,
        "size": SIZE,
    }


def dots_of(found: Projection, served: Served) -> list[Dot]:
    """Points with place and colour, mediators below entities."""
    frequent = Counter(point.group for point in found.points).most_common(COLOURS - 1)
    colours = {group: i for i, (group, _) in enumerate(frequent)}
    home, entities = home_of(served.name), served.predictor.entities
    half = SIZE / 2 - MARGIN
    dots = [
        Dot(
            point,
            round(SIZE / 2 + half * point.x, 1),
            round(SIZE / 2 - half * point.y, 1),
            colours.get(point.group, COLOURS - 1),
            entity_address(home, point.name, entities.get(point.name))
            if point.kind == "entity"
            else None,
        )
        for point in found.points
    ]
    return sorted(dots, key=lambda dot: dot.point.kind, reverse=True)
