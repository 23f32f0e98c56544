"""The command that answers over HTTP: serve."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from hyperfact.cli.common import DataDir, app, check_run, words
from hyperfact.cli.options import LabelFile, with_code
from hyperfact.cli.printing import note
from hyperfact.errors import MissingExtraError, UserError


@app.command()
@with_code
def serve(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN…", help="Run directories: PATH, or NAME=PATH."),
    ],
    *,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any free port.")] = 8000,
    expose: Annotated[
        bool, typer.Option("--expose", help="Allow a HOST that other machines reach.")
    ] = False,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="A further name under which clients may ask.")
    ] = None,
    at_once: Annotated[
        int, typer.Option(min=1, max=10_000, help="Requests in work; others get 503.")
    ] = 64,
    facts: Annotated[
        int,
        typer.Option(min=0, max=1000, help="Facts that clients may add to a run; 0: none."),
    ] = 0,
    quiet: Annotated[bool, typer.Option("--quiet", help="No line for each request.")] = False,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Threads that compute; by default half the cores.")
    ] = None,
    workers: Annotated[
        int,
        typer.Option(
            min=1, max=256, help="Processes that answer; on SIGHUP new ones take their place."
        ),
    ] = 1,
    approximate: Annotated[
        bool,
        typer.Option("--approximate", help="Answer from an index (usearch) of a linear decoder."),
    ] = False,
    labels: LabelFile = None,
    data_dir: DataDir = None,
) -> None:
    """Answer questions over HTTP, for this machine only unless told otherwise.

    A page is at `/`, the JSON API under `/api`, its OpenAPI document at `/api/openapi.json`.

    Examples: `hyperfact serve runs/b`, `hyperfact serve best=runs/b other=runs/c --port 9000`
    """
    for package in ("anyio", "h11", "starlette"):
        if find_spec(package) is None:
            raise MissingExtraError(package, "serve", "the service")
    if workers > 1 and facts:
        raise UserError("--facts are kept by one process: serve without --workers")
    for run in runs:
        if not Path(run).exists():  # a name may stand before the path, and the path have an =
            check_run(Path(run.partition("=")[2] or run))
    import torch

    from hyperfact.serve.start import Settings
    from hyperfact.serve.start import serve as start

    torch.set_num_threads(threads or max(1, (os.cpu_count() or 1) // max(2, workers)))
    settings = Settings(
        host=host,
        port=port,
        expose=expose,
        allow_hosts=tuple(allow_host or ()),
        at_once=at_once,
        quiet=quiet,
        data_dir=data_dir,
        labels=labels,
        workers=workers,
        command=tuple(words()),
        most_facts=facts,
        approximate=approximate,
    )
    start(runs, settings, note)
