"""From a configuration to its parts: data, graph, model."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import torch
from pydantic import BaseModel

from hyperfact.config import (
    Component,
    ExperimentConfig,
    Section,
    member,
    refuse_unused,
    settings_of,
)
from hyperfact.data import load
from hyperfact.errors import ConfigError, DataError
from hyperfact.evaluation import Limits, Policy
from hyperfact.graph.facts_in_parts import FactsInParts
from hyperfact.graph.hkg import HKG, Splits, union
from hyperfact.graph.joining import ADDED
from hyperfact.graph.kg import KG
from hyperfact.graph.number_roles import NumberRoles
from hyperfact.kernels.cross_entropy import has_fast_bfloat16
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.encoders.encoder import EncoderSettings
from hyperfact.models.evidence import Evidence
from hyperfact.models.hypergraph import Hypergraph
from hyperfact.models.numbers import Numbers
from hyperfact.models.transeq import Precision, TransEQ
from hyperfact.models.unseen import Unseen
from hyperfact.runs.device import device_of
from hyperfact.runs.extensions import TABLES
from hyperfact.runs.sampled_graph import refuse_unsampled
from hyperfact.transforms import TRANSFORMS, transform

#: How validation facts are ranked where an epoch or a setting is chosen by them.
CHOICE = Policy(filter="train+valid")


def resolve(config: ExperimentConfig) -> ExperimentConfig:
    """The same configuration with every option of its encoder and decoder filled in and checked."""
    parts: dict[str, BaseModel] = {}
    for kind, table in TABLES.items():
        section: Component = getattr(config, kind)
        settings = settings_of(table, kind, section)
        parts[kind] = type(section)(name=section.name, **settings.model_dump())
    _refuse_transformation(config)
    refuse_unsampled(config)
    decoder = member(TABLES["decoder"], "decoder", config.decoder.name)
    _refuse_nameless(config)
    if config.objective.negatives is None:
        objective = config.objective.model_copy(update={"negatives": decoder.negatives})
        refuse_unused(objective, objective.model_dump(), "objective.")
        parts["objective"] = objective
    options = settings_of(TABLES["decoder"], "decoder", config.decoder)
    if config.evaluation.slots == "all" and not decoder.fills_values(options):
        parts["evaluation"] = config.evaluation.model_copy(update={"slots": "so"})
    if config.data.train_on == "train+valid" and config.training.patience:
        raise ConfigError("training.patience needs validation facts, but train_on = 'train+valid'")
    return config.model_copy(update=parts)


def _refuse_transformation(config: ExperimentConfig) -> None:
    """Settings of a transformation mean nothing to an encoder that reads the facts themselves."""
    name, graph = config.encoder.name, config.graph
    if member(TABLES["encoder"], "encoder", name).reads == "kg":
        return
    for key in ("transformation", "mode"):
        if getattr(graph, key) != type(graph).model_fields[key].default:
            raise ConfigError(
                f"the setting 'graph.{key}' is unused: the encoder {name!r} reads facts, no KG"
            )


def _refuse_nameless(config: ExperimentConfig) -> None:
    """Entities that all have one vector are told apart by the facts around them, or not at all."""
    encoder, decoder = (member(t, k, getattr(config, k).name) for k, t in TABLES.items())
    if not encoder.tells_apart and not decoder.reads_facts:
        able = ", ".join(name for name, kind in TABLES["decoder"].items() if kind.reads_facts)
        raise ConfigError(
            f"the encoder {config.encoder.name!r} gives all entities one vector; it needs a "
            f"decoder that reads the facts themselves ({able})"
        )


def component_settings(config: ExperimentConfig) -> Mapping[str, type[Section]]:
    """The classes that declare the options of the chosen encoder and decoder."""
    return {
        kind: member(table, kind, getattr(config, kind).name).Settings
        for kind, table in TABLES.items()
    }


def meanings(config: ExperimentConfig) -> dict[str, dict[str, str]]:
    """What settings mean that tables and their chosen members declare, by section and name."""
    found = {"graph": {"transformation": f"one of {', '.join(TRANSFORMS)}"}}
    for kind, table in TABLES.items():
        settings = member(table, kind, getattr(config, kind).name).Settings
        own = {name: field.description or "" for name, field in settings.model_fields.items()}
        found[kind] = {"name": f"one of {', '.join(table)}", **own}
    return found


def load_data(config: ExperimentConfig) -> Splits:
    """The facts that the configuration names."""
    data = config.data
    if not data.dataset:
        raise ConfigError("no data: set data.dataset, or give --dataset")
    return load(
        data.dataset,
        data_dir=data.data_dir,
        format=data.format,
        columns=data.columns,
        literals=data.literals,
        split=True,
    )


def training_facts(config: ExperimentConfig, splits: Splits) -> HKG:
    """Training facts, and added ones; validation facts only where the configuration says so."""
    train = splits.train
    if config.data.train_on == "train+valid":
        train = union(train, splits.valid)
    if ADDED in splits:
        train = union(train, splits[ADDED])
    if not len(train) and not isinstance(train, FactsInParts):
        raise DataError(f"{splits.name}: there are no training facts")
    return train


def validation_facts(config: ExperimentConfig, splits: Splits) -> HKG | None:
    """Facts to choose by: all, or a fixed sample; None where there are none left."""
    if config.data.train_on != "train" or not len(splits.valid):
        return None
    wanted = config.training.validate_facts
    if not wanted or wanted >= len(splits.valid):
        return splits.valid
    rows = np.random.default_rng(0).permutation(len(splits.valid))[:wanted]
    return splits.valid.select(np.sort(rows))


def encoder_graph(config: ExperimentConfig, train: HKG) -> KG | HKG:
    """The training facts and nothing else: transformed, or as they are if the encoder reads so."""
    if member(TABLES["encoder"], "encoder", config.encoder.name).reads == "facts":
        return train
    name = config.graph.transformation
    return transform(train, name, mode=config.graph.mode if name == "equivalent" else None)


def build(config: ExperimentConfig, train: HKG, generator: torch.Generator) -> TransEQ:
    """A new model of these facts."""
    device = device_of(config.training.device, precision=config.training.precision)
    if config.evidence.order and device.type != "cpu":
        raise ConfigError("evidence.order counts on the processor: training.device = 'cpu'")
    graph, dim = encoder_graph(config, train), config.training.dim
    encoder = member(TABLES["encoder"], "encoder", config.encoder.name)(
        graph,
        dim=dim,
        settings=settings_of(TABLES["encoder"], "encoder", config.encoder),
        generator=generator,
    )
    model = TransEQ(
        graph,
        encoder=encoder,
        decoder=build_decoder(config, len(graph.entities), generator),
        precision=precision_of(config),
        unseen=unseen_of(config, train),
        numbers=numbers_of(config, train),
        evidence=evidence_of(config, train),
        facts=facts_of(config, train),
    ).to(device)
    model.sample = config.graph.sample
    return model


def build_decoder(
    config: ExperimentConfig, num_entities: int, generator: torch.Generator
) -> Decoder:
    """A new decoder, which needs to know of the encoder only how large its first vectors are."""
    encoder = settings_of(TABLES["encoder"], "encoder", config.encoder)
    assert isinstance(encoder, EncoderSettings)
    decoder: Decoder = member(TABLES["decoder"], "decoder", config.decoder.name)(
        dim=config.training.dim,
        num_entities=num_entities,
        scale=encoder.initial_scale,
        settings=settings_of(TABLES["decoder"], "decoder", config.decoder),
        generator=generator,
    )
    return decoder


def unseen_of(config: ExperimentConfig, train: HKG) -> Unseen | None:
    """What the configuration does about entities that no training fact names."""
    graph = config.graph
    if graph.unseen == "own":
        return None
    decoder = member(TABLES["decoder"], "decoder", config.decoder.name)
    return Unseen(
        train,
        by_role=graph.unseen == "role",
        strangers=graph.strangers,
        as_candidates=decoder.takes_means,
    )


def numbers_of(config: ExperimentConfig, train: HKG) -> Numbers | None:
    """The numbers among the entities, where the decoder reads them and there are any."""
    roles = number_roles_of(config, train)
    return None if roles is None else Numbers.of(roles)


def number_roles_of(config: ExperimentConfig, train: HKG) -> NumberRoles | None:
    """Where numbers stand in the training facts, if the decoder reads them and there are any."""
    decoder = member(TABLES["decoder"], "decoder", config.decoder.name)
    if not decoder.reads_numbers(settings_of(TABLES["decoder"], "decoder", config.decoder)):
        return None
    return NumberRoles.of(train) or None


def evidence_of(config: ExperimentConfig, train: HKG) -> Evidence | None:
    """What the configuration counts in the training facts."""
    return Evidence(train, config.evidence) if config.evidence.order else None


def facts_of(config: ExperimentConfig, train: HKG) -> Hypergraph | None:
    """The training facts, where the decoder reads them."""
    decoder = member(TABLES["decoder"], "decoder", config.decoder.name)
    return Hypergraph.of(train) if decoder.reads_facts else None


def precision_of(config: ExperimentConfig) -> Precision:
    """The precision that `auto` means on this machine."""
    wanted = config.training.precision
    if wanted != "auto":
        return wanted
    if device_of(config.training.device).type == "cuda":
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
    return "bfloat16" if has_fast_bfloat16() else "float32"


def policy_of(config: ExperimentConfig, split: str = "test") -> Policy:
    """How the configuration wants answers of a split to be ranked.

    Whatever is chosen is chosen by validation facts; test facts do not help to filter them.
    """
    policy = Policy(**config.evaluation.model_dump(exclude={"batch_size", "chunk"}))
    chooses = split == "valid" and policy.filter == "exact"
    return replace(policy, filter=CHOICE.filter) if chooses else policy


def limits_of(config: ExperimentConfig) -> Limits:
    """How much the configuration lets be scored at once."""
    return Limits(config.evaluation.batch_size, config.evaluation.chunk)
