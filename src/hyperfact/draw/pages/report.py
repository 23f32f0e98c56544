"""A run as one HTML page: curves, metrics by slice, configuration, provenance."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from hyperfact.draw.pages.html import document, text
from hyperfact.runs.catalog import Overview

_WIDTH, _HEIGHT, _MARGIN = 460, 180, 60  # of a chart
_METRICS = ("mrr", "hits@1", "hits@3", "hits@10", "mean_rank", "ranks")
_BADGES = {"finished": "ok", "running": "info", "interrupted": "warning", "failed": "leak"}
Point = tuple[float, float]


def page(run: Overview) -> str:
    """A complete HTML document; of an unfinished run with what there is so far."""
    sections = (
        _summary(run),
        _numbers(run),
        _curves(run),
        *(_slices(split, run.metrics.get(split)) for split in ("test", "valid")),
        _protocol(run),
        _configuration(run),
        _provenance(run),
    )
    name = run.path.resolve().name
    return document(f"Run {name}", "\n".join(sections), footer="Higher MRR and Hits are better.")


def _summary(run: Overview) -> str:
    config = run.config
    words = (
        f"{config.encoder.name} and {config.decoder.name} on {config.data.dataset}, "
        f"dimension {config.training.dim}, {len(run.log)} of at most "
        f"{config.training.epochs} epochs"
    )
    message = f'<p class="reason">{text(run.message)}</p>' if run.message else ""
    return (
        f'<p class="soft">{text(words)}</p><div class="badges">'
        f'<span class="badge {_BADGES[run.state]}">{run.state}</span></div>{message}'
    )


def _numbers(run: Overview) -> str:
    shown: list[tuple[str, str, str]] = []
    for split in ("test", "valid"):
        found = run.metrics.get(split)
        if isinstance(found, Mapping):
            ranks = f"MRR over {found.get('ranks', 0):,} ranks"
            shown.append((split, _figure(found.get("mrr")), ranks))
            shown.append((split, _figure(found.get("hits@10")), "Hits@10"))
    if not shown and run.mrr("valid") is not None:
        shown.append(("valid", _figure(run.mrr("valid")), "best MRR so far"))
    seconds = sum(float(row.get("seconds", 0.0)) for row in run.log)
    shown.append(("training", f"{seconds:,.0f} s", f"{len(run.log)} epochs"))
    cards = "".join(
        f'<div class="card"><p class="soft">{text(over)}</p><p class="number">{text(value)}</p>'
        f'<p class="soft">{text(below)}</p></div>'
        for over, value, below in shown
    )
    return f'<div class="sizes">{cards}</div>'


def _figure(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}" if abs(value) < 100 else f"{value:,.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


# -- curves ----------------------------------------------------------------------------------------


def _curves(run: Overview) -> str:
    charts = (
        ("Loss", "train", _points(run.log, "loss")),
        ("MRR at validation", "valid", _points(run.log, "valid_mrr")),
        ("Queries a second", "test", _points(run.log, "queries_per_second")),
        ("Learning rate", "aux", _points(run.log, "lr")),
    )
    shown = "".join(
        f'<section class="card"><h2>{title}</h2>{chart(points, colour, title)}</section>'
        for title, colour, points in charts
        if points
    )
    return f'<h2>By epoch</h2><div class="grid">{shown}</div>' if shown else ""


def _points(log: Iterable[Mapping[str, Any]], key: str) -> list[Point]:
    rows = ((row.get("epoch"), row.get(key)) for row in log)
    return [
        (float(x), float(y))
        for x, y in rows
        if isinstance(x, int | float) and isinstance(y, int | float)
    ]


def _tick(value: float) -> str:
    """Short enough for the margin."""
    return f"{value:,.0f}" if 100 <= abs(value) < 1e6 else f"{value:.3g}"


def chart(points: Sequence[Point], colour: str, title: str) -> str:
    """A line through points, with the ends of both axes written out."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    low, high = min(ys), max(ys)
    first, last = min(xs), max(xs)
    inner, tall = _WIDTH - _MARGIN - 8, _HEIGHT - 30

    def place(point: Point) -> str:
        x = _MARGIN + inner * (point[0] - first) / ((last - first) or 1)
        y = 8 + tall * (1 - (point[1] - low) / ((high - low) or 1))
        return f"{x:.1f},{y:.1f}"

    marks = "".join(
        f'<circle class="fill-{colour}" cx="{x}" cy="{y}" r="2.5"/>'
        for x, y in (place(p).split(",") for p in points)
        if len(points) <= 60
    )
    ends = (
        f'<text x="{_MARGIN - 6}" y="14" text-anchor="end">{_tick(high)}</text>'
        f'<text x="{_MARGIN - 6}" y="{tall + 10}" text-anchor="end">{_tick(low)}</text>'
        f'<text x="{_MARGIN}" y="{_HEIGHT - 6}">{first:g}</text>'
        f'<text x="{_WIDTH - 8}" y="{_HEIGHT - 6}" text-anchor="end">{last:g}</text>'
    )
    return (
        f'<svg class="chart" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{text(title)} by epoch">'
        f'<path class="axis" d="M{_MARGIN} 8V{tall + 8}H{_WIDTH - 8}"/>{ends}'
        f'<polyline class="line-{colour}" points="{" ".join(map(place, points))}"/>{marks}</svg>'
    )


# -- tables ----------------------------------------------------------------------------------------


def _slices(split: str, found: object) -> str:
    if not isinstance(found, Mapping):
        return ""
    rows = [("all", found)]
    for kind, slices in found.items():
        if kind.startswith("by_") and isinstance(slices, Mapping):
            word = kind.removeprefix("by_")
            rows += [(f"{word} {name}", metrics) for name, metrics in slices.items()]
    columns = [key for key in _METRICS if key in found]
    body = [
        (name, *(_figure(metrics.get(key, "")) for key in columns))
        for name, metrics in rows
        if isinstance(metrics, Mapping)
    ]
    return f"<h2>Metrics: {text(split)}</h2>{table(('slice', *columns), body)}"


def _protocol(run: Overview) -> str:
    found = run.metrics.get("test") or run.metrics.get("valid")
    if not isinstance(found, Mapping) or not isinstance(found.get("policy"), Mapping):
        return ""
    rows = [*found["policy"].items(), ("candidates in all", found.get("candidates"))]
    rows.append(("chosen by", run.metrics.get("chosen_by")))
    return f"<h2>Protocol</h2>{table(('what', 'how'), [(k, str(v)) for k, v in rows])}"


def _configuration(run: Overview) -> str:
    rows = [
        (f"{section}.{key}", str(value))
        for section, settings in run.config.model_dump().items()
        for key, value in settings.items()
    ]
    return (
        '<h2>Configuration</h2><details class="card"><summary>All settings</summary>'
        f"{table(('setting', 'value'), rows)}</details>"
    )


def _provenance(run: Overview) -> str:
    rows = list(_flat(run.manifest))
    if not rows:
        return ""
    return (
        '<h2>Provenance</h2><details class="card"><summary>Manifest: versions, data, '
        f"checksums</summary>{table(('what', 'value'), rows)}</details>"
    )


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterable[tuple[str, str]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key}.")
        else:
            yield prefix + key, str(value)


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells of text, numbers to the right."""
    head = "".join(f"<th>{text(column)}</th>" for column in columns)
    body = "".join(
        "<tr>" + "".join(f"<td><bdi>{text(cell)}</bdi></td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table><tr>{head}</tr>{body}</table></div>'
