"""The command `audit`: what is wrong or surprising in a dataset, as table, JSON or HTML page."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hyperfact.audit import SEVERITIES, Audit, Cleaned, Finding, audit_of, clean, percent
from hyperfact.audit.kinds import INFO, LEAK, OK, WARNING
from hyperfact.audit.page import page
from hyperfact.cli.common import (
    AsJson,
    DataDir,
    Dataset,
    FormatName,
    Literals,
    app,
    note,
    print_json,
    print_text,
)
from hyperfact.cli.data import load_noted
from hyperfact.data import find_files, write
from hyperfact.data.output import write_texts
from hyperfact.errors import DataError, UserError
from hyperfact.hkg import Splits
from hyperfact.stats import stats_of

_LOOK = {LEAK: "bold red", WARNING: "yellow", INFO: "cyan", OK: "green"}


@app.command("audit")
def audit_command(
    dataset: Dataset = "baseball",
    *,
    strict: Annotated[bool, typer.Option("--strict", help="Exit 1 if there is a leak.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write the report as one HTML file.")] = None,
    fix: Annotated[
        Path | None, typer.Option(help="Write a cleaned dataset to this folder.")
    ] = None,
    to: Annotated[str, typer.Option("--to", help="Format of the cleaned files.")] = "jsonl",
    drop_twins: Annotated[
        bool, typer.Option("--drop-twins", help="With --fix: drop bare twins of qualified facts.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Go on although valid is test; overwrite with --fix.")
    ] = False,
    examples: Annotated[int, typer.Option(min=0, help="Examples for each finding.")] = 3,
    data_dir: DataDir = None,
    format: FormatName = None,
    literals: Literals = "keep",
    as_json: AsJson = False,
) -> None:
    """Look for leaks, repeats, unseen names and other surprises in a dataset.

    Examples: `hyperfact audit JF17K --html jf17k.html`,
    `hyperfact audit my-data --strict`, `hyperfact audit my-data --fix my-data-clean`
    """
    splits = load_noted(dataset, data_dir, format, literals)
    originals = {path.resolve() for path in find_files(dataset, data_dir)[1].values()}
    if html is not None and html.resolve() in originals:
        raise UserError(f"{html}: is an original file; name another one for --html")
    if fix is not None:
        _check_folder(fix, originals, force=force)
    found = audit_of(splits, examples=examples)
    if html is not None:
        write_texts(html.parent, {html.name: page(found, stats_of(splits))})
    stop = found.valid_is_test and not force
    cleaned = clean(splits, drop_twins=drop_twins) if fix is not None and not stop else None
    files = write(cleaned.splits, fix, format=to) if cleaned is not None and fix is not None else []
    if as_json:
        print_json(_as_dict(found, cleaned, files))
    else:
        print_audit(found)
        _print_cleaned(splits, cleaned, files)
    if html is not None:
        note(f"wrote the report to {html}")
    if stop:
        raise DataError("valid and test are the same facts; --force goes on all the same")
    if strict and found.leaks:
        raise typer.Exit(1)


def _check_folder(target: Path, originals: set[Path], *, force: bool) -> None:
    """Refuse to write among the original files, or silently over others."""
    if target.exists() and not target.is_dir():
        raise UserError(f"{target}: is a file; --fix needs a folder")
    if not target.is_dir():
        return
    if target.resolve() in {path.parent for path in originals}:
        raise UserError(f"{target}: holds the original files; name another folder for --fix")
    if any(target.iterdir()) and not force:
        raise UserError(f"{target}: is not empty; name a new folder, or allow it by --force")


def _as_dict(found: Audit, cleaned: Cleaned | None, files: list[Path]) -> dict[str, Any]:
    result = found.as_dict()
    if cleaned is not None:
        result["fix"] = {**cleaned.as_dict(), "files": [str(path) for path in files]}
    return result


def print_audit(found: Audit) -> None:
    """The audit as a table, the bad findings with a sentence and examples below."""
    sizes = ", ".join(f"{name} {count:,}" for name, count in found.sizes.items())
    print_text(f"{found.name} ({sizes} facts): {found.verdict}\n")
    shown = [f for severity in SEVERITIES for f in found.with_severity(severity)]
    bad = [f for f in shown if f.severity in {LEAK, WARNING}]
    rows = [f for f in shown if f.severity != OK]
    if rows:
        _console().print(_table(rows))
    for finding in bad:
        print_text("")
        head = Text(f"{finding.severity}: ", style=_LOOK[finding.severity])
        _console().print(head + Text(f"{finding.sentence} {finding.kind.reason}", style="default"))
        for example in finding.examples:
            print_text(f"  {example}")
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
        cells = (f.kind.title, f.where or "all", f"{f.count:,}", f"{f.of:,}", percent(f.share))
        table.add_row(severity, *cells)
    return table


def _console() -> Console:
    """A console of the terminal's width; 80 columns where there is no terminal."""
    width = None if sys.stdout.isatty() else 80
    return Console(markup=False, highlight=False, emoji=False, width=width)


def _print_cleaned(splits: Splits, cleaned: Cleaned | None, files: list[Path]) -> None:
    if cleaned is None:
        return
    print_text("\nRemoved:" if cleaned.removed else "\nNothing had to be removed.")
    for row in cleaned.removed:
        print_text(f"  {row.count:>9,} from {row.split}: {row.reason}")
    for name, part in cleaned.splits.items():
        before = len(splits[name]) + len(splits[name].repeats.facts)
        print_text(f"  {name}: {before:,} -> {len(part):,} facts")
    note(f"wrote {', '.join(str(path) for path in files)}; the original files are as they were")
