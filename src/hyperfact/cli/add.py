"""Facts beside those of a run: the option `--with`, and the command add."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hyperfact.cli.common import AsJson, DataDir, RunPath, app
from hyperfact.cli.options import LabelFile, with_code
from hyperfact.cli.printing import note, print_json
from hyperfact.errors import UserError

if TYPE_CHECKING:  # torch takes a second to import, which the other commands should not pay
    from hyperfact.graph.facts import Fact
    from hyperfact.predict import Predictor
    from hyperfact.predict.additions import Addition

With = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="FACTS",
        help="Facts that count as true too: a file, or one as `s | r | o | a = v`; repeatable.",
        show_default=False,
    ),
]


def facts_of(sources: Sequence[str]) -> "list[Fact]":
    """The facts of files, and those that are written out.

    Raises:
        UserError: A file that is not there or no file of facts, or text that is no fact.
    """
    from hyperfact.data import load
    from hyperfact.graph.queries import read_fact

    found: list[Fact] = []
    for source in sources:
        if Path(source).is_file():
            found += load(Path(source)).all
        elif "|" in source:
            found.append(read_fact(source))
        else:
            raise UserError(f"{source}: no such file, and no fact as `s | r | o | a = v`")
    return found


def add_to(predictor: "Predictor", sources: Sequence[str]) -> "Addition":
    """Let these facts count as true, and say beside the output what came of it."""
    addition = predictor.add(facts_of(sources))
    note(f"facts added to those of the run: {len(addition.facts):,}")
    for line in addition.notes:
        note(line)
    return addition


@app.command()
@with_code
def add(
    path: RunPath,
    facts: Annotated[
        list[str],
        typer.Argument(
            metavar="FACTS…",
            help="Files of facts, or facts as `s | r | o | a = v`.",
            show_default=False,
        ),
    ],
    *,
    out: Annotated[Path, typer.Option(help="The directory of the new run.", show_default=False)],
    labels: LabelFile = None,
    data_dir: DataDir = None,
    as_json: AsJson = False,
) -> None:
    """Make a run that knows further facts, without training: the same weights hear them.

    Example: `hyperfact add runs/b new.jsonl --out runs/b2`
    """
    from hyperfact.predict import Predictor
    from hyperfact.predict.export import store_with_added

    predictor = Predictor.load(path, data_dir=data_dir, labels=labels)
    addition = add_to(predictor, facts)
    store_with_added(predictor, out)
    if as_json:
        print_json({**addition.as_dict(), "out": str(out)})
    note(f"written to {out}; facts beyond those of training: {len(predictor.added):,}")
