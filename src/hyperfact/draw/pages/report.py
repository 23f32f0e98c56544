"""A run as one HTML page: curves, metrics by slice, configuration, provenance."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hyperfact.draw.pages.environment import render
from hyperfact.draw.pages.filters import figure
from hyperfact.runs.catalog import Overview

_METRICS = ("mrr", "hits@1", "hits@3", "hits@10", "mean_rank", "ranks")
_TONES = {"finished": "ok", "running": "info", "interrupted": "warning", "failed": "leak"}
_CURVES = {  # column of the log: title, tone
    "loss": ("Loss", "train"),
    "valid_mrr": ("MRR at validation", "valid"),
    "queries_per_second": ("Queries a second", "test"),
    "lr": ("Learning rate", "aux"),
}
Point = tuple[float, float]


@dataclass(frozen=True)
class Chart:
    """A line in a square of 100 by 100, and the ends of both axes in words."""

    title: str
    tone: str
    points: Sequence[Point]
    high: str
    low: str
    first: str
    last: str


def page(run: Overview) -> str:
    """A complete HTML document; of an unfinished run with what there is so far."""
    curves = {key: _points(run.log, key) for key in _CURVES}
    return render(
        "run.html",
        heading=f"Run {run.path.resolve().name}",
        run=run,
        config=run.config,
        tone=_TONES[run.state],
        numbers=list(_numbers(run)),
        charts=[chart(points, *_CURVES[key]) for key, points in curves.items() if points],
        slices=list(_slices(run)),
        protocol=_protocol(run),
        settings=[
            (f"{section}.{key}", value)
            for section, settings in run.config.model_dump().items()
            for key, value in settings.items()
        ],
        manifest=list(_flat(run.manifest)),
    )


def _numbers(run: Overview) -> Iterator[tuple[str, str, str]]:
    """What stands above a number, the number, and what stands below."""
    evaluated = False
    for split in ("test", "valid"):
        found = run.metrics.get(split)
        if isinstance(found, Mapping):
            evaluated = True
            yield split, figure(found.get("mrr"), 4), f"MRR over {found.get('ranks', 0):,} ranks"
            yield split, figure(found.get("hits@10"), 4), "Hits@10"
    if not evaluated and run.mrr("valid") is not None:
        yield "valid", figure(run.mrr("valid"), 4), "best MRR so far"
    seconds = sum(float(row.get("seconds", 0.0)) for row in run.log)
    yield "training", f"{seconds:,.0f} s", f"{len(run.log)} epochs"


def _points(log: Sequence[Mapping[str, Any]], key: str) -> list[Point]:
    rows = ((row.get("epoch"), row.get(key)) for row in log)
    return [
        (float(x), float(y))
        for x, y in rows
        if isinstance(x, int | float) and isinstance(y, int | float)
    ]


def chart(points: Sequence[Point], title: str, tone: str) -> Chart:
    """A line through points, stretched to the whole square."""
    xs, ys = zip(*points, strict=True)
    (first, last), (low, high) = (min(xs), max(xs)), (min(ys), max(ys))
    wide, tall = (last - first) or 1, (high - low) or 1
    placed = [
        (round(100 * (x - first) / wide, 2), round(100 * (high - y) / tall, 2)) for x, y in points
    ]
    return Chart(title, tone, placed, _tick(high), _tick(low), f"{first:g}", f"{last:g}")


def _tick(value: float) -> str:
    """Short enough for a margin."""
    return f"{value:,.0f}" if 100 <= abs(value) < 1e6 else f"{value:.3g}"


def _slices(
    run: Overview,
) -> Iterator[tuple[str, list[str], list[tuple[str, Mapping[str, Any]]]]]:
    """Split, columns, and the rows of its table: all, then each slice."""
    for split in ("test", "valid"):
        found = run.metrics.get(split)
        if not isinstance(found, Mapping):
            continue
        rows = [("all", found)]
        for kind, slices in found.items():
            if kind.startswith("by_") and isinstance(slices, Mapping):
                word = kind.removeprefix("by_")
                rows += [(f"{word} {name}", part) for name, part in slices.items()]
        kept = [(name, part) for name, part in rows if isinstance(part, Mapping)]
        yield split, [key for key in _METRICS if key in found], kept


def _protocol(run: Overview) -> list[tuple[str, Any]]:
    found = run.metrics.get("test") or run.metrics.get("valid")
    if not isinstance(found, Mapping) or not isinstance(found.get("policy"), Mapping):
        return []
    more = [("candidates in all", found.get("candidates"))]
    return [*found["policy"].items(), *more, ("chosen by", run.metrics.get("chosen_by"))]


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
