"""Figures that the TransEQ paper reports, to stand beside ours."""

import csv
from functools import cache
from importlib.resources import files


@cache
def _figures() -> dict[tuple[str, str, str], dict[str, float]]:
    text = files("hyperfact.runs.studies").joinpath("paper.tsv").read_text(encoding="utf-8")
    found: dict[tuple[str, str, str], dict[str, float]] = {}
    for line in csv.DictReader(text.splitlines(), delimiter="\t"):
        key = line["study"], line["dataset"], line["row"]
        found.setdefault(key, {})[line["metric"]] = float(line["value"])
    return found


def reported(study: str, dataset: str, row: str) -> dict[str, float]:
    """Metrics of a row of a table of the paper; empty where it has none.

    A row of ours may add to the paper's name by what settings it was trained.
    """
    return dict(_figures().get((study, dataset, row.partition(" by ")[0]), {}))


def rows_of(study: str, dataset: str) -> list[str]:
    """Every row that the paper's table has for a dataset, in its order."""
    return [row for named, data, row in _figures() if (named, data) == (study, dataset)]
