"""Search for settings on validation facts: pruned, resumable, test facts are never looked at."""

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hyperfact.config import ExperimentConfig
from hyperfact.errors import ConfigError, MissingExtraError, UserError
from hyperfact.graph.hkg import Splits
from hyperfact.runs.build import component_settings, resolve, validation_facts
from hyperfact.runs.setup import Setup, set_up
from hyperfact.system.writing import write_atomically
from hyperfact.training.events import Epoch, Event, Hold, Watch

if TYPE_CHECKING:
    from optuna import Study, Trial

Space = Mapping[str, Sequence[Any]]

#: What may be tried, by dotted name; settings that the chosen members lack are left out.
SPACES: Mapping[str, Space] = {
    "paper": {
        "training.batch_size": (64, 128),
        "optimizer.lr": (0.0001, 0.0005, 0.001, 0.005),
        "decoder.query_dropout": (0.1, 0.2, 0.3, 0.4, 0.5),
        "encoder.layers": (1, 2, 3, 4),
        "encoder.alpha": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    },
    "wide": {
        "training.batch_size": (128, 256, 512, 1024),
        "optimizer.lr": (0.001, 0.002, 0.005, 0.01, 0.02),
        "optimizer.name": ("adamw",),  # decay that Adam adds to gradients is another thing
        "optimizer.lr_decay": (0.94, 0.97, 0.985, 0.995, 1.0),
        "optimizer.weight_decay": (0.0, 0.1, 0.2, 0.3),
        "graph.strangers": (0.0, 0.05, 0.1),
        "objective.label_smoothing": (0.0, 0.05, 0.1, 0.2),
        "training.average": (0.0, 0.99, 0.999),
        "decoder.dropout": (0.0, 0.1, 0.2, 0.3, 0.4, 0.5),
        "decoder.query_dropout": (0.0, 0.2, 0.4),
        "decoder.coordinate_dropout": (0.0, 0.5, 0.75),
        "decoder.turn": ("none", "binary", "all"),
        "encoder.layers": (1, 2),
        "encoder.alpha": (0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
        "encoder.composition": ("rotate", "mult", "sub", "corr"),
        "encoder.normaliser": ("symmetric", "mean"),
        "encoder.initial_scale": (0.1, 0.2, 0.3, 0.5),
    },
}
_JOURNAL, _BEST, _TRIALS = "trials.log", "best.toml", "trials.csv"
_REFUSED = "refused"  # why settings of a trial do not go together


@dataclass(frozen=True)
class Best:
    """The best settings so far."""

    mrr: float  # of validation facts
    trial: int
    changes: Mapping[str, Any]  # by dotted name
    trials: int  # finished, pruned ones included
    pruned: int


def usable(space: Space, config: ExperimentConfig) -> Space:
    """The settings of a space that this configuration has, each with the values that it takes."""
    chosen = resolve(config)
    members = component_settings(chosen)
    found = {}
    for name, values in space.items():
        section, _, key = name.partition(".")
        fields = members[section] if section in members else type(getattr(chosen, section))
        if key in fields.model_fields:
            found[name] = [value for value in values if _fits(config, name, value)]
    return {name: values for name, values in found.items() if values}


def _fits(config: ExperimentConfig, name: str, value: Any) -> bool:
    """Some settings need others: only roles stand for strangers."""
    try:
        changed(config, {name: value})
    except ConfigError:
        return False
    return True


def tune(
    config: ExperimentConfig,
    splits: Splits,
    *,
    space: Space,
    trials: int,
    out: Path,
    watch: Callable[[int, Mapping[str, Any]], Watch] = lambda *_: lambda _: None,
    hold: Hold = nullcontext,
) -> Best:
    """Try settings until so many trials are finished; those of before in `out` count.

    The first trial has the configuration's own settings, where the space has them.

    Args:
        config: What the settings change.
        splits: Facts; only train and valid are used.
        space: Values to choose from, by dotted name.
        trials: How many there shall be.
        out: A folder: a journal, the best configuration, a table of all trials.
        watch: Gets number and settings of each trial, gives who watches it.
        hold: Keeps signals out of steps.

    Raises:
        MissingExtraError: Optuna is not installed.
        UserError: There are no validation facts, or no trial was finished.
    """
    if validation_facts(config, splits) is None:
        raise UserError("a search needs validation facts, and train_on = 'train'")
    out.mkdir(parents=True, exist_ok=True)
    study = _study(out)
    space = usable(space, config)
    if not study.get_trials():
        study.enqueue_trial(_own(space, config))

    def judge(trial: "Trial") -> float:
        changes = {name: trial.suggest_categorical(name, list(v)) for name, v in space.items()}
        setup = _set_up(trial, config, changes, splits)
        return _judged(trial, setup.events(hold), watch(trial.number, changes))

    missing = trials - len(_ended(study))
    if missing > 0:
        keep = partial(_keep, config=config, out=out)
        study.optimize(judge, n_trials=missing, callbacks=[keep])
    best = _write(study, config, out)
    if best is None:
        reasons = [t.user_attrs[_REFUSED] for t in _ended(study) if _REFUSED in t.user_attrs]
        raise UserError(": ".join([f"{out}: no trial was finished", *reasons[-1:]]))
    return best


def _own(space: Space, config: ExperimentConfig) -> dict[str, Any]:
    """What the configuration itself says of the settings of a space."""
    tree = resolve(config).model_dump()
    own = {name: tree[section][key] for name in space for section, _, key in [name.partition(".")]}
    return {name: value for name, value in own.items() if value in space[name]}


def _set_up(
    trial: "Trial", config: ExperimentConfig, changes: Mapping[str, Any], splits: Splits
) -> Setup:
    """The training of a trial; one whose settings do not go together is pruned."""
    from optuna import TrialPruned

    try:
        return set_up(changed(config, changes), splits)
    except ConfigError as error:
        trial.set_user_attr(_REFUSED, str(error))
        raise TrialPruned from error


def _judged(trial: "Trial", events: Iterable[Event], look: Watch) -> float:
    """The best validation MRR of a training, which ends where others were far better by then."""
    from optuna import TrialPruned

    best = 0.0
    for event in events:
        look(event)
        if isinstance(event, Epoch) and event.valid_mrr is not None:
            best = max(best, event.valid_mrr)
            trial.report(event.valid_mrr, event.epoch)
            if trial.should_prune():
                raise TrialPruned
    return best


def changed(config: ExperimentConfig, changes: Mapping[str, Any]) -> ExperimentConfig:
    """The configuration with these settings, completed and checked."""
    tree = resolve(config).model_dump()
    for name, value in changes.items():
        section, _, key = name.partition(".")
        tree[section][key] = value
    return resolve(ExperimentConfig.from_dict({k: _given(v) for k, v in tree.items()}))


def _given(section: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in section.items() if value is not None}


def _study(out: Path) -> "Study":
    """The search of this folder; trials that were cut off are tried again."""
    try:
        import optuna
        from optuna.storages.journal import JournalFileBackend
    except ImportError:
        raise MissingExtraError("optuna", "hpo", "a search") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    backend = JournalFileBackend(str(out / _JOURNAL))
    study = optuna.create_study(
        storage=optuna.storages.JournalStorage(backend),
        study_name="hyperfact",
        direction="maximize",
        sampler=optuna.samplers.TPESampler(seed=0),
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=5),
        load_if_exists=True,
    )
    for trial in study.get_trials(states=(optuna.trial.TrialState.RUNNING,)):
        study.tell(trial.number, state=optuna.trial.TrialState.FAIL)
        study.enqueue_trial(trial.params)
    return study


def _ended(study: "Study") -> list[Any]:
    return [t for t in study.get_trials() if t.state.name in ("COMPLETE", "PRUNED")]


def _keep(study: "Study", _: object, *, config: ExperimentConfig, out: Path) -> None:
    """After each trial, as the search wants to call it."""
    _write(study, config, out)


def _write(study: "Study", config: ExperimentConfig, out: Path) -> Best | None:
    """The table of all trials and the best configuration; None: every trial was pruned."""
    ended = _ended(study)
    names = sorted({name for trial in ended for name in trial.params})
    table = io.StringIO()
    writer = csv.writer(table, lineterminator="\n")
    writer.writerow(["trial", "state", "valid mrr", "epochs", *names])
    for trial in ended:
        last = max(trial.intermediate_values, default=0)
        value = max(trial.intermediate_values.values(), default=None)
        row = [trial.number, trial.state.name.lower(), value, last]
        writer.writerow([*row, *(trial.params.get(name) for name in names)])
    write_atomically(out / _TRIALS, table.getvalue().encode("utf-8"))
    if not any(trial.state.name == "COMPLETE" for trial in ended):
        return None
    best = study.best_trial
    text = changed(config, best.params).to_toml()
    write_atomically(out / _BEST, text.encode("utf-8"))
    pruned = sum(trial.state.name == "PRUNED" for trial in ended)
    return Best(float(best.value or 0.0), best.number, dict(best.params), len(ended), pruned)
