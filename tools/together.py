"""The section of the results page about ensembles: what `hyperfact ensemble --json` printed."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

Told = Mapping[str, Any]  # what the command printed

HEAD = """## Several runs as one

Rows of their own, never the figure of one model: members are weighed on validation facts
([how](howto/ensemble.md)), and which runs are members was decided before test facts were ranked.
"Best member" is the best test MRR of one member alone. Members are runs of the commands on this
page (one seed each); then `hyperfact ensemble MEMBER … --out results/ensembles/runs/NAME --json`.

| | members | weights | best member | MRR | Hits@1 | Hits@10 | leak-free | valid |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
"""


def together(folder: Path) -> str:
    """A line for each stored ensemble; nothing if there is none."""
    files = sorted(folder.glob("*.json"))
    if not files:
        return ""
    return HEAD + "".join(
        f"| {' | '.join(_line(json.loads(file.read_text(encoding='utf-8'))))} |\n" for file in files
    )


def _line(told: Told) -> list[str]:
    members, test = told["members"], told["test"]
    alone = max(member["test_mrr"] for member in members)
    figures = (alone, test["mrr"], test["hits@1"], test["hits@10"], test["leak_free"]["mrr"])
    best, mrr, *others = (f"{figure:.3f}" for figure in figures)
    return [
        told["dataset"],
        ", ".join(f"`{_shortened(told, member)}`" for member in members),
        ", ".join(f"{member['weight']:.2f}" for member in members),
        *(best, f"**{mrr}**", *others),
        f"{told['valid']['mrr']:.3f}",
    ]


def _shortened(told: Told, member: Told) -> str:
    """The study and the row of a member; dataset and seed are the same for all."""
    path = Path(member["run"])
    row = path.name.removeprefix(f"{told['dataset']}-").removesuffix("-0")
    return f"{path.parent.parent.name}: {row}"
