"""Commands for questions with several blanks: ask, sample-queries."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hyperfact.cli.ask import Count, Opening, Range
from hyperfact.cli.common import AsJson, app, note, print_json, print_table, print_text
from hyperfact.cli.options import grouped, with_code
from hyperfact.cli.visible import in_line
from hyperfact.graph.syntax import quote
from hyperfact.system.clock import seconds

if TYPE_CHECKING:  # torch takes a second to import, which the other commands should not pay
    from hyperfact.predict.logic.effort import Effort
    from hyperfact.predict.logic.replying import QueryAnswers


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

        beam = None if self.exact else self.beam
        if self.seconds is None:
            return Effort(beam, self.logic)
        end = seconds() + self.seconds
        return Effort(beam, self.logic, lambda: seconds() > end)


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
    opening: Opening,
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

    Examples: `hyperfact ask runs/b "?a : ?p | born in | Cuba and ?p | won award | ?a" -k 5`,
    `hyperfact ask runs/b "?p : ?p | born in | Cuba and not ?p | played for | ?" --explain`
    """
    from hyperfact.predict.logic.asker import Asker

    predictor = opening.load(Path(source))
    asker = Asker(predictor, restrict_range=restrict_range)
    found = asker.ask(query, k, work.effort())
    if as_json:
        print_json(found.as_dict())
    else:
        print_query_answers(found, explain=explain)


def print_query_answers(found: "QueryAnswers", *, explain: bool) -> None:
    """Answers with who stands for the other variables; the facts behind them if wanted."""
    full, others = (
        found.labels.full,
        [v for v in found.query.where.variables if v != found.query.asked],
    )
    rows = []
    for a in found:
        chosen = dict(a.bindings)
        bound = [quote(full(chosen[v.name])) if v.name in chosen else "" for v in others]
        rows.append(
            (
                a.rank,
                quote(full(a.name)),
                f"{a.truth:.3f}",
                "known" if a.known else "predicted",
                *bound,
            )
        )
    print_table(("rank", f"{found.query.asked}", "truth", "", *map(str, others)), rows)
    for a in found if explain else ():
        print_text(f"\n{a.rank}. {in_line(full(a.name))}")
        lines = [
            (
                "not" if e.denied else "",
                "" if e.truth is None else f"{e.truth:.3f}",
                ", ".join(e.where),
                e.label,
            )
            for e in a.evidence
        ]
        print_table(("", "truth", "known in", "fact"), lines)
    kind = (
        "calibrated probabilities" if found.calibrated else "probabilities that are not calibrated"
    )
    note(f"{found.candidates:,} entities with a truth above 0; {found.logic} logic over {kind}")
    for line in found.cuts:
        note(line)
