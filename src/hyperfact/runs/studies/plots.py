"""Pictures of studies as SVG, by matplotlib (extra `viz`)."""

import io
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from hyperfact.errors import MissingExtraError
from hyperfact.runs.studies.cells import Outcome

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_OURS, _PAPER = "#1b6ca8", "#c9c9c9"
_WIDTH = 6.0  # inches of one panel
_BESIDE = 2  # panels in a row


def _style() -> AbstractContextManager[object]:
    try:
        import matplotlib as mpl
    except ImportError:
        raise MissingExtraError("matplotlib", "viz", "a picture") from None
    mpl.use("Agg")
    return mpl.rc_context(
        {
            "svg.hashsalt": "hyperfact",  # the same figures give the same bytes
            "svg.fonttype": "none",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "font.size": 9,
        }
    )


def _svg(figure: "Figure") -> bytes:
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None}, bbox_inches="tight")
    return out.getvalue()


def _panels(heights: Sequence[float]) -> tuple["Figure", list[Any]]:
    """Panels of these heights in inches, two side by side, so that a page can show them.

    Those of a row are as high as the higher of them; a place that remains stays empty.
    """
    from matplotlib.figure import Figure

    columns = min(len(heights), _BESIDE)
    rows = [max(heights[i : i + columns]) for i in range(0, len(heights), columns)]
    figure = Figure(figsize=(_WIDTH * columns, sum(rows)), layout="constrained")
    grid = figure.subplots(len(rows), columns, squeeze=False, height_ratios=rows)
    axes = list(grid.flat)
    for empty in axes[len(heights) :]:
        empty.set_axis_off()
    return figure, axes[: len(heights)]


def _heading(title: str, dataset: str, lines: Sequence[dict[str, Any]]) -> str:
    """What a panel shows, and whether something was set by hand, such as fewer epochs."""
    full = all(line.get("budget") in (None, "full") for line in lines)
    return f"{title}: {dataset}" + ("" if full else " (not the full budget)")


def bars(lines: Sequence[dict[str, Any]], title: str) -> bytes:
    """Test MRR of each row, ours beside the paper's if it has any, a panel for each dataset."""
    datasets = list(dict.fromkeys(line["dataset"] for line in lines))
    beside = any(line.get("mrr paper") is not None for line in lines)
    shift, width = (0.2, 0.38) if beside else (0.0, 0.7)
    with _style():
        from matplotlib.patches import Patch

        counts = [sum(line["dataset"] == d for line in lines) for d in datasets]
        figure, panels = _panels([0.8 + 0.36 * count for count in counts])
        for number, (axes, dataset) in enumerate(zip(panels, datasets, strict=True)):
            most = max(counts[number - number % _BESIDE :][:_BESIDE])  # of its row
            rows = [line for line in lines if line["dataset"] == dataset][::-1]
            for place, line in enumerate(rows):
                ours = place + shift, line.get("mrr"), line.get("mrr spread"), _OURS
                paper = place - shift, line.get("mrr paper"), None, _PAPER
                for at, value, spread, colour in (ours, paper):
                    if value is not None:
                        axes.barh(at, value, width, color=colour, xerr=spread)
                        axes.text(value + 0.01, at, f"{value:.3f}", va="center", fontsize=7)
            axes.set_yticks(range(len(rows)), [line["row"] for line in rows])
            axes.set_xlim(0, 1.08)
            axes.set_ylim(len(rows) - most - 0.5, len(rows) - 0.5)  # bars of one height
            axes.set_xlabel("test MRR")
            axes.set_title(_heading(title, dataset, rows), fontsize=10)
        if beside:
            _legend(figure, [Patch(color=_OURS), Patch(color=_PAPER)], ["hyperfact", "paper"])
        return _svg(figure)


def _legend(figure: "Figure", handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Below all panels, where no bar is."""
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=8
    )


def sizes(lines: Sequence[dict[str, Any]], title: str) -> bytes:
    """Edges of each transformation, counted and bounded, a panel for each dataset."""
    datasets = list(dict.fromkeys(line["dataset"] for line in lines))
    with _style():
        figure, panels = _panels([2.8] * len(datasets))
        for axes, dataset in zip(panels, datasets, strict=True):
            rows = [
                line for line in lines if (line["dataset"], line["measure"]) == (dataset, "edges")
            ][::-1]
            names = [" ".join(filter(None, (r["transformation"], r["mode"]))) for r in rows]
            places = range(len(rows))
            counted, bound = ([row[key] for row in rows] for key in ("counted", "bound"))
            axes.hlines(places, counted, bound, color=_PAPER)
            for values, colour, label in ((bound, _PAPER, "bound"), (counted, _OURS, "counted")):
                axes.plot(values, places, "o", color=colour, label=label)
            axes.set_xscale("log")
            axes.set_yticks(range(len(rows)), names)
            axes.set_xlabel("edges")
            axes.set_title(f"{title}: {dataset}", fontsize=10)
        panels[0].legend(frameon=False, fontsize=8)
        return _svg(figure)


def sharing(lines: Sequence[dict[str, Any]], title: str) -> bytes:
    """MRR of test and validation and parameters over alpha, a panel for each dataset."""
    datasets = list(dict.fromkeys(line["dataset"] for line in lines))
    with _style():
        figure, panels = _panels([3.2] * len(datasets))
        for axes, dataset in zip(panels, datasets, strict=True):
            rows = [line for line in lines if line["dataset"] == dataset]
            alpha = [float(line["row"]) for line in rows]
            spreads = [line["mrr spread"] or 0.0 for line in rows]
            other = axes.twinx()
            other.bar(alpha, [r["parameters"] / 1e6 for r in rows], 0.1, color=_PAPER)
            other.set_ylabel("parameters (millions)")
            other.spines["right"].set_visible(True)
            axes.errorbar(
                alpha, [r["mrr"] for r in rows], spreads, color=_OURS, marker="o", label="test"
            )
            if all(r["valid mrr"] is not None for r in rows):
                axes.plot(alpha, [r["valid mrr"] for r in rows], "--", color=_OURS, label="valid")
            axes.set_zorder(other.get_zorder() + 1)
            axes.patch.set_visible(False)
            axes.set_xlabel("alpha")
            axes.set_ylabel("MRR", color=_OURS)
            axes.set_title(_heading(title, dataset, rows), fontsize=10)
        _legend(figure, *panels[0].get_legend_handles_labels())
        return _svg(figure)


def curves(outcomes: Sequence[Outcome], title: str) -> bytes:
    """Test MRR over the seconds of training, a panel for each dataset, a line for each seed."""
    datasets = list(dict.fromkeys(o.dataset for o in outcomes))
    rows = list(dict.fromkeys(o.row for o in outcomes))
    with _style():
        figure, panels = _panels([3.2] * len(datasets))
        for axes, dataset in zip(panels, datasets, strict=True):
            for outcome in outcomes:
                if outcome.dataset != dataset or not outcome.curve:
                    continue
                x = [point["seconds"] for point in outcome.curve]
                y = [point["test"] for point in outcome.curve]
                label = f"{outcome.row} ({_threads(outcome)})" if outcome.seed == 0 else None
                axes.plot(x, y, f"C{rows.index(outcome.row)}", marker=".", label=label)
            axes.set_xlabel("seconds of training")
            axes.set_ylabel("test MRR")
            axes.set_title(f"{title}: {dataset}", fontsize=10)
            axes.legend(frameon=False, fontsize=8)
        return _svg(figure)


def _threads(outcome: Outcome) -> str:
    count = outcome.machine.get("threads")
    return "1 thread" if count == 1 else f"{count or '?'} threads"


def clouds(panels: Sequence[tuple[str, Any, Sequence[str]]], title: str) -> bytes:
    """Points in two dimensions, coloured by label, a panel each.

    Args:
        panels: Heading, points (n, 2) and the label of each point.
        title: Above all.
    """
    with _style():
        figure, axes_of = _panels([4.2] * len(panels))
        for place, (axes, (heading, points, labels)) in enumerate(
            zip(axes_of, panels, strict=True)
        ):
            for number, label in enumerate(sorted(set(labels))):
                mine = [i for i, other in enumerate(labels) if other == label]
                axes.scatter(
                    points[mine, 0], points[mine, 1], s=4, color=f"C{number % 10}", label=label
                )
            axes.set_xticks([])
            axes.set_yticks([])
            axes.set_title(f"{title}: {heading}", fontsize=10)
            if place % 2 or place == len(panels) - 1:  # a row shows one dataset
                axes.legend(
                    frameon=False,
                    fontsize=7,
                    loc="center left",
                    bbox_to_anchor=(1, 0.5),
                    markerscale=2,
                )
        return _svg(figure)
