"""The command for one's own models: check."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hyperfact.cli.common import AsJson, app
from hyperfact.cli.printing import note, print_json, print_table, print_text


@app.command()
def check(
    file: Annotated[Path, typer.Argument(help="A Python file with a decoder or an encoder.")],
    *,
    as_json: AsJson = False,
) -> None:
    """Run the contract suite on a decoder or an encoder of your own; exit code 1 if it fails.

    Example: `hyperfact check my_decoder.py`
    """
    from hyperfact.runs.extensions import use

    extensions = use(file)

    from hyperfact.runs.check import check_extension

    verdicts = []
    for extension in extensions:
        note(f"{extension.kind} {extension.name}")
        verdicts += list(check_extension(extension))
    broken = [v for v in verdicts if not v.kept]
    if as_json:
        print_json([asdict(v) for v in verdicts])
    elif broken:
        rows = [(v.encoder, v.decoder, v.promise, v.reason) for v in broken]
        print_table(("encoder", "decoder", "broken promise", "what happened"), rows)
    if not as_json:
        print_text(f"{len(verdicts) - len(broken)} of {len(verdicts)} promises are kept")
    if broken:
        raise typer.Exit(1)
