"""The command that parts facts into train, valid and test."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from hyperfact.cli.common import AsJson, Dataset, Force, app, refuse_existing
from hyperfact.cli.data import Reading
from hyperfact.cli.engines import Work
from hyperfact.cli.options import grouped
from hyperfact.cli.printing import note, print_json, print_table
from hyperfact.data import write
from hyperfact.data.manifest import MANIFEST
from hyperfact.data.parted import NAME as PARTS
from hyperfact.data.split import split_by_entity, split_by_time, split_facts, unseen_names
from hyperfact.errors import UserError
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.scale.disk_split import DiskSplit, split_on_disk


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

    def shares(self) -> list[float]:
        """The three shares; refuses what no split can have."""
        if self.by_time is not None and self.by_entity:
            raise UserError("--by-time and --by-entity are two ways to split; choose one")
        try:
            return [float(share) for share in self.ratios.split(",")]
        except ValueError:
            raise UserError(f"--ratios: expected three numbers, got {self.ratios!r}") from None

    def split(self, facts: HKG) -> Splits:
        """Train, valid and test of these facts."""
        ratios = self.shares()
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
    work: Work,
    *,
    to: Annotated[
        str | None,
        typer.Option(
            "--to", help="Format of the files. [default: that of a dataset in parts, else jsonl]"
        ),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Split facts into train, valid and test; no primary triple stands in two of them.

    At random, valid and test name only what train names too.

    Examples: `hyperfact split facts.jsonl mine`,
    `hyperfact split facts.jsonl mine --by-time start --ratios 70,10,20`
    """
    refuse_existing(out, force=force)
    if work.is_used(dataset, reading):
        found = _on_disk(way, work, dataset, out, to)
        sizes, unseen, paths = found.sizes, found.unseen.get, [out / MANIFEST]
    else:
        splits = way.split(reading.splits(dataset).all)
        sizes = {name: len(part) for name, part in splits.items()}
        unseen, paths = partial(unseen_names, splits), write(splits, out, format=to or "jsonl")
    if as_json:
        print_json({"facts": sizes, "files": [str(path) for path in paths]})
        return
    rows = [(name, size, unseen(name)) for name, size in sizes.items()]
    print_table(("split", "facts", "names not in train"), rows)
    note(f"wrote {out}")


def _on_disk(way: Way, work: Work, dataset: str, out: Path, to: str | None) -> DiskSplit:
    if way.by_entity or to not in (None, PARTS):
        raise UserError("--by-entity and other formats than parts are of memory; --engine memory")
    with work.facts(dataset) as facts:
        return split_on_disk(facts, out, way.shares(), seed=way.seed, by_time=way.by_time)
