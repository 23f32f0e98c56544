"""Figures that papers report, to stand beside ours.

`paper.tsv` names the source of each: the tables of the TransEQ paper, or the paper of the system
where those have none. They are under the protocol of their source.
"""

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
    """Published metrics of a row; empty where there are none.

    A row of ours may add to the paper's name by what settings it was trained.
    """
    return dict(_figures().get((study, dataset, row.partition(" by ")[0]), {}))


def rows_of(study: str, dataset: str) -> list[str]:
    """Every row that is published for a dataset, those of the paper's table first."""
    return [row for named, data, row in _figures() if (named, data) == (study, dataset)]
