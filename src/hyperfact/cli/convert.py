"""The command `convert`: from any format to any other; a Wikidata dump to a dataset in parts."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import DownloadColumn, TextColumn, TransferSpeedColumn
from rich.progress import Progress as Bar

from hyperfact.cli.common import AsJson, DataDir, Dataset, Force, Literals, app, refuse_existing
from hyperfact.cli.data import Columns, Reading
from hyperfact.cli.engines import Work
from hyperfact.cli.options import grouped
from hyperfact.cli.printing import note, print_json
from hyperfact.data import write
from hyperfact.data.formats import recognise
from hyperfact.data.formats.wikidata_statements import NOTES, RANKS, Choice
from hyperfact.data.label_files import FILE as LABELS
from hyperfact.data.label_files import beside
from hyperfact.data.parted import NAME as PARTS
from hyperfact.errors import UserError
from hyperfact.scale.dump import Progress, read_dump, write_labels
from hyperfact.scale.spool import Spooled, parts_of_spool
from hyperfact.system.source import Source
from hyperfact.system.writing import staged


@dataclass(frozen=True)
class Dump:
    """What is taken of a Wikidata dump, and by how many processes."""

    workers: Annotated[
        int, typer.Option("--workers", min=1, help="Of a dump: processes that parse.")
    ] = 1
    properties: Annotated[
        list[str] | None,
        typer.Option("--property", metavar="P39", help="Of a dump: only these (repeatable)."),
    ] = None
    classes: Annotated[
        list[str] | None,
        typer.Option(
            "--class", metavar="Q5", help="Of a dump: only instances of these (repeatable)."
        ),
    ] = None
    rank: Annotated[str, typer.Option("--rank", help=f"Of a dump: {', '.join(RANKS)}.")] = "all"
    language: Annotated[
        str, typer.Option("--language", metavar="CODE", help="Of a dump: of its labels.")
    ] = ""

    def choice(self) -> Choice:
        """Which statements are taken."""
        properties, classes = (tuple(names or ()) for names in (self.properties, self.classes))
        return Choice(properties, classes, self.rank, self.language)

    def is_for(self, source: str, format: str | None, to: str | None) -> bool:
        """Whether a source is read as a dump; refuses filters for anything else."""
        path = Path(source)
        lines = path.is_file() and format in (None, "wikidata") and to == PARTS
        if lines:
            file = Source(path)
            lines = recognise(file).name == "wikidata" and _is_by_lines(file)
        if not lines and self != Dump():
            raise UserError(
                "--workers, --property, --class, --rank and --language are for a Wikidata dump "
                f"with an entity on each line, and --to {PARTS}"
            )
        return lines


def _is_by_lines(file: Source) -> bool:
    """Whether a file has an entity on each line, and is not one document."""
    first = file.sample[0].strip() if file.sample else ""
    return first == "[" or (first.startswith("{") and first.rstrip(",").endswith("}"))


@app.command()
@grouped
def convert(
    source: Dataset,
    target: Annotated[Path, typer.Argument(help="A file, or a folder for several splits.")],
    dump: Dump,
    work: Work,
    *,
    from_: Annotated[str | None, typer.Option("--from", help="Format of the source.")] = None,
    to: Annotated[str | None, typer.Option("--to", help="Format of the target.")] = None,
    split: Annotated[str | None, typer.Option(help="Only this split, into one file.")] = None,
    columns: Columns = None,
    literals: Literals = "keep",
    data_dir: DataDir = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Convert facts from any format to any other, exactly or not at all.

    Examples: `hyperfact convert WD50K wd50k --to jsonl`,
    `hyperfact convert people.csv facts.jsonl --columns "subject=person, relation=:at, object=firm"`

    `hyperfact convert latest-all.json.bz2 people --to parts --class Q5 --workers 8`
    """
    refuse_existing(target, force=force)
    if dump.is_for(source, from_, to):
        _convert_dump(Path(source), target, dump, work, literals=literals, as_json=as_json)
        return
    splits = Reading(data_dir, from_, columns, literals).splits(source)
    if split is not None:
        splits = splits.only(split)
    if splits.label_texts and target.suffix:
        refuse_existing(beside(target), force=force)
    paths = write(splits, target, format=to)
    count = sum(len(part) for part in splits.values())
    if as_json:
        print_json({"facts": count, "files": [str(path) for path in paths]})
    else:
        note(f"wrote {count:,} facts to {', '.join(str(path) for path in paths)}")


def _convert_dump(
    source: Path, target: Path, dump: Dump, work: Work, *, literals: str, as_json: bool
) -> None:
    """Read a dump into a folder beside the target, and make the dataset of what lies there."""
    spool = target.with_name(f"{target.name}.partial")
    choice = dump.choice()
    with _bar() as tell:
        progress = read_dump(
            Source(source), spool, choice, workers=dump.workers, literals=literals, tell=tell
        )
    with work.open() as engine, staged(target) as stage:
        found = parts_of_spool(engine, spool, stage)  # type: ignore[arg-type]
        write_labels(spool, stage, LABELS)
    shutil.rmtree(spool, ignore_errors=True)
    _tell(source, target, progress, found, as_json=as_json)


def _tell(source: Path, target: Path, progress: Progress, found: Spooled, *, as_json: bool) -> None:
    left_out = dict(sorted(progress.left_out.items()))
    if as_json:
        print_json(
            {
                "facts": found.facts,
                "entities": found.entities,
                "relations": found.relations,
                "json_bytes": progress.position,
                "taken_up_at": progress.skipped,
                "left_out": left_out,
                "repeated_facts": found.repeated_facts,
                "repeated_qualifiers": found.repeated_qualifiers,
                "files": [str(target)],
            }
        )
        return
    for key, count in left_out.items():
        if count:
            note(f"note: {source}: {count:,} {NOTES[key]}")
    if found.repeated_facts:
        note(f"note: {found.repeated_facts:,} facts repeat an earlier one")
    note(f"wrote {found.facts:,} facts of {found.entities:,} entities to {target}")


@contextmanager
def _bar() -> Iterator[Any]:
    """How much JSON is read, and how fast."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), DownloadColumn(), TransferSpeedColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("JSON", total=None)

        def tell(progress: Progress) -> None:
            bar.update(
                task, completed=progress.position, description=f"{progress.facts:,} facts, JSON"
            )

        yield tell
