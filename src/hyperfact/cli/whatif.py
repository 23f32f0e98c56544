"""The command that asks twice: whatif."""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from hyperfact.cli.answers import print_moved, print_moves
from hyperfact.cli.ask import Count, KnownWay, Opening, QuestionText, Range
from hyperfact.cli.common import AsJson, RunPath, app
from hyperfact.cli.options import grouped, with_code
from hyperfact.cli.printing import print_json
from hyperfact.errors import UserError


class ChangeCommand(TyperCommand):
    """Takes `- attribute = value` for a change, not for an option: a minus, then a space."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put such words behind `--`, where nothing is an option."""
        removals = [word for word in args if word.startswith("- ")]
        others = [word for word in args if not word.startswith("- ")]
        mark = [] if "--" in others or not removals else ["--"]
        return super().parse_args(ctx, [*others, *mark, *removals])


@app.command(cls=ChangeCommand)
@with_code
@grouped
def whatif(
    path: RunPath,
    question: QuestionText,
    opening: Opening,
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CHANGE…",
            help="`+ attribute = value`, `- attribute = value`, or `attribute = new value`.",
            show_default=False,
        ),
    ] = None,
    *,
    move: Annotated[
        str | None,
        typer.Option(metavar="ATTRIBUTE", help="Let this number move and follow the answers."),
    ] = None,
    k: Count = 10,
    known: KnownWay = "mark",
    restrict_range: Range = True,
    as_json: AsJson = False,
) -> None:
    """Ask twice, as it is and with a qualifier changed; or at each value of a number.

    Examples: `hyperfact whatif runs/b "Hank Aaron | played for | ? | position = OF"
    "position = 1B" "+ start season = 1954"`,
    `hyperfact whatif runs/b "Hank Aaron | played for | ?" --move "start season"`
    """
    if bool(changes) == (move is not None):
        raise UserError("give a CHANGE, or --move ATTRIBUTE")
    predictor = opening.load(path)
    way: Any = known  # checked there
    if move is not None:
        from hyperfact.predict.moving import move as ask_along

        moved = ask_along(predictor, question, move, k=k, known=way, restrict_range=restrict_range)
        print_json(moved.as_dict()) if as_json else print_moved(moved)
        return

    from hyperfact.predict.whatif import whatif as ask_twice

    changes = changes or []
    found = ask_twice(predictor, question, changes, k=k, known=way, restrict_range=restrict_range)
    if as_json:
        print_json(found.as_dict())
        return
    print_moves(found)
