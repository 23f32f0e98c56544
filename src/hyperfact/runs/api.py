"""The library in a line: `train` a dataset, `evaluate` what came of it."""

from collections.abc import Mapping
from pathlib import Path

from hyperfact.config import ExperimentConfig
from hyperfact.evaluation import Evaluation, Policy
from hyperfact.graph.hkg import Splits
from hyperfact.runs.build import resolve
from hyperfact.runs.experiment import run
from hyperfact.runs.run import Run, evaluate_split, open_run


def train(
    dataset: str | Path | Splits,
    *,
    encoder: str = "compgcn",
    decoder: str = "mdistmult",
    settings: Mapping[str, object] | None = None,
    out: str | Path | None = None,
) -> Run:
    """Train a model, choose by validation, test once.

    Args:
        dataset: A name, a path, or splits that are loaded already.
        encoder: A name of `ENCODERS`.
        decoder: A name of `DECODERS`.
        settings: Further settings by dotted name, such as `{"training.epochs": 5}`.
        out: A new directory for the run; without one nothing is stored.
    """
    changes: dict[str, object] = {"encoder.name": encoder, "decoder.name": decoder}
    if not isinstance(dataset, Splits):
        changes["data.dataset"] = str(dataset)
    config = resolve(ExperimentConfig.from_dict(_tree(changes | dict(settings or {}))))
    splits = dataset if isinstance(dataset, Splits) else None
    return run(config, splits=splits, out=Path(out) if out is not None else None)


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
