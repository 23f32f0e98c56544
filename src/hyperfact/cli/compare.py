"""The command that compares rankings: two of them query by query, or any number in one table."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyperfact.cli.common import AsJson, DataDir, Force, RunPaths, app, refuse_existing
from hyperfact.cli.judge import By, Split, TiesOption
from hyperfact.cli.options import NamingCommand, with_code
from hyperfact.cli.printing import note, print_json, print_table, print_text
from hyperfact.cli.results import NAMES, print_comparisons
from hyperfact.cli.visible import in_line
from hyperfact.errors import DataError, UserError
from hyperfact.system.table_texts import FORMS, table_text

if TYPE_CHECKING:  # torch takes a second to import, which the other commands should not pay
    from hyperfact.evaluation import Policy, Ranks, Standing
    from hyperfact.graph.hkg import HKG
    from hyperfact.graph.labels import Labels

_HEAD = ("run", "MRR", "Hits@1", "Hits@10", "to the best", "95 % interval", "p", "wins", "losses")


@app.command("compare", cls=NamingCommand)
@with_code
def compare_(
    runs: RunPaths,
    *,
    split: Split = "test",
    ties: TiesOption = None,
    by: By = None,
    out: Annotated[
        Path | None, typer.Option(help=f"Write the table too: {', '.join(FORMS)}.")
    ] = None,
    force: Force = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Compare runs query by query: differences in MRR, how sure they are, who wins how often.

    Two runs are compared with each other, more with the best of them. Reads rank tables; a RUN may
    also be a rank table that `evaluate --ranks` wrote.

    Examples: `hyperfact compare runs/lookup runs/compgcn --by arity`,
    `hyperfact compare runs/* --out table.tex`
    """
    if len(runs) < 2:
        raise UserError("give two runs or more")
    if out is not None:
        table_text(out, (), ())  # the ending, before anything is read
    refuse_existing(out, force=force)
    rankings, about = _aligned(runs, split)
    policy = _policy(about, ties)
    parts = {"all": None} | _slices(rankings, by or [], runs[0], split, data_dir)
    tell = _tell_two if len(runs) == 2 else _tell_many
    rows = tell(rankings, parts, policy, as_json=as_json)
    if out is not None:
        out.write_text(table_text(out, rows[0], rows[1:]), encoding="utf-8")
        note(f"wrote the table to {out}")
    if not as_json:
        print_text(f"\nprotocol: {policy.text(about['candidates'])}")


def _policy(about: Mapping[str, Any], ties: str | None) -> "Policy":
    from hyperfact.evaluation import Policy

    policy = Policy(**about["policy"])
    return policy if ties is None else replace(policy, ties=ties)  # type: ignore[arg-type]


def _aligned(runs: Sequence[Path], split: str) -> "tuple[dict[str, Ranks], dict[str, Any]]":
    """The rankings by name, the same queries in the same order, and what they say of themselves."""
    from hyperfact.evaluation import align

    found = [(path, *_stored_ranks(path, split)) for path in runs]
    (first, one, about), *others = found
    rankings = {_name(first, runs): one.sorted()}
    for path, ranks, other in others:
        _refuse_unlike((first, about), (path, other))
        rankings[_name(path, runs, len(rankings))] = align(one, ranks)[1]
    return rankings, about


def _name(path: Path, runs: Sequence[Path], number: int = 0) -> str:
    """As it was given; one that is given twice has its number behind it."""
    return str(path) if list(runs).count(path) == 1 else f"{path} ({number + 1})"


def _slices(
    rankings: "Mapping[str, Ranks]",
    by: Sequence[str],
    path: Path,
    split: str,
    data_dir: Path | None,
) -> dict[str, Any]:
    """Rows of each part, by its name."""
    if not by:
        return {}
    from hyperfact.evaluation.slices import RankedQueries, slices_of

    asked, train, labels = _facts_of(path, split, data_dir)
    queries = RankedQueries(next(iter(rankings.values())), asked, train)
    return {
        f"{n} {labels.full(part) if n in NAMES else part}": rows
        for n in by
        for part, rows in slices_of(queries, n).items()
    }


def _tell_two(
    rankings: "Mapping[str, Ranks]", parts: Mapping[str, Any], policy: "Policy", *, as_json: bool
) -> list[list[str]]:
    """Print the second against the first; returns the table."""
    from hyperfact.evaluation import compare

    (first, one), (second, two) = rankings.items()
    found = {n: compare(one, two, ties=policy.ties, rows=rows) for n, rows in parts.items()}
    if as_json:
        slices = {name: c.as_dict() for name, c in found.items() if name != "all"}
        about = {"first_run": first, "second_run": second, "policy": asdict(policy)}
        print_json({**about, **found["all"].as_dict(), "slices": slices})
        return [[]]
    return print_comparisons(found, first, second)


def _tell_many(
    rankings: "Mapping[str, Ranks]", parts: Mapping[str, Any], policy: "Policy", *, as_json: bool
) -> list[list[str]]:
    """Print all against the best, then the MRR of each part; returns the first table."""
    from hyperfact.evaluation import standings

    found = {n: standings(rankings, ties=policy.ties, rows=rows) for n, rows in parts.items()}
    if as_json:
        print_json(
            {
                "policy": asdict(policy),
                "runs": [s.as_dict() for s in found["all"]],
                "slices": {n: [s.as_dict() for s in f] for n, f in found.items() if n != "all"},
            }
        )
        return [[]]
    rows = [_cells(standing) for standing in found["all"]]
    print_table(_HEAD, rows)
    if len(found) > 1:
        names = [standing.name for standing in found["all"]]
        by_name = {n: {s.name: s.metrics.mrr for s in f} for n, f in found.items() if n != "all"}
        head = ("slice", *map(in_line, names), "best")
        print_table(
            head,
            [
                (part, *(f"{mrrs[n]:.4f}" for n in names), in_line(max(mrrs, key=mrrs.__getitem__)))
                for part, mrrs in by_name.items()
            ],
        )
    return [list(_HEAD), *rows]


def _cells(standing: "Standing") -> list[str]:
    m, c = standing.metrics, standing.against_best
    cells = [in_line(standing.name), *(f"{x:.4f}" for x in (m.mrr, m.hits_at_1, m.hits_at_10))]
    if c is None:
        return [*cells, "", "", "", "", ""]
    interval = f"{c.interval.low:+.4f} to {c.interval.high:+.4f}"
    return [*cells, f"{c.difference:+.4f}", interval, f"{c.p:.3g}", str(c.wins), str(c.losses)]


def _stored_ranks(path: Path, split: str) -> "tuple[Ranks, dict[str, Any]]":
    from hyperfact.evaluation import Ranks
    from hyperfact.runs.artifacts import RANKS, read_manifest
    from hyperfact.system.tables import read_table

    file = path / RANKS.format(split=split) if path.is_dir() else path
    if path.is_dir() and not file.exists():
        ranked = read_manifest(path).get("policy", {})
        raise DataError(
            f"{path}: not evaluated on {split} facts; the run has ranks of "
            f"{', '.join(ranked) or 'nothing'} (see --split, and `hyperfact evaluate --ranks`)"
        )
    names = [*Ranks.__dataclass_fields__]
    columns, about = read_table(file, names)
    return Ranks(*(columns[name] for name in names)), about


def _refuse_unlike(*sides: tuple[Path, Mapping[str, Any]]) -> None:
    """Only rankings of the same facts under the same policy can be compared."""
    (_, one), (_, two) = sides
    if one["facts"] != two["facts"]:
        both = " and ".join(f"{_dataset(path, about)} ({path})" for path, about in sides)
        raise DataError(f"the rankings are of different facts: {both}; train both on one dataset")
    if one["policy"] != two["policy"]:
        raise DataError(
            f"the rankings differ in their policy: {one['policy']} and {two['policy']}; "
            "`hyperfact evaluate RUN --ranks FILE` ranks again under another policy"
        )


def _dataset(path: Path, about: Mapping[str, Any]) -> str:
    """The dataset of a rank table, with the name of the split."""
    from hyperfact.runs.artifacts import MANIFEST, read_manifest

    name = about.get("dataset")
    if name is None and (path / MANIFEST).is_file():
        name = read_manifest(path)["data"].get("name")
    return f"{name or 'a dataset without a name'} {about.get('split', '')}".strip()


def _facts_of(path: Path, split: str, data_dir: Path | None) -> "tuple[HKG, HKG, Labels]":
    """The asked facts and the training facts of a run, and how names are shown."""
    from hyperfact.runs.build import training_facts
    from hyperfact.runs.run import open_run

    if not path.is_dir():
        raise DataError(f"{path}: slices need the facts; compare run directories")
    stored = open_run(path, data_dir=data_dir)
    train = training_facts(stored.config, stored.splits)
    return stored.splits[split], train, stored.splits.labels
