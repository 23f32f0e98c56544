"""Commands that ask a run: predict, complete, explain, export."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyperfact.cli.add import With, add_to
from hyperfact.cli.answers import (
    print_answers,
    print_estimate,
    print_explanation,
)
from hyperfact.cli.common import (
    AsJson,
    DataDir,
    Force,
    RunPath,
    Threads,
    app,
    refuse_existing,
    set_threads,
)
from hyperfact.cli.options import LabelFile, grouped, with_code
from hyperfact.cli.printing import note, print_json, print_table
from hyperfact.errors import UserError

if TYPE_CHECKING:  # torch takes a second to import, which the other commands should not pay
    from hyperfact.predict import Predictor

QuestionText = Annotated[
    str,
    typer.Argument(
        metavar="QUESTION", help="`s | r | ? | a = v`, with one ? anywhere.", show_default=False
    ),
]
Count = Annotated[int, typer.Option("-k", min=1, help="How many answers.")]
KnownWay = Annotated[
    str,
    typer.Option("--known", help="Known answers: mark, remove, hide (from the list), or only."),
]
Range = Annotated[
    bool,
    typer.Option(
        "--range/--any-name",
        help="Only candidates that training facts show in the asked role, or everybody.",
    ),
]


Approximate = Annotated[
    bool,
    typer.Option("--approximate", help="Ask an index (usearch) of a linear decoder; tells recall."),
]


@dataclass(frozen=True)
class Opening:
    """How a run is opened, and its names are shown."""

    labels: LabelFile = None
    data_dir: DataDir = None
    threads: Threads = None
    also: With = None

    def load(self, path: Path) -> "Predictor":
        """The predictor of a run, with facts that count as true too."""
        from hyperfact.predict import Predictor

        set_threads(self.threads)
        predictor = Predictor.load(path, data_dir=self.data_dir, labels=self.labels)
        if self.also:
            add_to(predictor, self.also)
        return predictor


@app.command()
@with_code
@grouped
def predict(
    path: RunPath,
    question: Annotated[
        str | None,
        typer.Argument(
            metavar="[QUESTION]",
            help="`s | r | ? | a = v`, with one ? anywhere.",
            show_default=False,
        ),
    ] = None,
    *,
    opening: Opening,
    k: Count = 10,
    known: KnownWay = "mark",
    restrict_range: Range = True,
    batch: Annotated[
        Path | None, typer.Option(help="A CSV, JSONL or Parquet file with a column 'question'.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where the answers of --batch go.")] = None,
    approximate: Approximate = False,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Fill the blank: an entity in any slot, the relation, or an attribute.

    Examples: `hyperfact predict runs/b "Hank Aaron | played for | ? | position = OF"`,
    `hyperfact predict runs/b "Hank Aaron | played for | Atlanta Braves | ? = OF" --json`,
    `hyperfact predict runs/b "Jo Doe | played for | ?" --with "Jo Doe | position | OF"`,
    `hyperfact predict runs/b --batch questions.csv --out answers.parquet`
    """
    if (question is None) == (batch is None) or (batch is None) != (out is None):
        raise UserError("give a QUESTION, or --batch FILE with --out FILE")
    refuse_existing(out, force=force)

    from hyperfact.predict.answers import Request

    request = Request(k, known, restrict_range)  # type: ignore[arg-type]  # checked there
    predictor = opening.load(path)
    if approximate:
        note(f"approximate: recall@10 is {predictor.approximate():.3f}")
    if batch is not None and out is not None:
        _answer_file(predictor, batch, out, request, as_json=as_json)
        return
    if predictor.reads_numbers and (found := predictor.estimate(question or "")) is not None:
        print_estimate(question or "", found, as_json=as_json)
        return
    answers = predictor.answer([question or ""], request)[0]
    if as_json:
        print_json(answers.as_dict())
        return
    if answers.estimate is not None:
        print_estimate(question or "", answers.estimate, as_json=False)
    print_answers(answers)


def _answer_file(
    predictor: "Predictor", source: Path, target: Path, request: Any, *, as_json: bool
) -> None:
    from hyperfact.predict.export import answer_file

    report = answer_file(predictor, source, target, request=request)
    if as_json:
        print_json({"questions": report.questions, "failed": report.failed, "out": str(target)})
    failed = f", {report.failed:,} of them with an error" if report.failed else ""
    note(f"answered {report.questions:,} questions{failed}; written to {target}")


@app.command()
@with_code
@grouped
def complete(
    path: RunPath,
    opening: Opening,
    *,
    entity: Annotated[str | None, typer.Option(help="Only facts of this entity.")] = None,
    relation: Annotated[str | None, typer.Option(help="Only facts of this relation.")] = None,
    budget: Annotated[int, typer.Option(min=1, help="Candidates to score at most.")] = 10_000_000,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="How many facts.")] = 20,
    any_name: Annotated[
        bool,
        typer.Option("--any-name", "--any", help="Also candidates never seen in the asked role."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Propose the most plausible facts that no split holds.

    Example: `hyperfact complete runs/b --entity "Hank Aaron" -n 5`
    """
    predictor = opening.load(path)
    from hyperfact.predict import complete as propose

    found = propose(
        predictor,
        entity=entity,
        relation=relation,
        budget=budget,
        limit=limit,
        restrict_range=not any_name,
    )
    if as_json:
        print_json(found.as_dict())
        return
    rows = [(f"{p.probability:.3f}", p.label) for p in found.proposals]
    print_table(("probability", "fact"), rows)
    note(
        f"{found.questions:,} of {found.possible:,} possible questions asked, "
        f"{found.scored:,} candidates scored"
    )


@app.command("explain")
@with_code
@grouped
def explain_(
    path: RunPath,
    question: QuestionText,
    answer: Annotated[str, typer.Argument(help="The answer to explain.", show_default=False)],
    opening: Opening,
    *,
    count: Annotated[int, typer.Option("-n", min=1, help="Supporting facts and paths.")] = 5,
    measure: Annotated[
        bool,
        typer.Option(
            "--measure", help="Hide each supporting fact in turn; takes an encoding each."
        ),
    ] = False,
    known: KnownWay = "mark",
    restrict_range: Range = True,
    as_json: AsJson = False,
) -> None:
    """Say what speaks for an answer: known parts, near training facts, paths.

    Example: `hyperfact explain runs/b "Hank Aaron | played for | ?" "Atlanta Braves"`
    """
    from hyperfact.predict.answers import Request
    from hyperfact.predict.explain import explain

    request = Request(known=known, restrict_range=restrict_range)  # type: ignore[arg-type]  # checked there
    predictor = opening.load(path)
    found = explain(predictor, question, answer, count=count, measure=measure, request=request)
    if as_json:
        print_json(found.as_dict())
    else:
        print_explanation(found)


@app.command()
@with_code
def export(
    path: RunPath,
    out: Annotated[Path, typer.Argument(help="A new folder.", show_default=False)],
    *,
    index: Annotated[bool, typer.Option("--index", help="Also an index (usearch).")] = False,
    scorer: Annotated[
        bool, typer.Option("--scorer", help="Also the scorer as a torch program, if exact.")
    ] = False,
    force: Force = False,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Write a folder to take away: run, model card, embeddings with names.

    Example: `hyperfact export runs/b exported --scorer`
    """
    refuse_existing(out, force=force)

    from hyperfact.predict.export import export_run

    predictor = Opening(data_dir=data_dir).load(path)
    files = export_run(predictor, out, index=index, scorer=scorer, force=force)
    if as_json:
        print_json({"files": [str(file) for file in files]})
    else:
        note(f"wrote {len(files)} files to {out}")
