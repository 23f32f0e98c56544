"""The command for questions with several blanks: ask."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hyperfact.cli.answers import print_answers
from hyperfact.cli.ask import Count, Opening, Range
from hyperfact.cli.common import AsJson, DataDir, FormatName, Literals, Threads, app
from hyperfact.cli.data import Columns, Reading, labelled
from hyperfact.cli.options import LabelFile, grouped, with_code
from hyperfact.cli.printing import note, print_json, print_table, print_text
from hyperfact.cli.visible import in_line
from hyperfact.graph.hkg import Splits
from hyperfact.graph.syntax import quote

if TYPE_CHECKING:  # torch takes a second to import, which the other commands should not pay
    from hyperfact.graph.language.formula import Query
    from hyperfact.predict import Predictor
    from hyperfact.predict.logic.database import KnownReply
    from hyperfact.predict.logic.effort import Effort
    from hyperfact.predict.logic.replying import Evidence, QueryAnswers

_MANIFEST = "manifest.json"  # what a run directory has and a dataset has not


@dataclass(frozen=True)
class Work:
    """How hard a query is worked on."""

    logic: Annotated[str, typer.Option(help="Fuzzy logic: product or godel.")] = "product"
    beam: Annotated[
        int, typer.Option(min=1, help="Candidates of a variable tried with predicted facts.")
    ] = 64
    exact: Annotated[bool, typer.Option("--exact", help="Try everybody; for small graphs.")] = False
    seconds: Annotated[
        float | None, typer.Option(min=0.0, help="Stop then, and say what was left out.")
    ] = None

    def effort(self) -> "Effort":
        """As the solver wants it."""
        from hyperfact.predict.logic.effort import Effort

        return Effort(None if self.exact else self.beam, self.logic, self.seconds)


@dataclass(frozen=True)
class Source:
    """A run or a dataset, and how it is opened."""

    labels: LabelFile = None
    data_dir: DataDir = None
    threads: Threads = None
    format: FormatName = None
    columns: Columns = None
    literals: Literals = "keep"

    def load(self, path: Path) -> "Predictor":
        """The predictor of a run."""
        return Opening(self.labels, self.data_dir, self.threads).load(path)

    def splits(self, dataset: str) -> Splits:
        """The facts of a dataset."""
        reading = Reading(self.data_dir, self.format, self.columns, self.literals)
        return labelled(reading.splits(dataset), self.labels)


@app.command()
@with_code
@grouped
def ask(
    source: Annotated[
        str, typer.Argument(metavar="RUN|DATASET", help="A run directory, or a dataset.")
    ],
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERY",
            help="`?x : ?p | r | ?x | a = v and not ?p | s | o`; or as JSON, or SPARQL.",
            show_default=False,
        ),
    ],
    opening: Source,
    work: Work,
    *,
    k: Count = 10,
    explain: Annotated[
        bool, typer.Option("--explain", help="Also the truth of every fact behind an answer.")
    ] = False,
    restrict_range: Range = True,
    as_json: AsJson = False,
) -> None:
    """Answer a question with several blanks, by known and by predicted facts.

    A dataset instead of a run answers from its facts alone, exactly.

    Examples: `hyperfact ask runs/b "?a : ?p | born in | Cuba and ?p | won award | ?a" -k 5`,
    `hyperfact ask baseball "?p : ?p | born in | Cuba and not ?p | bats | left"`
    """
    from hyperfact.graph.language.any_query import any_query

    read = any_query(query)
    if not (Path(source) / _MANIFEST).is_file():
        found = _known(read, opening.splits(source), work, opening.threads)
        print_json(found.as_dict(k)) if as_json else _print_known(found, k)
        return
    from hyperfact.predict.logic.asker import Asker

    predictor = opening.load(Path(source))
    if read.asks_relation:
        ranked = predictor.ask(str(read.where), k, restrict_range=restrict_range)
        print_json(ranked.as_dict()) if as_json else print_answers(ranked)
        return
    answers = Asker(predictor, restrict_range=restrict_range).ask(read, k, work.effort())
    print_json(answers.as_dict()) if as_json else _print(answers, explain=explain)


def _known(query: "Query", splits: Splits, work: Work, threads: int | None) -> "KnownReply":
    """Answers that the facts of a dataset give."""
    from hyperfact.predict.logic.database import FactDatabase, Limits

    limits = Limits(threads=threads)
    if work.seconds is not None:
        limits = replace(limits, seconds=work.seconds)
    with FactDatabase.opened(splits, limits) as db:
        return db.ask(query)


def _print_known(found: "KnownReply", k: int) -> None:
    full = found.labels.full
    others = list(dict.fromkeys(v for a in found.answers for v, _ in a.bindings))
    rows = [
        (quote(full(a.name)), a.ways, *(quote(full(dict(a.bindings)[v])) for v in others))
        for a in found.answers[:k]
    ]
    print_table((str(found.query.asked), "ways", *(f"?{v}" for v in others)), rows)
    note(
        f"{len(found.answers):,} answers in {found.ways:,} ways, known from {found.facts:,} facts "
        f"in {found.seconds:.2f} s; a run predicts others too"
    )


def _print(found: "QueryAnswers", *, explain: bool) -> None:
    """Answers with who stands for the other variables; the facts behind them if wanted."""
    full = found.labels.full
    others = [v for v in found.query.where.variables if v != found.query.asked]
    rows = []
    for a in found:
        chosen, state = dict(a.bindings), "known" if a.known else "predicted"
        bound = [quote(full(chosen[v.name])) if v.name in chosen else "" for v in others]
        rows.append((a.rank, quote(full(a.name)), f"{a.truth:.3f}", state, *bound))
    print_table(("rank", str(found.query.asked), "truth", "", *map(str, others)), rows)
    for a in found if explain else ():
        print_text(f"\n{a.rank}. {in_line(full(a.name))}")
        print_table(("", "truth", "known in", "fact"), [_line(e) for e in a.evidence])
    kind = "calibrated" if found.calibrated else "not calibrated"
    note(f"{found.candidates:,} entities with a truth above 0; {found.logic} logic, {kind}")
    for line in found.cuts:
        note(line)


def _line(evidence: "Evidence") -> tuple[str, str, str, str]:
    truth = "" if evidence.truth is None else f"{evidence.truth:.3f}"
    return "not" if evidence.denied else "", truth, ", ".join(evidence.where), evidence.label
