"""Tables of a study: one line for each row and dataset, the paper's figures beside ours."""

import csv
import io
from collections.abc import Sequence
from statistics import mean, stdev
from typing import Any

from hyperfact.runs.studies.cells import Outcome
from hyperfact.runs.studies.paper import reported

METRICS = ("mrr", "hits@1", "hits@3", "hits@10")


def summary(study: str, outcomes: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Means over seeds, in the order in which rows were first given."""
    groups: dict[tuple[str, str], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault((outcome.dataset, outcome.row), []).append(outcome)
    return [_line(study, dataset, row, found) for (dataset, row), found in groups.items()]


def _line(study: str, dataset: str, row: str, found: Sequence[Outcome]) -> dict[str, Any]:
    paper = reported(study, dataset, row)
    line: dict[str, Any] = {"dataset": dataset, "row": row, "seeds": len(found)}
    line["budget"] = " / ".join(dict.fromkeys(o.budget for o in found))
    for metric in METRICS:
        values = [o.test[metric] for o in found if o.test is not None]
        line[metric] = mean(values) if values else None
        line[f"{metric} spread"] = stdev(values) if len(values) > 1 else None
        line[f"{metric} paper"] = paper.get(metric)
    ours, theirs = line["mrr"], line["mrr paper"]
    line["difference"] = None if ours is None or theirs is None else ours - theirs
    line["valid mrr"] = mean(o.valid["mrr"] for o in found if o.valid) if found[0].valid else None
    sides = [side for o in found if o.test and (side := _sides(o.test["by_slot"])) is not None]
    line["s/o mrr"] = mean(sides) if sides else None
    free = [o.test["leak_free"]["mrr"] for o in found if o.test and o.test["leak_free"]]
    line["leak-free mrr"] = mean(free) if free else None
    errors = [o.test["numbers"]["rmse"] for o in found if o.test and "numbers" in o.test]
    line["rmse of numbers"] = mean(errors) if errors else None
    line["epochs"] = mean(o.epochs for o in found)
    line["seconds"] = mean(o.seconds for o in found)
    threads = {o.machine["threads"] for o in found if "threads" in o.machine}
    line["threads"] = max(threads) if len(threads) == 1 else None
    line["parameters"] = found[0].parameters
    line["memory GB"] = max(o.memory for o in found) / 1e9
    return line


def _sides(slots: dict[str, dict[str, Any]]) -> float | None:
    """MRR over subjects and objects only, as some papers report it; None: they were not asked."""
    asked = [slots[kind] for kind in ("subject", "object") if kind in slots]
    ranks = sum(s["ranks"] for s in asked)
    return float(sum(s["mrr"] * s["ranks"] for s in asked) / ranks) if ranks else None


def to_csv(lines: Sequence[dict[str, Any]]) -> str:
    """All columns of all lines."""
    columns = list(dict.fromkeys(key for line in lines for key in line))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return out.getvalue()


def to_markdown(lines: Sequence[dict[str, Any]], columns: Sequence[str]) -> str:
    """These columns, figures rounded for reading."""
    rows = [columns, ["---"] * len(columns)]
    rows += [[shown(column, line.get(column)) for column in columns] for line in lines]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def shown(column: str, value: Any) -> str:
    """A figure as people write it."""
    if value is None:
        return "–"
    if isinstance(value, bool | str):
        return str(value)
    if isinstance(value, int):
        return f"{value:,}"
    if column == "difference":
        return f"{value:+.3f}"
    if column in ("seconds", "epochs"):
        return f"{value:,.0f}"
    return f"{value:.2f}" if column == "memory GB" else f"{value:.3f}"
