"""Commands that rank: evaluate, score-predictions."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hyperfact.cli.add import facts_of
from hyperfact.cli.ask import Opening
from hyperfact.cli.common import (
    AsJson,
    DataDir,
    Device,
    Force,
    RunPath,
    Threads,
    app,
    refuse_existing,
    set_threads,
)
from hyperfact.cli.data import Reading, labelled
from hyperfact.cli.options import LabelFile, NamingCommand, grouped, with_code
from hyperfact.cli.printing import note
from hyperfact.cli.query_bench import judge_queries
from hyperfact.cli.results import report
from hyperfact.errors import DataError, UnknownNameError, UserError

if TYPE_CHECKING:  # torch takes a second to import, which the other commands should not pay
    from hyperfact.evaluation import Evaluation, Policy
    from hyperfact.graph.hkg import Splits

Split = Annotated[str, typer.Option("--split", help="Which facts were asked about.")]
TiesOption = Annotated[
    str | None, typer.Option("--ties", help="realistic, optimistic or pessimistic.")
]
By = Annotated[list[str] | None, typer.Option("--by", help="Metrics of each part.")]


@dataclass(frozen=True)
class PolicyOptions:
    """How answers are ranked; what is not given is as the run, or the library, has it."""

    slots: Annotated[
        str | None, typer.Option(help="all, so (subject and object), or one kind of slot.")
    ] = None
    ties: TiesOption = None
    filter: Annotated[
        str | None, typer.Option(help="exact, ignore-qualifiers, train+valid, train-only or none.")
    ] = None
    candidates: Annotated[
        str | None,
        typer.Option(help="all, seen-so (as subject or object), or support (named there)."),
    ] = None
    given: Annotated[
        str | None, typer.Option(help="Qualifiers that questions give: all, half or none.")
    ] = None
    unseen: Annotated[
        str | None, typer.Option(help="Facts with an entity unseen in train: keep or skip.")
    ] = None

    def over(self, policy: "Policy") -> "Policy":
        """The policy with what is given here."""
        return replace(policy, **{k: v for k, v in asdict(self).items() if v is not None})


@dataclass(frozen=True)
class View:
    """What is told of a ranking, and how."""

    by: By = None
    hits: Annotated[str, typer.Option(help="Which k of Hits@k, with commas.")] = "1,3,10"
    labels: LabelFile = None
    as_json: AsJson = False

    def show(self, found: "Evaluation", about: Mapping[str, str], splits: "Splits") -> None:
        """Print a ranking, with what it is of."""
        found = replace(found, hits=_hits(self.hits))
        labels = labelled(splits, self.labels).labels
        report(found, about, by=self.by or [], labels=labels, as_json=self.as_json)


@app.command("evaluate", cls=NamingCommand)
@with_code
@grouped
def evaluate_(
    path: RunPath,
    policy: PolicyOptions,
    view: View,
    *,
    split: Split = "test",
    ranks: Annotated[
        Path | None, typer.Option(help="Write the rank table to this file: .parquet or .csv.")
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Rank the answers of sampled queries instead."),
    ] = None,
    support: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTS",
            help="Facts that the model is shown beside those of training: a file, or one as "
            "`s | r | o | a = v`; repeatable. Those of the dataset are shown anyway.",
            show_default=False,
        ),
    ] = None,
    force: Force = False,
    data_dir: DataDir = None,
    device: Device = None,
    threads: Threads = None,
) -> None:
    """Rank the answers of a split with a stored model, under a declared policy.

    Examples: `hyperfact evaluate runs/fb-auto --split valid --json`,
    `hyperfact evaluate runs/wd50k --slots so --candidates seen-so --by frequency`,
    `hyperfact evaluate runs/b --queries queries.jsonl`
    """
    if queries is not None:
        if ranks is not None or policy != PolicyOptions():
            raise UserError("--queries has one policy: filtered, all entities; and no rank table")
        opening = Opening(view.labels, data_dir, threads)
        judge_queries(path, queries, opening, as_json=view.as_json)
        return
    from hyperfact.runs.build import policy_of
    from hyperfact.runs.looks import note_results
    from hyperfact.runs.run import about_ranks, evaluate_split, open_run, show
    from hyperfact.system.tables import check_ending, write_table

    if ranks is not None:
        check_ending(ranks)
    refuse_existing(ranks, force=force)
    set_threads(threads)
    stored = open_run(path, data_dir=data_dir, device=device)
    if support:
        show(stored, facts_of(support))
    found = evaluate_split(stored, split, policy=policy.over(policy_of(stored.config, split)))
    note_results(path, stored.config, "evaluate", {split: found})
    if ranks is not None:
        write_table(ranks, found.ranks.columns(), about_ranks(stored, split, found))
    view.show(found, {"run": str(path), "split": split}, stored.splits)


@app.command("score-predictions", cls=NamingCommand)
@grouped
def score_predictions(
    path: Annotated[
        Path, typer.Argument(metavar="FILE", help="Ranks or scores: CSV, TSV, JSONL or Parquet.")
    ],
    policy: PolicyOptions,
    view: View,
    reading: Reading,
    *,
    dataset: Annotated[str, typer.Option(help="A bundled or benchmark name, or a path.")],
    split: Split = "test",
    missing: Annotated[
        str, typer.Option(help="Queries without a prediction: error, or worst rank.")
    ] = "error",
) -> None:
    """Judge ranks or scores that other software produced by our policy.

    The columns of the file are described in docs/reference/rank-table.md.

    Example: `hyperfact score-predictions scores.parquet --dataset JF17K --slots so`
    """
    from hyperfact.evaluation import Background, Policy, asked_facts, judge
    from hyperfact.evaluation.predictions import read_predictions

    if missing not in ("error", "worst"):
        raise UnknownNameError("choice of missing", missing, ("error", "worst"))
    splits = reading.splits(dataset)
    facts = asked_facts(splits, split)
    given = read_predictions(path, facts)
    found = judge(
        facts,
        given,
        Background.of(splits),
        policy=policy.over(Policy()),
        missing=missing,  # type: ignore[arg-type]
    )
    if given.caveat:
        note(f"note: {given.caveat}")
    about = {"predictions": str(path), "dataset": splits.name, "split": split, "from": given.kind}
    view.show(found, about, splits)


def _hits(text: str) -> Sequence[int]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdigit() and int(word) > 0 for word in words):
        raise DataError(f"--hits takes whole numbers with commas, got {text!r}")
    return tuple(int(word) for word in words)
