"""The parts of a run together: facts, their graph in a new model, and its training."""

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace

import torch

from hyperfact.config import ExperimentConfig, member, settings_of
from hyperfact.errors import ConfigError
from hyperfact.evaluation import Background, Policy, evaluate
from hyperfact.graph.facts_in_parts import FactsInParts
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.models.evidence import Evidence
from hyperfact.models.transeq import TransEQ
from hyperfact.runs.build import (
    CHOICE,
    build,
    limits_of,
    number_roles_of,
    training_facts,
    validation_facts,
)
from hyperfact.runs.extensions import TABLES
from hyperfact.runs.inductive import supported
from hyperfact.runs.streaming import refuse_unstreamable
from hyperfact.system.memory import keep_freed_memory, return_freed_memory
from hyperfact.training.distributed import team
from hyperfact.training.events import Event, Hold
from hyperfact.training.objectives import make_objective
from hyperfact.training.trainer import Trainer


@dataclass(frozen=True)
class Setup:
    """All parts of a run, before its first step."""

    config: ExperimentConfig
    splits: Splits
    train: HKG  # the facts to learn from
    valid: HKG | None  # the facts to choose by
    known: Background
    trainer: Trainer
    counts: Evidence | None = None  # that join the model after its training

    @property
    def model(self) -> TransEQ:
        """What is trained."""
        return self.trainer.model

    def events(self, hold: Hold = nullcontext) -> Iterator[Event]:
        """Train from where the state is, choosing by validation MRR."""
        valid = self.valid
        validate = None if valid is None else lambda: self.mrr(valid, choice_of(self.config))
        return self.trainer.run(validate=validate, hold=hold)

    def mrr(self, facts: HKG, policy: Policy) -> float:
        """Of these facts with the weights of now, of the slots that the decoder can fill."""
        limits, decoder = limits_of(self.config), self.model.decoder
        if policy.slots == "all" and not decoder.fills_values(decoder.settings):
            policy = replace(policy, slots="so")
        model = supported(self.model, [self.config], self.splits)
        return evaluate(model, facts, self.known, policy=policy, limits=limits).metrics.mrr


def choice_of(config: ExperimentConfig) -> Policy:
    """How validation facts are ranked where something is chosen: the slots that will be reported.

    Test facts do not help to filter.
    """
    asked = config.evaluation
    return replace(CHOICE, slots=asked.slots, candidates=asked.candidates)


def refuse_undividable(config: ExperimentConfig, entities: int, shards: int) -> None:
    """Say what several processes cannot do together.

    Raises:
        ConfigError: By the name of the setting.
    """
    objective = config.objective
    decoder = member(TABLES["decoder"], "decoder", config.decoder.name)
    if objective.joint and not objective.negatives:
        raise ConfigError("objective.joint with every entity as a candidate is for one process")
    if config.graph.sample:
        raise ConfigError("graph.sample is for one process")
    if decoder.reads_numbers(settings_of(TABLES["decoder"], "decoder", config.decoder)):
        raise ConfigError("decoder.numbers is for one process")
    if decoder.reads_facts:
        raise ConfigError(f"the decoder {config.decoder.name!r} is for one process")
    if shards > entities:
        raise ConfigError(f"{shards} processes cannot divide {entities} entities")


def refuse_unchosen(config: ExperimentConfig, valid: HKG | None) -> None:
    """Say that weights are to be chosen by facts that there are not.

    Raises:
        ConfigError: With the remedy.
    """
    if config.evidence.order and config.evidence.learn == "validation" and valid is None:
        raise ConfigError(
            "evidence.learn = 'validation' needs validation facts; without them give weights by "
            "evidence.start and set evidence.learn = 'nothing'"
        )


def set_up(config: ExperimentConfig, splits: Splits) -> Setup:
    """The parts of a run: facts, their graph in a new model, and its training."""
    together = team()
    if together is None:
        keep_freed_memory()
    else:
        return_freed_memory()
    train = training_facts(config, splits)
    if isinstance(train, FactsInParts):
        refuse_unstreamable(config)
    valid = validation_facts(config, splits)
    refuse_unchosen(config, valid)
    generator = torch.Generator().manual_seed(config.training.seed)
    model = build(config, train, generator)
    counts = None
    if config.evidence.learn != "training":
        counts, model.evidence = model.evidence, None
    if together is not None:
        refuse_undividable(config, len(train.entities), together.shard.size)
        model.divide(together.shard)
    values = model.decoder.fills_values(model.decoder.settings)
    numbers = number_roles_of(config, train)
    trainer = Trainer(
        model,
        make_objective(train, config.objective, values=values, numbers=numbers),
        training=config.training,
        optimizer=config.optimizer,
        hide_targets=config.graph.hide_targets,
        generator=generator,
    )
    known = Background.of(splits, train, numbers)
    if isinstance(train, FactsInParts):
        known = replace(known, train=None)  # what needs all of them is refused or left out
    return Setup(config, splits, train, valid, known, trainer, counts)
