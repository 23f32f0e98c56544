"""Write src/hyperfact/runs/figures.tsv from the stored results (python -m tools.figures).

One row for each system and dataset of the study `main`: what `hyperfact models` shows. A test says
when it is out of date.
"""

import csv
import io
import json
from collections import defaultdict
from pathlib import Path
from statistics import mean

from hyperfact.runs.studies import STUDIES
from hyperfact.runs.studies.study import Plan, Trainings

ROOT = Path(__file__).resolve().parents[1]
CELLS = ROOT / "results" / "main" / "cells"
FIGURES = ROOT / "src" / "hyperfact" / "runs" / "figures.tsv"
HEAD = ("system", "dataset", "encoder", "decoder", "mrr", "seeds", "seconds")


def figures() -> str:
    """The table: test MRR and seconds an epoch, means over seeds."""
    stored = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(CELLS.glob("*.json"))]
    by_name = {(d["dataset"], d["row"], d["seed"]): d for d in stored}
    study = STUDIES["main"]
    assert isinstance(study, Trainings)
    rows = defaultdict(list)
    for dataset in dict.fromkeys(d["dataset"] for d in stored):
        for cell in study.cells(Plan("full", (dataset,), study.most_seeds)):
            outcome = by_name.get((cell.dataset, cell.row, cell.seed))
            if outcome is not None and outcome["fingerprint"] == cell.fingerprint:
                pair = (cell.config.encoder.name, cell.config.decoder.name)
                took = outcome["seconds"] / outcome["epochs"]
                rows[cell.row, dataset, *pair].append((outcome["test"]["mrr"], took))
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", lineterminator="\n")
    writer.writerow(HEAD)
    for system, values in sorted(rows.items()):
        mrr, seconds = (mean(column) for column in zip(*values, strict=True))
        writer.writerow((*system, f"{mrr:.4f}", len(values), f"{seconds:.1f}"))
    return text.getvalue()


if __name__ == "__main__":
    FIGURES.write_text(figures(), encoding="utf-8")
