"""Commands on runs: resume, ensemble, runs, report, plan."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyperfact.cli.common import (
    AsJson,
    DataDir,
    Force,
    RunPath,
    RunPaths,
    Threads,
    app,
    refuse_existing,
    set_threads,
    write_page,
)
from hyperfact.cli.learn import Choice, Crew, EventFiles, show
from hyperfact.cli.options import NamingCommand, grouped, with_code
from hyperfact.cli.printing import note, print_json, print_table, print_text
from hyperfact.errors import UserError

if TYPE_CHECKING:  # torch takes a second to import, which the other commands should not pay
    from hyperfact.runs.plan_team import TeamForecast

_LONGEST = 100  # characters of a reason in the list


@app.command()
@with_code
@grouped
def resume(
    path: RunPath,
    crew: Crew,
    *,
    any_version: Annotated[
        bool,
        typer.Option(
            "--any-version", help="Go on with other versions or threads; bits may differ then."
        ),
    ] = False,
    tensorboard: EventFiles = None,
    data_dir: DataDir = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Go on with a run that was interrupted, from its last checkpoint.

    On one thread the result has the same bits as if nothing had happened.

    Example: `hyperfact resume runs/fb-auto`
    """
    from hyperfact.cli.progress import progress
    from hyperfact.cli.signals import interruptible
    from hyperfact.runs.catalog import look
    from hyperfact.runs.experiment import resume as go_on
    from hyperfact.runs.experiment import threads_of
    from hyperfact.runs.launch import as_member

    found = look(path)
    if found.state == "finished":
        note(
            f"{path}: the run is finished, there is nothing to resume; `hyperfact evaluate {path}` "
            f"ranks with it, `hyperfact train {path / 'config.toml'} --out NEW` trains again"
        )
        if as_json:
            print_json(found.metrics)
        return
    if crew.launch():
        return
    set_threads(threads or threads_of(path))
    with (
        as_member(crew.replicas, device=found.config.training.device),
        interruptible(path) as signals,
        progress(found.config.training.epochs, tensorboard=tensorboard) as watch,
    ):
        result = go_on(
            path, data_dir=data_dir, watch=watch, hold=signals.hold, any_version=any_version
        )
    show(result, path, "resume", as_json=as_json)


@app.command()
@with_code
def ensemble(
    runs: RunPaths,
    *,
    out: Annotated[Path, typer.Option(help="A new directory for the ensemble.")],
    data_dir: DataDir = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Make one run of several: their probabilities, weighed on validation facts.

    The result is a run for evaluate, predict, explain and serve. It names its members by place and
    hash and copies nothing, so they must stay where they are.

    Example: `hyperfact ensemble runs/ram runs/gran --out runs/both`
    """
    from hyperfact.cli.results import print_results
    from hyperfact.predict.combining import combine
    from hyperfact.runs.looks import note_results

    set_threads(threads)
    result, members = combine(runs, out, data_dir=data_dir)
    if as_json:
        print_json(result.as_dict() | {"members": [member.as_dict() for member in members]})
    else:
        heads = ("member", "weight", "temperature", "valid MRR", "test MRR")
        print_table(heads, [tuple(member.as_dict().values()) for member in members])
        print_results(result.results)
    note_results(out, result.config, "ensemble", result.results)
    note(f"stored in {out}")


@app.command("runs")
def runs_(
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder with run directories.")
    ] = Path(),
    *,
    as_json: AsJson = False,
) -> None:
    """List runs with their state and metrics.

    A run is finished, running, interrupted (resume it), failed, or damaged.

    Example: `hyperfact runs runs`
    """
    from hyperfact.runs.catalog import look_at_all

    found = look_at_all(folder)
    if as_json:
        print_json([run.as_dict() for run in found])
        return
    if not found:
        note(f"{folder}: no runs")
        return
    rows = [_row(run.as_dict()) for run in found]
    print_table(("run", "dataset", "model", "epochs", "valid MRR", "test MRR", "state"), rows)


def _row(run: Mapping[str, Any]) -> tuple[str, ...]:
    state = run["state"] + (f" ({run['message'][:_LONGEST]})" if run["message"] else "")
    if run["state"] == "damaged":
        return (run["run"], *["-"] * 5, state)
    mrrs = ("-" if run[m] is None else f"{run[m]:.4f}" for m in ("valid_mrr", "test_mrr"))
    model = f"{run['encoder']} + {run['decoder']}"
    return (run["run"], run["dataset"], model, f"{run['epochs']}/{run['of']}", *mrrs, state)


@app.command()
def report(
    path: RunPath,
    out: Annotated[
        Path | None, typer.Argument(metavar="[OUT]", help="The page; RUN/report.html if absent.")
    ] = None,
    *,
    force: Force = False,
) -> None:
    """Write a page about a run: curves, metrics by slice, configuration, provenance.

    Example: `hyperfact report runs/fb-auto`
    """
    from hyperfact.draw.pages.report import page
    from hyperfact.runs.catalog import look

    target = out if out is not None else path / "report.html"
    refuse_existing(target, force=force)
    write_page(target, page(look(path)))
    print_text(str(target))


@app.command("plan", cls=NamingCommand)
@with_code
@grouped
def plan_(
    choice: Choice,
    *,
    max_memory: Annotated[
        float | None,
        typer.Option("--max-memory", min=0, help="Gigabytes allowed; more is refused (exit 2)."),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0, help="Time for the probe, roughly.")] = 10.0,
    processes: Annotated[
        int, typer.Option(min=1, help="Also forecast so many processes together.")
    ] = 1,
    nodes: Annotated[int, typer.Option(min=1, help="On so many machines like this one.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Forecast memory, time and disk of a configuration from a probe of some seconds.

    Examples: `hyperfact plan fb_auto_compgcn_mdistmult --max-memory 4`,
    `hyperfact plan --dataset baseball --processes 8 --nodes 4`
    """
    limit = None if max_memory is None else int(max_memory * 1e9)
    config, splits = choice.read(limit)

    from hyperfact.runs.plan import forecast
    from hyperfact.runs.plan_team import team_forecast
    from hyperfact.runs.sizes import GraphSize

    if processes < nodes:
        raise UserError(f"--nodes {nodes} need at least as many --processes, got {processes}")
    found = forecast(config, splits, seconds=seconds, max_memory=limit)
    size = GraphSize.of_facts(splits.train)
    together = None
    if processes > 1:
        together = team_forecast(config, size, found, processes=processes, nodes=nodes)
    if as_json:
        team = {} if together is None else {"team": together.as_dict()}
        print_json({**found.as_dict(), **team})
        return
    rows = (
        ("parameters", f"{found.parameters:,}"),
        ("peak memory", f"{found.memory / 1e9:.2f} GB"),
        ("one checkpoint", f"{found.checkpoint / 1e6:,.1f} MB (two are kept)"),
        ("one epoch", f"{_duration(found.epoch_seconds)} ({found.steps:,} steps)"),
        ("one validation", _duration(found.validation_seconds)),
        ("ranking valid and test", _duration(found.ranking_seconds)),
        (f"all {config.training.epochs} epochs and tests", _duration(found.total_seconds)),
    )
    print_table(("what", "forecast"), rows)
    if together is not None:
        _print_team(together)
    note(f"from a probe of {found.probe_seconds:.0f} s; other work on the machine makes it longer")


def _print_team(found: "TeamForecast") -> None:
    rows = [
        (
            f"{row.entities:,}",
            f"{row.memory / 1e9:,.2f} GB",
            f"{row.memory_each / 1e9:,.2f} GB",
            _duration(row.step),
            _duration(row.step_each),
            f"{100 * row.communication / row.step_each:.0f} %",
        )
        for row in (found.here, *found.sizes)
    ]
    head = ("entities", "memory of one", "of each", "step of one", "of all", "communication")
    print_text("")
    print_table(head, rows, f"{found.processes} processes on {found.nodes} machines, forecast")
    when = "never for time, only for memory"
    if found.pays_from is not None:
        when = f"from {found.pays_from:,.0f} entities on"
    note(f"dividing pays {when}, at {found.bandwidth / 1e9:g} GB/s between processes (assumed)")


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.1f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
