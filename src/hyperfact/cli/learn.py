"""Commands on models: train, config show."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hyperfact.cli.common import (
    AsJson,
    DataDir,
    Device,
    FormatName,
    Threads,
    app,
    set_threads,
    spare_threads,
    words,
)
from hyperfact.cli.data import Columns, Reading, labelled
from hyperfact.cli.options import LabelFile, NamingCommand, grouped, with_code
from hyperfact.cli.printing import note, print_json, print_text
from hyperfact.config import ExperimentConfig
from hyperfact.config.settings import override
from hyperfact.data import absolute
from hyperfact.data.split import ensure_splits
from hyperfact.errors import UserError
from hyperfact.graph.hkg import Splits
from hyperfact.runs.configurations import read_config
from hyperfact.runs.defaults import with_defaults
from hyperfact.runs.extensions import refuse_unknown
from hyperfact.runs.sizes import refuse_impossible
from hyperfact.system.memory import machine_memory
from hyperfact.system.torchrun import is_follower, members

if TYPE_CHECKING:  # torch takes a second to import, which the other commands should not pay
    from hyperfact.runs.run import Run

config_app = typer.Typer(help="Look at configurations.", no_args_is_help=True)
app.add_typer(config_app, name="config")

ConfigFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="[CONFIG]",
        help="A TOML file or the name of a recipe; if absent, settings that fit the facts.",
        show_default=False,
    ),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Override a setting: --set encoder.layers=2"),
]
EventFiles = Annotated[
    Path | None, typer.Option("--tensorboard", help="Write TensorBoard event files there.")
]


@dataclass(frozen=True)
class Choice:
    """What to train: a file, options and overrides, in this order; and with how many threads."""

    config: ConfigFile = None
    dataset: Annotated[str | None, typer.Option(help="A bundled or benchmark name, or a path.")] = (
        None
    )
    device: Device = None
    encoder: Annotated[str | None, typer.Option(help="From graph to vectors.")] = None
    decoder: Annotated[str | None, typer.Option(help="From vectors to scores.")] = None
    overrides: Overrides = None
    labels: LabelFile = None
    data_dir: DataDir = None
    format: FormatName = None
    columns: Columns = None
    threads: Threads = None

    def read(self, max_memory: int | None = None) -> tuple[ExperimentConfig, Splits]:
        """The configuration and its facts, with the threads set; torch is loaded last.

        Args:
            max_memory: Bytes that may be used; by default what the machine has.
        """
        named = {
            "data.dataset": self.dataset,
            "data.format": self.format,
            "data.columns": self.columns,
            "training.device": self.device,
            "encoder.name": self.encoder,
            "decoder.name": self.decoder,
        }
        changes = [f"{key}={value}" for key, value in named.items() if value is not None]
        changes += self.overrides or []
        config = read_config(self.config, changes).with_data_dir(self.data_dir)
        refuse_unknown({"encoder": config.encoder.name, "decoder": config.decoder.name})
        splits = labelled(chosen_data(config), self.labels)
        if self.config is None and not config.data.facts_held:
            config = fitted(changes, splits).with_data_dir(self.data_dir)
        refuse_impossible(config, splits.train, max_memory or machine_memory())
        data = config.data.model_copy(update={"dataset": absolute(config.data.dataset)})
        config = config.model_copy(update={"data": data})
        if self.threads is None:
            spare_threads()
        else:
            set_threads(self.threads)

        from hyperfact.runs.build import resolve

        return resolve(config), splits


def fitted(changes: Sequence[str], splits: Splits) -> ExperimentConfig:
    """What was asked for, and settings that fit the facts beside it; says which and why."""
    tree: dict[str, dict[str, Any]] = {}
    for change in changes:
        override(tree, change)
    config, reasons = with_defaults(tree, splits.train, machine_memory())
    for line in reasons:
        note(line)
    return config


@dataclass(frozen=True)
class Crew:
    """How many processes train together."""

    processes: Annotated[
        int | None,
        typer.Option(
            min=1, help="Processes that divide the rows; torchrun starts them on many machines."
        ),
    ] = None
    replicas: Annotated[
        int, typer.Option(min=1, help="Parts of a batch, each scored by its own processes.")
    ] = 1

    def launch(self) -> bool:
        """Start the processes, if they are wanted and not there, and wait for them."""
        if members() > 1:
            if self.processes not in (None, members()):
                raise UserError(
                    f"--processes {self.processes}, but torchrun has started {members()}"
                )
            return False
        if self.processes is None or self.processes == 1:
            if self.replicas > 1:
                raise UserError(f"--replicas {self.replicas} needs as many --processes")
            return False
        from hyperfact.runs.launch import launch

        launch(without_processes(words()), self.processes, replicas=self.replicas)
        return True


def without_processes(words: Sequence[str]) -> list[str]:
    """A command as each of the processes gets it."""
    found, skips = [], False
    for word in words:
        if not (skips or word.startswith("--processes")):
            found.append(word)
        skips = word == "--processes"
    return found


@app.command(cls=NamingCommand)
@with_code
@grouped
def train(
    choice: Choice,
    crew: Crew,
    *,
    out: Annotated[
        Path | None,
        typer.Option(help="A new directory for the run; by default runs/DATASET-DECODER-TIME."),
    ] = None,
    no_store: Annotated[
        bool, typer.Option("--no-store", help="Keep nothing but what is printed.")
    ] = False,
    tensorboard: EventFiles = None,
    as_json: AsJson = False,
) -> None:
    """Train a model, choose by validation, test once, and store the run.

    Example: `hyperfact train fb_auto_compgcn_mdistmult --out runs/fb-auto`,
    `hyperfact train --dataset baseball --decoder hype --set training.epochs=20`
    """
    if out is not None and no_store:
        raise UserError("--out stores the run and --no-store does not; give one of them")
    if crew.launch():
        return
    config, splits = choice.read()

    from hyperfact.cli.progress import progress
    from hyperfact.cli.signals import interruptible
    from hyperfact.runs.experiment import run
    from hyperfact.runs.launch import as_member

    if out is None and not no_store:
        out = place_of(splits.name, config.decoder.name)
        note(f"the run is stored in {out}; --out names another place, --no-store keeps nothing")
    with (
        as_member(crew.replicas, device=config.training.device) as team,
        interruptible(out) as signals,
        progress(config.training.epochs, tensorboard=tensorboard) as watch,
    ):
        if team is not None and out is not None:
            out = Path(team.agree(str(out)))
        result = run(config, splits=splits, out=out, watch=watch, hold=signals.hold)
    show(result, out, "train", as_json=as_json)


def show(result: "Run", out: Path | None, command: str, *, as_json: bool) -> None:
    """Print what came of a training, and note it beside the run."""
    from hyperfact.cli.results import print_results
    from hyperfact.runs.looks import note_results

    if as_json:
        print_json(result.as_dict())
    else:
        print_results(result.results)
    if out is not None and not is_follower():
        note_results(out, result.config, command, result.results)
        note(f"stored in {out}")


def place_of(dataset: str, decoder: str) -> Path:
    """A directory for a run that was given none, new unless two begin in the same second."""
    name = re.sub(r"[^\w.+-]+", "-", f"{dataset}-{decoder}").strip("-.")
    return Path("runs") / f"{name}-{datetime.now().astimezone():%Y%m%d-%H%M%S}"


@config_app.command("show")
@with_code
def config_show(
    config: ConfigFile = None, *, overrides: Overrides = None, as_json: AsJson = False
) -> None:
    """Print the effective configuration, every setting with its meaning.

    Example: `hyperfact config show --set encoder.name=rgcn`
    """
    read = read_config(config, overrides or [])

    from hyperfact.runs.build import meanings, resolve

    chosen = resolve(read)
    if as_json:
        print_json(chosen.model_dump())
    else:
        print_text(chosen.to_toml(comments=meanings(chosen)).rstrip())


def chosen_data(config: ExperimentConfig) -> Splits:
    """The facts that a configuration names, with notes on stderr about how they were read."""
    data = config.data
    if not data.dataset:
        raise UserError("no data: give --dataset, or set data.dataset in the configuration")
    if data.facts_held:
        from hyperfact.runs.streaming import load_training

        return load_training(config)
    folder = Path(data.data_dir) if data.data_dir is not None else None
    reading = Reading(folder, data.format, data.columns, data.literals)
    splits, said = ensure_splits(reading.splits(data.dataset))
    if said:
        note(said)
    return splits
