"""The command that parts facts into train, valid and test."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from hyperfact.cli.common import AsJson, Dataset, Force, app, refuse_existing
from hyperfact.cli.data import Reading
from hyperfact.cli.options import grouped
from hyperfact.cli.printing import note, print_json, print_table
from hyperfact.data import write
from hyperfact.data.split import split_by_entity, split_by_time, split_facts, unseen_names
from hyperfact.errors import UserError
from hyperfact.graph.hkg import HKG, Splits


@dataclass(frozen=True)
class Way:
    """How to split: at random unless by time or by entity."""

    ratios: Annotated[str, typer.Option(help="Shares of train, valid and test.")] = "80,10,10"
    by_time: Annotated[
        str | None,
        typer.Option(metavar="ATTRIBUTE", help="The newest values of this attribute are tested."),
    ] = None
    by_entity: Annotated[bool, typer.Option("--by-entity", help="Hold out entities.")] = False
    seed: Annotated[int, typer.Option(min=0, help="Of the random order.")] = 0

    def split(self, facts: HKG) -> Splits:
        """Train, valid and test of these facts."""
        try:
            ratios = [float(share) for share in self.ratios.split(",")]
        except ValueError:
            raise UserError(f"--ratios: expected three numbers, got {self.ratios!r}") from None
        if self.by_time is not None and self.by_entity:
            raise UserError("--by-time and --by-entity are two ways to split; choose one")
        if self.by_time is not None:
            return split_by_time(facts, self.by_time, ratios)
        by = split_by_entity if self.by_entity else split_facts
        return by(facts, ratios, seed=self.seed)


@app.command()
@grouped
def split(
    dataset: Dataset,
    out: Annotated[Path, typer.Argument(help="A folder for train, valid and test.")],
    way: Way,
    reading: Reading,
    *,
    to: Annotated[str, typer.Option("--to", help="Format of the files.")] = "jsonl",
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Split facts into train, valid and test; no primary triple stands in two of them.

    At random, valid and test name only what train names too.

    Examples: `hyperfact split facts.jsonl mine`,
    `hyperfact split facts.jsonl mine --by-time start --ratios 70,10,20`
    """
    refuse_existing(out, force=force)
    found = way.split(reading.splits(dataset).all)
    paths = write(found, out, format=to)
    if as_json:
        sizes = {name: len(part) for name, part in found.items()}
        print_json({"facts": sizes, "files": [str(path) for path in paths]})
        return
    rows = [(name, len(part), unseen_names(found, name)) for name, part in found.items()]
    print_table(("split", "facts", "names not in train"), rows)
    note(f"wrote {out}")
