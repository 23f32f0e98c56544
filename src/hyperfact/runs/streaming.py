"""Training from a dataset in parts whose facts memory need not hold: what it can do, and cannot."""

import logging
from collections.abc import Iterator
from pathlib import Path

from hyperfact.config import ExperimentConfig, member, settings_of
from hyperfact.errors import ConfigError
from hyperfact.graph.hkg import Splits
from hyperfact.runs.build import load_data
from hyperfact.runs.extensions import TABLES
from hyperfact.scale.disk_training import training_splits

logger = logging.getLogger("hyperfact")

_BATCHES = 8  # in what memory holds, at least: a batch lies in two windows at most


def load_training(config: ExperimentConfig) -> Splits:
    """The facts that a training needs: all in memory, or training facts as they are needed."""
    data = config.data
    if not data.facts_held:
        return load_data(config)
    refuse_unstreamable(config)
    logger.info("%s: looking through the training facts", data.dataset)
    return training_splits(Path(data.dataset), data.facts_held, tell=logger.debug)


def refuse_unstreamable(config: ExperimentConfig) -> None:
    """Say what needs all training facts in memory.

    Raises:
        ConfigError: By the name of the first such setting.
    """
    for setting, why in _unstreamable(config):
        raise ConfigError(
            f"{setting} needs all training facts in memory (data.facts_held = 0): {why}"
        )


def _unstreamable(config: ExperimentConfig) -> Iterator[tuple[str, str]]:
    """Settings that do not go with facts that come in parts, each with the reason."""
    yield from _of_model(config)
    yield from _of_objective(config)
    yield from _of_data(config)
    yield from _of_ranking(config)


def _of_model(config: ExperimentConfig) -> Iterator[tuple[str, str]]:
    encoder = member(TABLES["encoder"], "encoder", config.encoder.name)
    decoder = member(TABLES["decoder"], "decoder", config.decoder.name)
    if encoder.sees_graph:
        yield f"encoder.name = {config.encoder.name!r}", "it reads the whole graph; lookup does not"
    if decoder.reads_facts:
        yield f"decoder.name = {config.decoder.name!r}", "it reads the facts themselves"
    if decoder.reads_numbers(settings_of(TABLES["decoder"], "decoder", config.decoder)):
        yield "decoder.numbers", "it must know where numbers stand"
    if config.evidence.order:
        yield "evidence.order", "it counts them"
    if config.graph.hide_targets != "none":
        yield "graph.hide_targets", "nothing is seen that could be hidden"


def _of_objective(config: ExperimentConfig) -> Iterator[tuple[str, str]]:
    decoder = member(TABLES["decoder"], "decoder", config.decoder.name)
    options = settings_of(TABLES["decoder"], "decoder", config.decoder)
    objective = config.objective
    if not (objective.negatives or objective.joint or decoder.fills_values(options)):
        yield "objective.negatives = 0 with this decoder", "who else answers is not known"
    for name in ("filter_negatives", "mask_others", "partial"):
        if getattr(objective, name):
            yield f"objective.{name}", "who else answers a question is not known"
    if objective.weigh_by == "queries":
        yield "objective.weigh_by = 'queries'", "which facts ask the same is not known"


def _of_data(config: ExperimentConfig) -> Iterator[tuple[str, str]]:
    data, size = config.data, config.training.batch_size
    if data.train_on != "train":
        yield f"data.train_on = {data.train_on!r}", "one split is read in parts"
    if data.literals != "keep" or data.columns or data.format not in (None, "parts"):
        yield "data.literals, data.columns or data.format", "a dataset in parts is read as it is"
    if data.facts_held < _BATCHES * size:
        why = f"with training.batch_size = {size:,} the least is {_BATCHES * size:,}"
        yield f"data.facts_held = {data.facts_held:,}", why


def _of_ranking(config: ExperimentConfig) -> Iterator[tuple[str, str]]:
    asked = config.evaluation
    able = ("exact", "train+valid", "none")
    if asked.filter not in able:
        yield f"evaluation.filter = {asked.filter!r}", f"others are {', '.join(able)}"
    for name, value in (("candidates", "all"), ("given", "all"), ("unseen", "keep")):
        if getattr(asked, name) != value:
            yield f"evaluation.{name} = {getattr(asked, name)!r}", f"{value!r} does not"
