"""From a configuration to its parts: data, graph, model."""

from collections.abc import Mapping

import numpy as np
import torch

from hyperfact.config import Component, ExperimentConfig, Section, member, settings_of
from hyperfact.data import load
from hyperfact.errors import ConfigError, DataError
from hyperfact.graph.hkg import HKG, Splits, union
from hyperfact.graph.kg import KG
from hyperfact.kernels.cross_entropy import has_fast_bfloat16
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.encoders.encoder import EncoderSettings
from hyperfact.models.transeq import Precision, TransEQ
from hyperfact.models.unseen import Unseen
from hyperfact.runs.extensions import TABLES
from hyperfact.transforms import transform


def resolve(config: ExperimentConfig) -> ExperimentConfig:
    """The same configuration with every option of its encoder and decoder filled in and checked."""
    parts: dict[str, Component] = {}
    for kind, table in TABLES.items():
        section: Component = getattr(config, kind)
        settings = settings_of(table, kind, section)
        parts[kind] = type(section)(name=section.name, **settings.model_dump())
    if config.data.train_on == "train+valid" and config.training.patience:
        raise ConfigError("training.patience needs validation facts, but train_on = 'train+valid'")
    return config.model_copy(update=parts)


def component_settings(config: ExperimentConfig) -> Mapping[str, type[Section]]:
    """The classes that declare the options of the chosen encoder and decoder."""
    return {
        kind: member(table, kind, getattr(config, kind).name).Settings
        for kind, table in TABLES.items()
    }


def load_data(config: ExperimentConfig) -> Splits:
    """The facts that the configuration names."""
    data = config.data
    if not data.dataset:
        raise ConfigError("no data: set data.dataset, or give --dataset")
    return load(data.dataset, data_dir=data.data_dir, format=data.format, literals=data.literals)


def training_facts(config: ExperimentConfig, splits: Splits) -> HKG:
    """Training facts; with validation facts only where the configuration says so."""
    train = splits.train
    if config.data.train_on == "train+valid":
        train = union(train, splits.valid)
    if not len(train):
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


def encoder_graph(config: ExperimentConfig, train: HKG) -> KG:
    """The transformed training facts, and nothing else."""
    name = config.graph.transformation
    return transform(train, name, mode=config.graph.mode if name == "equivalent" else None)


def build(config: ExperimentConfig, train: HKG, generator: torch.Generator) -> TransEQ:
    """A new model of these facts."""
    graph, dim = encoder_graph(config, train), config.training.dim
    encoder = member(TABLES["encoder"], "encoder", config.encoder.name)(
        graph,
        dim=dim,
        settings=settings_of(TABLES["encoder"], "encoder", config.encoder),
        generator=generator,
    )
    return TransEQ(
        graph,
        encoder=encoder,
        decoder=build_decoder(config, graph.num_entities, generator),
        precision=precision_of(config),
        unseen=unseen_of(config, train),
    )


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
    return Unseen(train, by_role=graph.unseen == "role", strangers=graph.strangers)


def precision_of(config: ExperimentConfig) -> Precision:
    """The precision that `auto` means on this machine."""
    wanted = config.training.precision
    if wanted == "auto":
        return "bfloat16" if has_fast_bfloat16() else "float32"
    return wanted
