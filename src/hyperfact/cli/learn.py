"""Commands on models: train, config show."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hyperfact.cli.common import AsJson, DataDir, app, note, print_json, print_text
from hyperfact.config import ExperimentConfig
from hyperfact.errors import UserError

if TYPE_CHECKING:  # torch takes a second to import, which the other commands should not pay
    from hyperfact.graph.hkg import Splits

config_app = typer.Typer(help="Look at configurations.", no_args_is_help=True)
app.add_typer(config_app, name="config")

ConfigFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="[CONFIG]",
        help="A TOML file or the name of a recipe; defaults if absent.",
        show_default=False,
    ),
]
DatasetName = Annotated[
    str | None, typer.Option("--dataset", help="A bundled or benchmark name, or a path.")
]
EncoderName = Annotated[str | None, typer.Option("--encoder", help="compgcn, rgcn or lookup.")]
DecoderName = Annotated[
    str | None, typer.Option("--decoder", help="mdistmult, hype, mtransh or transformer.")
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
    dataset: DatasetName = None,
    encoder: EncoderName = None,
    decoder: DecoderName = None,
    overrides: Overrides = None,
    out: Annotated[Path | None, typer.Option(help="A new directory for the run.")] = None,
    tensorboard: Annotated[
        Path | None, typer.Option(help="Write TensorBoard event files there.")
    ] = None,
    data_dir: DataDir = None,
    threads: Threads = None,
    as_json: AsJson = False,
) -> None:
    """Train a model, choose by validation, test once, and store the run.

    Example: `hyperfact train fb_auto_compgcn_mdistmult --out runs/fb-auto`,
    `hyperfact train --dataset baseball --decoder hype --set training.epochs=20`
    """
    from hyperfact.cli.progress import progress
    from hyperfact.cli.results import print_results
    from hyperfact.cli.signals import interruptible
    from hyperfact.runs.experiment import run

    named = {"data.dataset": dataset, "encoder.name": encoder, "decoder.name": decoder}
    chosen = chosen_config(config, named, overrides, data_dir)
    set_threads(threads)
    splits = chosen_data(chosen)
    with (
        interruptible(out) as signals,
        progress(chosen.training.epochs, tensorboard=tensorboard) as watch,
    ):
        result = run(chosen, splits=splits, out=out, watch=watch, hold=signals.hold)
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
    from hyperfact.runs.build import component_settings, resolve
    from hyperfact.runs.configurations import read_config

    chosen = resolve(read_config(config, overrides or []))
    if as_json:
        print_json(chosen.model_dump())
    else:
        print_text(chosen.to_toml(comments=component_settings(chosen)).rstrip())


def chosen_config(
    path: Path | None,
    named: Mapping[str, str | None],
    overrides: Sequence[str] | None,
    data_dir: Path | None,
) -> ExperimentConfig:
    """A configuration from a file, options and overrides, in this order."""
    from hyperfact.runs.configurations import read_config

    changes = [f"{key}={value}" for key, value in named.items() if value is not None]
    chosen = read_config(path, [*changes, *(overrides or [])])
    return chosen if data_dir is None else with_data_dir(chosen, data_dir)


def chosen_data(config: ExperimentConfig) -> "Splits":
    """The facts that a configuration names, with notes on stderr about how they were read."""
    from hyperfact.cli.data import load_noted

    data = config.data
    if not data.dataset:
        raise UserError("no data: give --dataset, or set data.dataset in the configuration")
    folder = Path(data.data_dir) if data.data_dir is not None else None
    return load_noted(data.dataset, folder, data.format, data.literals)


def with_data_dir(config: ExperimentConfig, data_dir: Path) -> ExperimentConfig:
    """The same configuration with another place for benchmarks."""
    data = config.data.model_copy(update={"data_dir": str(data_dir)})
    return config.model_copy(update={"data": data})


def set_threads(threads: int | None) -> None:
    """Use so many threads; None leaves the choice to torch."""
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
