"""The story of a run: data, graph, model, training, validation, test, directory.

Test facts are ranked once, after everything is chosen. A run with a directory can be killed at any
moment and resumed; on one thread it ends with the same bits.
"""

import logging
from contextlib import nullcontext
from pathlib import Path

from hyperfact.config import ExperimentConfig
from hyperfact.data.label_files import label_lines
from hyperfact.errors import CheckpointError, UserError
from hyperfact.graph.hkg import Splits
from hyperfact.runs import artifacts
from hyperfact.runs.build import meanings, resolve
from hyperfact.runs.provenance import deciding, refuse_other
from hyperfact.runs.record import Directory, Record, noting_failure
from hyperfact.runs.run import Run, evaluate_split, open_run
from hyperfact.runs.setup import Setup, set_up
from hyperfact.runs.sizes import refuse_impossible
from hyperfact.runs.streaming import load_training
from hyperfact.runs.weighing import join_counts
from hyperfact.system.lock import RunLock
from hyperfact.system.memory import machine_memory
from hyperfact.system.torchrun import restarts
from hyperfact.training.checkpoints import Checkpoint, Checkpoints
from hyperfact.training.distributed import Team, team
from hyperfact.training.events import Event, Hold, Interruption, Watch

logger = logging.getLogger("hyperfact")


def _nobody(_: Event) -> None:
    """Watch without looking."""


def run(
    config: ExperimentConfig,
    *,
    splits: Splits | None = None,
    out: Path | None = None,
    watch: Watch = _nobody,
    hold: Hold = nullcontext,
) -> Run:
    """Train and test a configuration.

    Args:
        config: What to do.
        splits: The data, if it is loaded already; else `config.data` says where.
        out: A new directory for the run; without one nothing is stored.
        watch: Called after each step and each epoch.
        hold: Keeps signals out of steps, so that an interrupted run stores where it is.
    """
    config = resolve(config)
    splits = splits if splits is not None else load_training(config)
    refuse_impossible(config, splits.train, machine_memory())
    if out is None:
        return train_and_test(set_up(config, splits), watch=watch, hold=hold)
    together = team()
    if together is not None and _was_begun(out, together):
        if (out / artifacts.MANIFEST).exists():
            return open_run(out, splits=splits)
        return resume(out, splits=splits, watch=watch, hold=hold)
    if together is not None and not together.is_first:
        together.wait()  # for the directory
        setup = set_up(config, splits)
        follower = Directory(None, Checkpoints(out), setup, hold)
        return train_and_test(setup, record=follower, watch=watch, hold=hold)
    writer = artifacts.RunWriter(out)
    with RunLock(out):
        writer.refuse_used()
        checkpoints = Checkpoints(out)
        with noting_failure(writer, checkpoints):
            setup = set_up(config, splits)
            writer.text(artifacts.CONFIG, config.to_toml(comments=meanings(config)))
            if splits.label_texts:
                writer.lines(artifacts.LABELS, label_lines(splits.label_texts))
            if together is not None:
                together.wait()
            directory = Directory(writer, checkpoints, setup, hold)
            directory.begin()
            return train_and_test(setup, record=directory, watch=watch, hold=hold)


def _was_begun(out: Path, together: Team) -> bool:
    """Whether torchrun has started processes again that had begun this run before."""
    is_again = together.most(restarts()) > 0
    return bool(together.agree(is_again and (out / artifacts.CONFIG).is_file()))


def resume(
    path: Path,
    *,
    splits: Splits | None = None,
    data_dir: Path | None = None,
    watch: Watch = _nobody,
    hold: Hold = nullcontext,
    any_version: bool = False,
) -> Run:
    """Go on with a run that was interrupted.

    Args:
        path: The run directory.
        splits: The data, if it is loaded already.
        data_dir: Where benchmarks lie, if not where they lay then.
        watch: Called after each step and each epoch.
        hold: Keeps signals out of steps.
        any_version: Accept other versions of code and other threads; bits may differ then.

    Raises:
        UserError: Something is not as it was when the run began, by name; or it is finished.
        CheckpointError: There are checkpoints, and none is usable; or they are lost.
    """
    if (path / artifacts.MANIFEST).exists():
        raise UserError(
            f"{path}: the run is finished; there is nothing to resume "
            f"(`hyperfact evaluate {path}` ranks with it)"
        )
    if not path.is_dir():
        raise UserError(f"{path}: no such run directory")
    together, checkpoints = team(), Checkpoints(path)
    is_follower = together is not None and not together.is_first
    with nullcontext() if is_follower else RunLock(path):
        writer = None
        if not is_follower:
            _refuse_lost(checkpoints, path)
            writer = artifacts.RunWriter.reopen(path)
            checkpoints.clean()
        if together is not None:
            together.wait()  # for the lock, and for what it tidies up
        config = resolve(artifacts.read_config(path)).with_data_dir(data_dir)
        stored = _last(checkpoints, config, path)
        splits = splits if splits is not None else load_training(config)
        with nullcontext() if writer is None else noting_failure(writer, checkpoints):
            setup = set_up(config, splits)
            directory = Directory(writer, checkpoints, setup, hold)
            directory.begin(stored, any_version=any_version)
            return train_and_test(setup, record=directory, watch=watch, hold=hold)


def train_and_test(
    setup: Setup, *, record: Record | None = None, watch: Watch = _nobody, hold: Hold = nullcontext
) -> Run:
    """Train from where the state is to the end, choose, test, store."""
    trainer, splits, record = setup.trainer, setup.splits, record or Record()
    try:
        for event in setup.events(hold):
            record.note(event)
            watch(event)
    except Interruption:
        if team() is None:  # others may be elsewhere; they have the last checkpoint in common
            record.save()
        raise
    trainer.choose_best()
    join_counts(setup)
    result = Run(setup.config, splits, setup.model, trainer.log)
    result.best_epoch, result.seconds = trainer.best_epoch, trainer.elapsed
    judged = [name for name in ("valid", "test") if name in splits and len(splits[name])]
    for name in judged:
        alone = name != judged[-1]
        result.results[name] = evaluate_split(result, name, known=setup.known, alone=alone)
    setup.model.gather()
    record.finish(result)
    return result


def threads_of(path: Path) -> int | None:
    """The threads with which a run that can be resumed was begun."""
    checkpoints = Checkpoints(path)
    if not checkpoints.numbers():
        return None
    threads = checkpoints.latest().state.get("passport", {}).get("threads")
    return threads if isinstance(threads, int) and threads > 0 else None


def _last(checkpoints: Checkpoints, config: ExperimentConfig, path: Path) -> Checkpoint | None:
    """Where the run was; its settings are compared before the data is loaded, which they decide."""
    if not checkpoints.numbers():
        logger.warning("%s: no checkpoint was written; training begins anew", path)
        return None
    stored = checkpoints.latest()
    refuse_other(deciding(config), stored.state.get("passport", {}).get("config"), path)
    return stored


def _refuse_lost(checkpoints: Checkpoints, path: Path) -> None:
    """A run begins anew only if it never had a checkpoint: as it noted, or cut in its first epoch.

    Raises:
        CheckpointError: It had got further, and there is nothing to go on from; with the remedy.
    """
    if checkpoints.numbers() or artifacts.read_failure(path).get("checkpoints") == 0:
        return
    log, tensors = path / artifacts.LOG, checkpoints.folder.glob("*.safetensors")
    is_cut_early = all(file.name.startswith("000001.") for file in tensors)
    if is_cut_early and not (log.is_file() and log.stat().st_size):
        return
    raise CheckpointError(
        f"{path}: the run had begun, and there is no checkpoint to go on from; nothing is changed, "
        f"and `hyperfact train {path / artifacts.CONFIG} --out NEW` trains from the beginning"
    )
