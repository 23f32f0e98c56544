"""Commands that measure how runs answer queries: sample-queries; and `evaluate --queries`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from hyperfact.cli.ask import Opening
from hyperfact.cli.common import AsJson, Dataset, Force, app, refuse_existing
from hyperfact.cli.data import Reading
from hyperfact.cli.options import grouped
from hyperfact.cli.printing import note, print_json, print_table, print_text
from hyperfact.system.clock import seconds
from hyperfact.system.writing import write_lines


@app.command("sample-queries")
@grouped
def sample_queries(
    dataset: Dataset,
    out: Annotated[Path, typer.Argument(help="A new file of JSON lines.", show_default=False)],
    reading: Reading,
    *,
    split: Annotated[str, typer.Option(help="The facts that are missing: valid or test.")] = "test",
    shapes: Annotated[
        str | None, typer.Option(help="With commas, such as 1p,2p,2i; by default all.")
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Queries of each shape.")] = 100,
    most: Annotated[int, typer.Option(min=1, help="Answers of a query at most.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Of the drawing.")] = 0,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Draw queries of every shape, with easy and hard answers, to measure runs with.

    Example: `hyperfact sample-queries FB-AUTO queries.jsonl --count 200`
    """
    from hyperfact.predict.logic.query_files import header_of
    from hyperfact.predict.logic.sampling import Sampler, Wanted

    refuse_existing(out, force=force)
    wanted = Wanted.named(shapes, split=split, count=count, most=most, seed=seed)
    splits = reading.splits(dataset)
    counts: dict[str, list[int]] = {shape: [0, 0, 0] for shape in wanted.shapes}

    def lines() -> Iterator[str]:
        yield json.dumps(header_of(splits, wanted))
        for one in Sampler(splits, wanted).draw():
            row = counts[one.shape]
            row[0 if one.twin is None else 1] += 1
            row[2] += len(one.hard) if one.twin is None else 0
            yield json.dumps(one.as_dict(), ensure_ascii=False)

    write_lines(out, lines())
    if as_json:
        keys = ("queries", "without_qualifiers", "hard_answers")
        print_json({shape: dict(zip(keys, row, strict=True)) for shape, row in counts.items()})
    else:
        rows = [(shape, *row) for shape, row in counts.items()]
        print_table(("shape", "queries", "also without qualifiers", "hard answers"), rows)
    note(f"written to {out}")


def judge_queries(path: Path, file: Path, opening: Opening, *, as_json: bool) -> None:
    """Print how well a run answers the queries of a file."""
    from hyperfact.predict.logic.asker import Asker
    from hyperfact.predict.logic.query_files import read_queries
    from hyperfact.predict.logic.query_ranks import rank_queries, report
    from hyperfact.predict.logic.sampling import observed_splits
    from hyperfact.runs.looks import note_looks

    predictor = opening.load(path)
    head, queries = read_queries(file, predictor.splits)
    known = list(observed_splits(predictor.splits, str(head["split"])))
    asker, start = Asker(predictor, splits=known), seconds()
    found = report(rank_queries(asker, queries))
    took = seconds() - start
    if head["split"] == "test":
        note_looks(path, predictor.config, "evaluate --queries", queries=len(queries))
    if as_json:
        about = {"run": str(path), "queries": str(file), "known": known, "seconds": took}
        print_json({**about, **found.as_dict()})
        return
    parts = {
        "Every query": found.shapes,
        "By facts that are missing": found.missing,
        "The same answers with the qualifiers of the query, and without": found.qualifiers,
    }
    for title, scores in parts.items():
        rows = [(s.name, s.mrr, *s.hits, s.queries, s.answers) for s in scores]
        print_text(f"{title}\n")
        print_table(("shape", "MRR", "Hits@1", "Hits@3", "Hits@10", "queries", "answers"), rows)
        print_text("")
    note(
        f"{len(queries):,} queries in {took:.1f} s ({len(queries) / max(took, 1e-9):.0f} a second);"
        f" known: {', '.join(known)}; filtered ranks, means over answers, then over queries"
    )
