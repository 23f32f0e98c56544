"""The section of the results page that has our best recipes beside the best published figures."""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from hyperfact.runs.studies.recipes import SYSTEMS, name_of

Cell = Mapping[str, Any]  # a training, as stored


class Rival(NamedTuple):
    """What is published for a benchmark, and which of our rows stands beside it."""

    dataset: str
    row: str
    slots: str
    learns_from: str
    published: str


RIVALS = (
    Rival("FB-AUTO", "hyperfact", "all", "train", ".880 (HMTE)"),
    Rival("JF17K", "hyperfact", "all", "train", ".600 (HMTE)"),
    Rival("JF17K", "hyperfact, train+valid", "all", "train+valid", ".656 (GRAN), .668 (HAHE)"),
    Rival("WikiPeople-3", "hyperfact", "all", "train", ".373 (GETD)"),
    Rival("WikiPeople-3", "hyperfact, train+valid", "all", "train+valid", ".416 (GRAN)"),
    Rival("WD50K", "hyperfact", "s/o", "train", ".333 (HyNT)"),
    Rival("WD50K", "hyperfact, train+valid", "s/o", "train+valid", ".349 (StarE), .368 (HAHE)"),
    Rival("WD50K_100", "hyperfact, train+valid", "s/o", "train+valid", ".654 (StarE)"),
    Rival("WD50K_100", "Hy-Transformer", "s/o", "train+valid", ".654 (StarE)"),
)
HEAD = """## Beside the best published figures

Each by `hyperfact reproduce main --budget full --dataset BENCHMARK --row ROW`. "s/o": subjects and
objects, in rows of "train+valid" among the candidates of StarE; leak-free figures are of every slot
that was ranked. How many epochs a row of "train+valid" has was fixed before its training; it has no
validation. For WD50K and WikiPeople-3 a training on train alone came first. For JF17K it came after
seed 0: 70 epochs of d = 640 were set from trainings of d = 512; on train alone the last was then
the best.
"On the way": validation MRR of every slot, filtered by train and valid facts, after so many epochs,
seed 0.

| | slots | trained on | row | recipe | MRR | seeds | leak-free | s a run | published | on the way |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def ahead(cells: Sequence[Cell]) -> str:
    """A line for each rival of which there are trainings."""
    lines = []
    for rival in RIVALS:
        mine = [c for c in cells if (c["dataset"], c["row"]) == (rival.dataset, rival.row)]
        if mine:
            lines.append(f"| {' | '.join(_line(rival, mine))} |\n")
    return HEAD + "".join(lines)


def _line(rival: Rival, cells: Sequence[Cell]) -> list[str]:
    figures = [_mrr(cell, rival.slots) for cell in cells]
    spread = f" ± {statistics.stdev(figures):.3f}" if len(figures) > 1 else ""
    first = min(cells, key=lambda cell: cell["seed"])
    return [
        *(rival.dataset, rival.slots, rival.learns_from, rival.row),
        f"`{name_of(rival.dataset, SYSTEMS[rival.row])}`",
        f"**{statistics.mean(figures):.3f}**{spread}",
        str(len(cells)),
        f"{statistics.mean(cell['test']['leak_free']['mrr'] for cell in cells):.3f}",
        f"{statistics.mean(cell['seconds'] for cell in cells):,.0f}",
        rival.published,
        on_the_way(first["curve"], most=5),
    ]


def _mrr(cell: Cell, slots: str) -> float:
    test = cell["test"]
    if slots == "all":
        return float(test["mrr"])
    parts = [test["by_slot"][name] for name in ("subject", "object")]
    return float(sum(p["mrr"] * p["ranks"] for p in parts) / sum(p["ranks"] for p in parts))


def on_the_way(curve: Sequence[Mapping[str, Any]], *, most: int) -> str:
    """Validation MRR at some epochs, the last among them."""
    some = curve[::-1][:: -(-len(curve) // most)][::-1] if curve else []
    return ", ".join(f"{point['valid']:.3f} ({point['epoch']})" for point in some)
