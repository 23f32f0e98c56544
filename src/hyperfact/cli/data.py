"""Commands on data: datasets, stats, show, convert; and how every command reads a dataset."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from hyperfact.cli.common import AsJson, DataDir, Dataset, FormatName, Literals, app
from hyperfact.cli.options import LabelFile, grouped
from hyperfact.cli.printing import download_bar, note, print_json, print_table, print_text
from hyperfact.data import is_local, notes, read
from hyperfact.data.benchmarks import BENCHMARKS, download, present, search_path
from hyperfact.data.builder import ReadReport
from hyperfact.data.bundle import BUNDLED
from hyperfact.data.formats import FORMATS
from hyperfact.data.label_files import read_labels
from hyperfact.data.parted import NAME as PARTS
from hyperfact.data.parted import TITLE
from hyperfact.errors import UnknownNameError
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.labels import KINDS, Labels

Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="PAIRS",
        help='Of a table: "subject=person, relation=:worked at, object=company, role=role".',
    ),
]


@dataclass(frozen=True)
class Reading:
    """How a dataset is read: where it lies, and what its files are like."""

    data_dir: DataDir = None
    format: FormatName = None
    columns: Columns = None
    literals: Literals = "keep"

    def splits(self, dataset: str) -> Splits:
        """The facts of a dataset, with a bar for downloads and notes on stderr."""
        return self.report(dataset)[0]

    def report(self, dataset: str) -> tuple[Splits, ReadReport]:
        """`splits`, with what was dropped and noticed."""
        known = BENCHMARKS.get(dataset) if not is_local(dataset) else None
        if known is not None and present(known, self.data_dir) is None:
            with download_bar() as bar:
                download(known, progress=bar)
        splits, report = read(
            dataset,
            data_dir=self.data_dir,
            format=self.format,
            columns=self.columns,
            literals=self.literals,
        )
        for line in report.guesses:
            note(line)
        for line in notes(report):
            note(f"note: {line}")
        return splits, report


@dataclass(frozen=True)
class Shown(Reading):
    """How a dataset is read by a command that shows names, and what they are called."""

    labels: LabelFile = None

    def splits(self, dataset: str) -> Splits:
        """The facts, with the labels of a file if one is given."""
        return labelled(super().splits(dataset), self.labels)


def labelled(splits: Splits, labels: Path | None) -> Splits:
    """The dataset with the labels of a file, if one is given."""
    return splits if labels is None else splits.with_labels(read_labels(labels))


@app.command()
def datasets(*, data_dir: DataDir = None, as_json: AsJson = False) -> None:
    """List the bundled datasets and the benchmarks, with what is present.

    Example: `hyperfact datasets --data-dir ~/benchmarks`
    """
    rows: list[dict[str, Any]] = [
        {"name": name, "about": about, "where": "bundled", "sizes": {}}
        for name, about in BUNDLED.items()
    ]
    for row in BENCHMARKS.values():
        folder = present(row, data_dir)
        rows.append(
            {
                "name": row.name,
                "about": row.about,
                "licence": row.licence,
                "citation": row.citation,
                "sizes": row.sizes,
                "where": str(folder) if folder is not None else None,
            }
        )
    if as_json:
        print_json(rows)
        return
    table = [
        (
            row["name"],
            " / ".join(f"{n:,}" if n else "?" for n in row["sizes"].values()),
            row["about"],
            row["where"] or "not present",
        )
        for row in rows
    ]
    print_table(("name", "train / valid / test", "about", "where"), table)
    folders = ", ".join(str(folder) for folder in search_path(data_dir))
    note(f"benchmarks are looked up in {folders}; `hyperfact stats NAME` downloads one")


@app.command()
def formats(*, as_json: AsJson = False) -> None:
    """List the file formats that can be read and written."""
    rows = [(f.name, f.title, f.suffix) for f in FORMATS.values()] + [(PARTS, TITLE, "")]
    if as_json:
        print_json([dict(zip(("name", "about", "suffix"), row, strict=True)) for row in rows])
        return
    print_table(("name", "about"), [row[:2] for row in rows])


@app.command()
@grouped
def show(
    dataset: Dataset,
    name: Annotated[
        str, typer.Argument(help="An entity or a relation, or its label.", show_default=False)
    ],
    shown: Shown,
    *,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many facts.")] = 20,
    split: Annotated[str, typer.Option(help="train, valid, test or all.")] = "all",
    as_json: AsJson = False,
) -> None:
    """Show the facts of an entity or relation.

    Example: `hyperfact show baseball "Hank Aaron"`, `hyperfact show baseball "played for" -n 5`
    """
    splits = shown.splits(dataset)
    if split != "all" and split not in splits:
        raise UnknownNameError("split", split, [*splits, "all"])
    graph, labels = splits.all if split == "all" else splits[split], splits.labels
    name = named(labels, name)
    found = facts_about(graph, name)
    facts = [found[i] for i in range(min(limit, len(found)))]
    if as_json:
        rows = [
            {
                "subject": fact.subject,
                "relation": fact.relation,
                "object": fact.object,
                "qualifiers": [list(pair) for pair in fact.qualifiers],
                "label": labels.fact(fact),
            }
            for fact in facts
        ]
        print_json({"name": name, "label": labels.show(name), "count": len(found), "facts": rows})
        return
    for fact in facts:
        print_text(labels.fact(fact))
    if len(found) > limit:
        note(f"{len(found) - limit:,} more; see --limit")


def named(labels: Labels, text: str) -> str:
    """The entity, else the relation, that a person means."""
    found = (labels.find(text, kind) for kind in KINDS)
    return next((name for name in found if name is not None), None) or labels.meant(text, "entity")


def facts_about(graph: HKG, name: str) -> HKG:
    """The facts of the entity or relation with this name."""
    entity, relation = graph.entities.get(name), graph.relations.get(name)
    if entity is None and relation is None:
        known = [*graph.entities, *graph.relations]
        raise UnknownNameError("entity or relation", name, known, list_known=False)
    return graph.of_entity(entity) if entity is not None else graph.of_relation(relation or 0)
