"""Commands on models: train, config show."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from hyperfact.cli.common import AsJson, DataDir, app, note, print_json, print_text
from hyperfact.config import ExperimentConfig
from hyperfact.errors import UserError

if TYPE_CHECKING:  # torch takes a second to import, which the other commands should not pay
    from hyperfact.experiment import Epoch, Watch
    from hyperfact.training import Report

config_app = typer.Typer(help="Look at configurations.", no_args_is_help=True)
app.add_typer(config_app, name="config")

ConfigFile = Annotated[
    Path | None,
    typer.Argument(metavar="[CONFIG]", help="A TOML file; defaults if absent.", show_default=False),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a setting: --set encoder.layers=2"),
]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Threads to use; by default all cores.")
]


@app.command()
def train(
    config: ConfigFile = None,
    *,
    dataset: Annotated[
        str | None, typer.Option(help="A bundled or benchmark name, or a path.")
    ] = None,
    encoder: Annotated[str | None, typer.Option(help="compgcn, rgcn or lookup.")] = None,
    decoder: Annotated[
        str | None, typer.Option(help="mdistmult, hype, mtransh or transformer.")
    ] = None,
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(help="A new directory for the run.")] = None,
    data_dir: DataDir = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Train a model, choose by validation, test once, and store the run.

    Example: `hyperfact train recipes/fb_auto_compgcn_mdistmult.toml --out runs/fb-auto`,
    `hyperfact train --dataset baseball --decoder hype --set training.epochs=20`
    """
    from hyperfact.cli.data import load_noted
    from hyperfact.cli.judge import print_results
    from hyperfact.experiment import run

    named = {"data.dataset": dataset, "encoder.name": encoder, "decoder.name": decoder}
    changes = [f"{key}={value}" for key, value in named.items() if value is not None]
    chosen = ExperimentConfig.read(config, [*changes, *(overrides or [])])
    if data_dir is not None:
        chosen = with_data_dir(chosen, data_dir)
    set_threads(threads)
    data = chosen.data
    if not data.dataset:
        raise UserError("no data: give --dataset, or set data.dataset in the configuration")
    folder = Path(data.data_dir) if data.data_dir is not None else None
    splits = load_noted(data.dataset, folder, data.format, data.literals)
    with progress(chosen.training.epochs) as watch:
        result = run(chosen, splits=splits, out=out, watch=watch)
    if as_json:
        print_json(result.as_dict())
    else:
        print_results(result.results)
    if out is not None:
        note(f"stored in {out}")


@config_app.command("show")
def config_show(
    config: ConfigFile = None, *, overrides: Overrides = None, as_json: AsJson = False
) -> None:
    """Print the effective configuration, every setting with its meaning.

    Example: `hyperfact config show --set encoder.name=rgcn`
    """
    from hyperfact.assembly import component_settings, resolve

    chosen = resolve(ExperimentConfig.read(config, overrides or []))
    if as_json:
        print_json(chosen.model_dump())
    else:
        print_text(chosen.to_toml(comments=component_settings(chosen)).rstrip())


def with_data_dir(config: ExperimentConfig, data_dir: Path) -> ExperimentConfig:
    """The same configuration with another place for benchmarks."""
    data = config.data.model_copy(update={"data_dir": str(data_dir)})
    return config.model_copy(update={"data": data})


def set_threads(threads: int | None) -> None:
    """Use so many threads; None leaves the choice to torch."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)


@contextmanager
def progress(epochs: int) -> "Iterator[Watch]":
    """A bar on stderr with loss, speed, time left and validation; plain lines where no terminal."""
    from hyperfact.training import Report

    console = Console(stderr=True)
    columns = (
        TextColumn("epoch {task.fields[epoch]}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("loss {task.fields[loss]:.3f}  {task.fields[speed]:,.0f} queries/s"),
        TextColumn("valid MRR {task.fields[mrr]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=None, epoch=0, loss=float("nan"), speed=0.0, mrr="-")

        def watch(event: "Report | Epoch") -> None:
            if isinstance(event, Report):
                done = (event.epoch - 1) * event.steps + event.step
                total = epochs * event.steps
                bar.update(task, completed=done, total=total, epoch=event.epoch, loss=event.loss)
                return
            changes: dict[str, Any] = {"speed": event.queries_per_second}
            if event.valid_mrr is not None:
                changes["mrr"] = f"{event.valid_mrr:.4f}"
            bar.update(task, **changes)
            if not console.is_terminal:
                note(epoch_line(event))

        yield watch


def epoch_line(event: "Epoch") -> str:
    """An epoch in one line of text."""
    text = f"epoch {event.epoch}: loss {event.loss:.4f}, {event.seconds:.1f} s"
    if event.valid_mrr is not None:
        text += f", valid MRR {event.valid_mrr:.4f}" + (" (best)" if event.best else "")
    return text
