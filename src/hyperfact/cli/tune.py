"""The command `tune`: search for settings on validation facts."""

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyperfact.cli.common import AsJson, DataDir, app, note, print_json, print_table
from hyperfact.cli.learn import (
    ConfigFile,
    DatasetName,
    DecoderName,
    EncoderName,
    Overrides,
    Threads,
    chosen_config,
    chosen_data,
    set_threads,
)
from hyperfact.errors import UnknownNameError

if TYPE_CHECKING:
    from hyperfact.training.events import Watch


@app.command()
def tune(
    config: ConfigFile = None,
    *,
    out: Annotated[Path, typer.Option(help="A folder; a search of before goes on there.")],
    trials: Annotated[int, typer.Option(min=1, help="How many there shall be in all.")] = 30,
    space: Annotated[str, typer.Option(help="paper (its grid) or wide (ours).")] = "wide",
    dataset: DatasetName = None,
    encoder: EncoderName = None,
    decoder: DecoderName = None,
    overrides: Overrides = None,
    data_dir: DataDir = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Search for good settings by validation MRR; bad trials end early, test is never ranked.

    Example: `hyperfact tune fb_auto_compgcn_mdistmult --trials 40 --out tuned`,
    then `hyperfact train tuned/best.toml --out runs/tuned`
    """
    from hyperfact.cli.progress import progress
    from hyperfact.cli.signals import interruptible
    from hyperfact.runs.tune import SPACES
    from hyperfact.runs.tune import tune as search

    if space not in SPACES:
        raise UnknownNameError("space", space, SPACES)
    named = {"data.dataset": dataset, "encoder.name": encoder, "decoder.name": decoder}
    chosen = chosen_config(config, named, overrides, data_dir)
    set_threads(threads)
    splits = chosen_data(chosen)
    with interruptible(None, "the same command") as signals, ExitStack() as stack:

        def watch(number: int, changes: Mapping[str, Any]) -> "Watch":
            stack.pop_all().close()
            note(f"trial {number}: " + ", ".join(f"{k} = {v}" for k, v in changes.items()))
            found: Watch = stack.enter_context(progress(chosen.training.epochs))
            return found

        best = search(
            chosen,
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
