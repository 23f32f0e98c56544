"""Lines of probability over a number that moves, in a square of 100 by 100, for a page."""

from collections.abc import Sequence
from dataclasses import dataclass

HUES = 5  # colours of lines


@dataclass(frozen=True)
class Line:
    """One answer."""

    name: str
    hue: int
    points: str  # for a polyline
    best: str  # the value at which it stands highest
    most: float  # its probability there


@dataclass(frozen=True)
class MovedChart:
    """All of them, and the ends of both axes in words."""

    attribute: str
    lines: tuple[Line, ...]
    high: str
    first: str
    last: str
    at: float | None  # where the question itself stands, 0 to 100


def moved_chart(
    attribute: str,
    numbers: Sequence[float],
    texts: Sequence[str],
    columns: Sequence[tuple[str, Sequence[float]]],
    at: int | None,
) -> MovedChart:
    """Draw answers over numbers.

    Args:
        attribute: What moves.
        numbers: Rising.
        texts: The same as people read them.
        columns: Each answer with its probability at each number.
        at: Which of the numbers the question has.
    """
    first, wide = numbers[0], (numbers[-1] - numbers[0]) or 1.0
    high = max((max(column) for _, column in columns), default=0.0) or 1.0
    across = [round(100 * (number - first) / wide, 2) for number in numbers]
    lines = []
    for hue, (name, column) in enumerate(columns):
        up = [round(100 * (1 - p / high), 2) for p in column]
        points = " ".join(f"{x},{y}" for x, y in zip(across, up, strict=True))
        best = max(range(len(column)), key=column.__getitem__)
        lines.append(Line(name, hue % HUES, points, texts[best], column[best]))
    here = None if at is None else across[at]
    return MovedChart(attribute, tuple(lines), f"{high:.0%}", texts[0], texts[-1], here)
