"""The command `tune`: search for settings on validation facts."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyperfact.cli.common import AsJson, app
from hyperfact.cli.learn import Choice
from hyperfact.cli.options import NamingCommand, grouped, with_code
from hyperfact.cli.printing import note, print_json, print_table
from hyperfact.errors import UnknownNameError

if TYPE_CHECKING:
    from hyperfact.training.events import Watch


@app.command(cls=NamingCommand)
@with_code
@grouped
def tune(
    choice: Choice,
    *,
    out: Annotated[Path, typer.Option(help="A folder; a search of before goes on there.")],
    trials: Annotated[int, typer.Option(min=1, help="How many there shall be in all.")] = 30,
    space: Annotated[str, typer.Option(help="What may be tried.")] = "wide",
    as_json: AsJson = False,
) -> None:
    """Search for good settings by validation MRR; bad trials end early, test is never ranked.

    Example: `hyperfact tune fb_auto_compgcn_mdistmult --trials 40 --out tuned`,
    then `hyperfact train tuned/best.toml --out runs/tuned`
    """
    from hyperfact.cli.signals import interruptible
    from hyperfact.runs.tune import SPACES
    from hyperfact.runs.tune import tune as search

    if space not in SPACES:
        raise UnknownNameError("space", space, SPACES)
    config, splits = choice.read()
    epochs = config.training.epochs
    with interruptible(None, "the same command") as signals, _watching(epochs) as watch:
        best = search(
            config,
            splits,
            space=SPACES[space],
            trials=trials,
            out=out,
            watch=watch,
            hold=signals.hold,
        )
    if as_json:
        print_json(best.__dict__)
        return
    print_table(("setting", "best"), [(name, str(value)) for name, value in best.changes.items()])
    note(
        f"validation MRR {best.mrr:.4f} by trial {best.trial} of {best.trials} "
        f"({best.pruned} pruned); {out / 'best.toml'} holds it"
    )


@contextmanager
def _watching(epochs: int) -> "Iterator[Callable[[int, Mapping[str, Any]], Watch]]":
    """A progress display for one trial after the other."""
    from hyperfact.cli.progress import progress

    with ExitStack() as stack:

        def watch(number: int, changes: Mapping[str, Any]) -> "Watch":
            stack.pop_all().close()
            note(f"trial {number}: " + ", ".join(f"{k} = {v}" for k, v in changes.items()))
            found: Watch = stack.enter_context(progress(epochs))
            return found

        yield watch
