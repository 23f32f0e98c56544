"""The library in a line: `train` a dataset, `evaluate` what came of it."""

import logging
from collections.abc import Mapping
from pathlib import Path

from hyperfact.config import ExperimentConfig
from hyperfact.data.split import ensure_splits
from hyperfact.evaluation import Evaluation, Policy
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.runs.build import load_data, resolve
from hyperfact.runs.defaults import with_defaults
from hyperfact.runs.experiment import run
from hyperfact.runs.run import Run, evaluate_split, open_run
from hyperfact.system.memory import machine_memory

logger = logging.getLogger("hyperfact")


def train(
    dataset: str | Path | HKG | Splits,
    *,
    encoder: str = "compgcn",
    decoder: str = "mdistmult",
    settings: Mapping[str, object] | None = None,
    out: str | Path | None = None,
) -> Run:
    """Train a model, choose by validation, test once; what is not set fits size and shape.

    Args:
        dataset: A name, a path, splits that are loaded already, or facts to split 80 : 10 : 10.
        encoder: A name of `ENCODERS`.
        decoder: A name of `DECODERS`.
        settings: Further settings by dotted name, such as `{"training.epochs": 5}`.
        out: A new directory for the run; without one nothing is stored.
    """
    changes: dict[str, object] = {"encoder.name": encoder, "decoder.name": decoder}
    if isinstance(dataset, str | Path):
        changes["data.dataset"] = str(dataset)
    given = _tree(changes | dict(settings or {}))
    splits = _splits(dataset, ExperimentConfig.from_dict(given))
    config, reasons = with_defaults(given, splits.train, machine_memory())
    for line in reasons:
        logger.info("%s: %s", splits.name, line)
    return run(resolve(config), splits=splits, out=Path(out) if out is not None else None)


def _splits(dataset: str | Path | HKG | Splits, config: ExperimentConfig) -> Splits:
    if isinstance(dataset, Splits):
        return dataset
    if isinstance(dataset, HKG):
        splits, note = ensure_splits(Splits({"train": dataset}, name="facts"))
        logger.info(note)
        return splits
    return load_data(config)


def evaluate(
    trained: Run | str | Path, split: str = "test", *, policy: Policy | None = None
) -> Evaluation:
    """Rank the answers of a split with a run, or with a run directory.

    Args:
        trained: What `train` returned, or where it was stored.
        split: The facts to ask about.
        policy: What is asked and how it is ranked; the run's own if not given.
    """
    opened = trained if isinstance(trained, Run) else open_run(Path(trained))
    return evaluate_split(opened, split, policy=policy)


def _tree(settings: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Dotted names as nested mappings."""
    tree: dict[str, dict[str, object]] = {}
    for name, value in settings.items():
        section, _, key = name.partition(".")
        tree.setdefault(section, {})[key] = value
    return tree
