"""The command `audit`: what is wrong or surprising in a dataset, as table, JSON or HTML page."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hyperfact.cli.common import AsJson, Dataset, app, refuse_existing, write_page
from hyperfact.cli.data import Shown
from hyperfact.cli.engines import Work
from hyperfact.cli.options import grouped
from hyperfact.cli.printing import note, print_json, print_text
from hyperfact.cli.visible import in_line
from hyperfact.data import find_files, write
from hyperfact.data.audit import SEVERITIES, Audit, Cleaned, Finding, audit_of, clean, percent
from hyperfact.data.audit.kinds import INFO, LEAK, OK, WARNING
from hyperfact.data.stats import Stats, stats_of
from hyperfact.errors import DataError, UserError
from hyperfact.graph.hkg import Splits
from hyperfact.scale.disk_audit import audit_on_disk
from hyperfact.scale.disk_stats import stats_on_disk

_LONGEST = 400  # characters of one example on a terminal
_LOOK = {LEAK: "bold red", WARNING: "yellow", INFO: "cyan", OK: "green"}


Strict = Annotated[bool, typer.Option("--strict", help="Exit 1 if there is a leak.")]
Html = Annotated[Path | None, typer.Option("--html", help="Write the report as one HTML file.")]
Fix = Annotated[
    Path | None, typer.Option("--fix", help="Write a cleaned dataset to this new folder.")
]
To = Annotated[
    str | None, typer.Option("--to", help="With --fix: format of the files; jsonl if not given.")
]
DropTwins = Annotated[
    bool, typer.Option("--drop-twins", help="With --fix: drop bare twins of qualified facts.")
]
Force = Annotated[
    bool, typer.Option("--force", help="Go on although valid is test; write over what exists.")
]
Examples = Annotated[int, typer.Option("--examples", min=0, help="Examples for each finding.")]


@app.command("audit")
@grouped
def audit_command(
    shown: Shown,
    work: Work,
    dataset: Dataset = "baseball",
    *,
    strict: Strict = False,
    html: Html = None,
    fix: Fix = None,
    to: To = None,
    drop_twins: DropTwins = False,
    force: Force = False,
    examples: Examples = 3,
    as_json: AsJson = False,
) -> None:
    """Look for leaks, repeats, unseen names and other surprises in a dataset.

    Examples: `hyperfact audit JF17K --html jf17k.html`,
    `hyperfact audit my-data --strict`, `hyperfact audit my-data --fix my-data-clean`
    """
    if fix is None and (to is not None or drop_twins):
        raise UserError("--to and --drop-twins say how to clean; they need --fix FOLDER")
    _check_targets(dataset, shown.data_dir, html, fix, force=force)
    splits, found, counts = _look(shown, work, dataset, examples=examples, fix=fix)
    if html is not None:
        from hyperfact.draw.pages.audit_page import page

        write_page(html, page(found, counts()))
        note(f"wrote the report to {html}")
    if not as_json:
        print_audit(found)
    stop = found.valid_is_test and not force
    cleaned = clean(splits, drop_twins=drop_twins) if fix is not None and not stop else None
    files = write(cleaned.splits, fix, format=to or "jsonl") if cleaned and fix else []
    if as_json:
        print_json(_as_dict(found, cleaned, files))
    elif cleaned is not None:
        _print_cleaned(splits, cleaned, files)
    if stop:
        raise DataError("valid and test are the same facts; --force goes on all the same")
    if strict and found.leaks:
        raise typer.Exit(1)


def _look(
    shown: Shown, work: Work, dataset: str, *, examples: int, fix: Path | None
) -> tuple[Splits, Audit, Callable[[], Stats]]:
    """The facts (of a dataset that only an engine looks at: none), the audit, and how to count."""
    if not work.is_used(dataset, shown):
        splits = shown.splits(dataset)
        return splits, audit_of(splits, examples=examples), lambda: stats_of(splits)
    if fix is not None:
        raise UserError("--fix cleans in memory; add --engine memory")
    with work.facts(dataset) as facts:
        found = audit_on_disk(facts, examples=examples, texts=work.labels(dataset, shown.labels))
        counted = stats_on_disk(facts)
    return Splits({}), found, lambda: counted


def _check_targets(
    dataset: str, data_dir: Path | None, html: Path | None, fix: Path | None, *, force: bool
) -> None:
    """Refuse to write over or among the original files, or silently over others."""
    originals = {path.resolve() for path in find_files(dataset, data_dir)[1].values()}
    if html is not None and html.resolve() in originals:
        raise UserError(f"{html}: is an original file; name another one for --html")
    refuse_existing(html, force=force)
    if fix is None or not fix.exists():
        return
    if not fix.is_dir():
        raise UserError(f"{fix}: is a file; --fix needs a folder")
    if fix.resolve() in {path.parent for path in originals}:
        raise UserError(f"{fix}: holds the original files; name another folder for --fix")
    refuse_existing(fix, force=force)


def _as_dict(found: Audit, cleaned: Cleaned | None, files: list[Path]) -> dict[str, Any]:
    result = found.as_dict()
    if cleaned is not None:
        result["fix"] = {**cleaned.as_dict(), "files": [str(path) for path in files]}
    return result


def print_audit(found: Audit) -> None:
    """The audit as a table, the bad findings with a sentence and examples below."""
    sizes = ", ".join(f"{name} {count:,}" for name, count in found.sizes.items())
    print_text(f"{in_line(found.name)} ({sizes} facts): {found.verdict}\n")
    shown = [f for severity in SEVERITIES for f in found.with_severity(severity)]
    bad = [f for f in shown if f.severity in {LEAK, WARNING}]
    rows = [f for f in shown if f.severity != OK]
    if rows:
        _console().print(_table(rows))
    for finding in bad:
        print_text("")
        head = Text(f"{finding.severity}: ", style=_LOOK[finding.severity])
        body = in_line(f"{finding.sentence} {finding.kind.reason}")
        _console().print(head + Text(body, style="default"))
        for example in finding.shown:
            print_text(f"  {example if len(example) <= _LONGEST else example[:_LONGEST] + '…'}")
    if found.clear:
        print_text("")
        _console().print(Text(f"Checked, nothing found: {'; '.join(found.clear)}.", style="green"))


def _table(rows: list[Finding]) -> Table:
    table = Table(box=None, pad_edge=False)
    for column in ("severity", "finding", "where"):
        table.add_column(column, overflow="fold")
    for column in ("count", "of", "share"):
        table.add_column(column, justify="right", no_wrap=True)
    for f in rows:
        severity = Text(f.severity, style=_LOOK[f.severity])
        cells = (
            f.kind.title,
            in_line(f.where or "all"),
            f"{f.count:,}",
            f"{f.of:,}",
            percent(f.share),
        )
        table.add_row(severity, *cells)
    return table


def _console() -> Console:
    """A console of the terminal's width; 80 columns where there is no terminal."""
    width = None if sys.stdout.isatty() else 80
    return Console(markup=False, highlight=False, emoji=False, width=width)


def _print_cleaned(splits: Splits, cleaned: Cleaned, files: list[Path]) -> None:
    print_text("\nRemoved:" if cleaned.removed else "\nNothing had to be removed.")
    for row in cleaned.removed:
        print_text(f"  {row.count:>9,} from {row.split}: {row.reason}")
    for name, part in cleaned.splits.items():
        before = len(splits[name]) + len(splits[name].repeats.facts)
        print_text(f"  {name}: {before:,} -> {len(part):,} facts")
    note(f"wrote {', '.join(str(path) for path in files)}; the original files are as they were")
