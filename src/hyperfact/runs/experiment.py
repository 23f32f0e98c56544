"""The story of a run: data, graph, model, training, validation, test, directory.

Test facts are ranked once, after everything is chosen. A run with a directory can be killed at any
moment and resumed; on one thread it ends with the same bits.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from hyperfact.config import ExperimentConfig
from hyperfact.errors import ConfigError, HyperfactError, UserError
from hyperfact.evaluation import Background, evaluate
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.runs import artifacts
from hyperfact.runs.build import (
    build,
    component_settings,
    load_data,
    resolve,
    training_facts,
    validation_facts,
)
from hyperfact.runs.provenance import passport, refuse_other
from hyperfact.runs.run import (
    Run,
    about_ranks,
    background_of,
    evaluate_split,
    limits_of,
    manifest,
    open_run,
    policy_of,
    representations,
    save,
)
from hyperfact.system.lock import RunLock
from hyperfact.system.memory import keep_freed_memory
from hyperfact.training.checkpoints import Checkpoint, Checkpoints, Schedule
from hyperfact.training.fit import (
    Epoch,
    Event,
    Fit,
    Guard,
    Interruption,
    Keeper,
    Open,
    Watch,
    snapshot,
)
from hyperfact.training.objective import make_objective
from hyperfact.training.trainer import Trainer

__all__ = [
    "Epoch",
    "Run",
    "Watch",
    "about_ranks",
    "background_of",
    "evaluate_split",
    "limits_of",
    "manifest",
    "open_run",
    "policy_of",
    "representations",
    "resume",
    "run",
    "save",
    "snapshot",
]
_log = logging.getLogger(__name__)


def _nobody(_: Event) -> None:
    """Watch without looking."""


def run(
    config: ExperimentConfig,
    *,
    splits: Splits | None = None,
    out: Path | None = None,
    watch: Watch = _nobody,
    guard: Guard | None = None,
) -> Run:
    """Train and test a configuration.

    Args:
        config: What to do.
        splits: The data, if it is loaded already; else `config.data` says where.
        out: A new directory for the run; without one nothing is stored.
        watch: Called after each step and each epoch.
        guard: Keeps signals out of steps, so that an interrupted run stores where it is.
    """
    config = resolve(config)
    splits = splits if splits is not None else load_data(config)
    if out is None:
        return Story(config, splits, guard or Open(), watch).tell()
    writer = artifacts.RunWriter(out)
    with RunLock(out), _noting_failure(writer):
        writer.refuse_used()
        story = Story(config, splits, guard or Open(), watch)
        writer.text(artifacts.CONFIG, config.to_toml(comments=component_settings(config)))
        return story.tell(writer)


def resume(
    path: Path,
    *,
    splits: Splits | None = None,
    data_dir: Path | None = None,
    watch: Watch = _nobody,
    guard: Guard | None = None,
    any_version: bool = False,
) -> Run:
    """Go on with a run that was interrupted.

    Args:
        path: The run directory.
        splits: The data, if it is loaded already.
        data_dir: Where benchmarks lie, if not where they lay then.
        watch: Called after each step and each epoch.
        guard: Keeps signals out of steps.
        any_version: Accept other versions of code and other threads; bits may differ then.

    Raises:
        UserError: Something is not as it was when the run began, by name; or it is finished.
        CheckpointError: There are checkpoints, and none is usable.
    """
    if (path / artifacts.MANIFEST).exists():
        raise UserError(f"{path}: the run is finished; there is nothing to resume")
    if not path.is_dir():
        raise UserError(f"{path}: no such run directory")
    with RunLock(path):
        writer = artifacts.RunWriter.reopen(path)
        config = resolve(artifacts.read_config(path))
        if data_dir is not None:
            data = config.data.model_copy(update={"data_dir": str(data_dir)})
            config = config.model_copy(update={"data": data})
        checkpoints = Checkpoints(path)
        checkpoints.clean()
        stored = checkpoints.latest() if checkpoints.numbers() else None
        if stored is not None:
            _refuse_other_settings(path, config, stored)
        splits = splits if splits is not None else load_data(config)
        with _noting_failure(writer):
            story = Story(config, splits, guard or Open(), watch)
            return story.tell(writer, stored, any_version=any_version)


def threads_of(path: Path) -> int | None:
    """The threads with which a run that can be resumed was begun."""
    checkpoints = Checkpoints(path)
    if not checkpoints.numbers():
        return None
    threads = checkpoints.latest().state.get("passport", {}).get("threads")
    return threads if isinstance(threads, int) and threads > 0 else None


def _refuse_other_settings(path: Path, config: ExperimentConfig, stored: Checkpoint) -> None:
    """Compare settings before the data is loaded, which they decide."""
    then = stored.state.get("passport", {}).get("config")
    settings = config.model_dump(mode="json", exclude={"data": {"data_dir"}, "checkpoint": True})
    refuse_other(settings, then if isinstance(then, dict) else {}, path, ignore=frozenset())


@contextmanager
def _noting_failure(writer: artifacts.RunWriter) -> Iterator[None]:
    try:
        yield
    except HyperfactError as error:
        writer.fail(error)
        raise


class Story:
    """All parts of one run, and what happens to them."""

    def __init__(
        self, config: ExperimentConfig, splits: Splits, guard: Guard, watch: Watch
    ) -> None:
        keep_freed_memory()
        self.guard, self.watch = guard, watch
        self.train: HKG = training_facts(config, splits)
        generator = torch.Generator().manual_seed(config.training.seed)
        self.model = build(config, self.train, generator)
        self.result = Run(config, splits, self.model)
        self.known = Background.of(splits, self.train)
        trainer = Trainer(
            self.model,
            make_objective(self.train, config.objective),
            training=config.training,
            optimizer=config.optimizer,
            hide_targets=config.graph.hide_targets,
            generator=generator,
        )
        self.sample = validation_facts(config, splits)
        validate = None if self.sample is None else self._validate
        self.fit = Fit(trainer, validate=validate, guard=guard)

    def tell(
        self,
        writer: artifacts.RunWriter | None = None,
        stored: Checkpoint | None = None,
        *,
        any_version: bool = False,
    ) -> Run:
        """Train to the end, choose, test, store."""
        if writer is None:
            for event in self.fit.run():
                self.watch(event)
            return self._end()
        keeper = self._keeper(writer.path)
        self._take_up(keeper, stored, writer.path, any_version=any_version)
        writer.rewrite_log(asdict(epoch) for epoch in self.fit.epochs)
        self._train(writer, keeper)
        result = self._end()
        with self.guard.hold():
            save(result, writer)
            if not result.config.checkpoint.keep:
                keeper.checkpoints.remove()
        return result

    def _train(self, writer: artifacts.RunWriter, keeper: Keeper) -> None:
        try:
            for event in self.fit.run():
                if isinstance(event, Epoch):
                    writer.log(asdict(event))
                keeper.look(event)
                self.watch(event)
        except Interruption:
            keeper.save()
            raise

    def _keeper(self, path: Path) -> Keeper:
        settings = self.result.config.checkpoint
        schedule = Schedule(settings.every_seconds, settings.budget)
        papers = passport(self.result.config, self.result.splits, self.train, self.model)
        return Keeper(self.fit, Checkpoints(path), schedule, papers)

    def _take_up(
        self, keeper: Keeper, stored: Checkpoint | None, path: Path, *, any_version: bool
    ) -> None:
        if stored is None:
            return
        ignore = frozenset({"versions", "threads"}) if any_version else frozenset()
        then: Mapping[str, Any] = stored.state.get("passport", {})
        refuse_other(keeper.passport, then, path, ignore=ignore)
        keeper.take_up(stored)

    def _validate(self) -> float:
        if self.sample is None:
            raise ConfigError("there are no validation facts")
        limits = limits_of(self.result.config)
        return evaluate(self.model, self.sample, self.known, limits=limits).metrics.mrr

    def _end(self) -> Run:
        result, fit = self.result, self.fit
        fit.choose_best()
        result.epochs, result.best_epoch = fit.epochs, fit.best_epoch
        result.seconds = fit.elapsed
        for name in ("valid", "test"):
            if name in result.splits and len(result.splits[name]):
                result.results[name] = evaluate_split(result, name, known=self.known)
        return result
