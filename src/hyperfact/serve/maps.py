"""What the page of the map shows: points with a colour for each group, and a legend."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from hyperfact.serve.addresses import entity_address, frame, home_of
from hyperfact.serve.opened import Served
from hyperfact.serve.projection import Point, Projection, projection

COLOURS = 9  # the last one is for all other groups
WIDTH, MARGIN, LEAST = 1000.0, 24.0, 420.0  # of the drawing; it is at least so high


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
    dots, size = dots_of(found, served)
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
        "size": size,
    }


def dots_of(found: Projection, served: Served) -> tuple[list[Dot], tuple[float, float]]:
    """Points with place and colour, mediators below entities; and the size of the drawing."""
    frequent = Counter(point.group for point in found.points).most_common(COLOURS - 1)
    colours = {group: i for i, (group, _) in enumerate(frequent)}
    home, entities = home_of(served.name), served.predictor.entities
    xs, ys = [p.x for p in found.points] or [0.0], [p.y for p in found.points] or [0.0]
    scale = (WIDTH - 2 * MARGIN) / max(max(xs) - min(xs), 1e-9)
    scale = min(scale, (WIDTH - 2 * MARGIN) / max(max(ys) - min(ys), 1e-9))
    height = max(LEAST, (max(ys) - min(ys)) * scale + 2 * MARGIN)
    middle = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
    dots = [
        Dot(
            point,
            round(WIDTH / 2 + scale * (point.x - middle[0]), 1),
            round(height / 2 - scale * (point.y - middle[1]), 1),
            colours.get(point.group, COLOURS - 1),
            entity_address(home, point.name, entities.get(point.name))
            if point.kind == "entity"
            else None,
        )
        for point in found.points
    ]
    ordered = sorted(dots, key=lambda dot: dot.point.kind, reverse=True)
    return ordered, (WIDTH, round(height, 1))
