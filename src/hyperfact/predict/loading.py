"""From a run directory to what answers questions, without building the encoder."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from hyperfact.config import ExperimentConfig
from hyperfact.graph.hkg import Splits
from hyperfact.models.representations import Representations
from hyperfact.predict.cache import RunCache
from hyperfact.predict.scoring import Scorer
from hyperfact.runs.artifacts import (
    VECTORS,
    WEIGHTS,
    Stored,
    check_facts,
    check_tensors,
    check_vectors,
    read_run,
)
from hyperfact.runs.build import (
    build_decoder,
    evidence_of,
    load_data,
    precision_of,
    training_facts,
    unseen_of,
)
from hyperfact.runs.extensions import refuse_missing


@dataclass(frozen=True)
class LoadedRun:
    """A run as it was read."""

    stored: Stored
    config: ExperimentConfig
    splits: Splits
    scorer: Scorer
    cache: RunCache

    @property
    def weights(self) -> Mapping[str, Tensor]:
        """The parameters of the whole model."""
        return {n: t for n, t in self.stored.tensors.items() if not n.startswith(VECTORS)}

    def load_into(self, model: nn.Module) -> None:
        """Give a model of this configuration its parameters.

        Raises:
            DataError: The run holds others than such a model has.
        """
        check_tensors(self.stored.path / WEIGHTS, self.weights, model)
        model.load_state_dict(self.weights)


def load_run(path: Path, *, splits: Splits | None, data_dir: Path | None) -> LoadedRun:
    """Read a run; its facts come from its cache, else from its dataset."""
    stored = read_run(path)
    refuse_missing(stored.manifest.get("extensions"), path)
    config = ExperimentConfig.from_toml(stored.config).with_data_dir(data_dir)
    cache = RunCache(path, stored.manifest)
    kept = cache.facts(stored.entities, stored.relations) if splits is None else None
    if kept is None:
        kept = splits if splits is not None else load_data(config)
        check_facts(stored, kept)
        cache.keep_facts(kept)
    kept = kept.with_labels(stored.labels)
    return LoadedRun(stored, config, kept, _scorer(stored, config, kept), cache)


def _scorer(stored: Stored, config: ExperimentConfig, splits: Splits) -> Scorer:
    """The decoder with its weights, and the vectors that the encoder made."""
    check_vectors(stored, config.training.dim)
    tensors = stored.tensors
    z = Representations(tensors[VECTORS + "entities"], tensors[VECTORS + "relations"])
    train = training_facts(config, splits)
    unseen = unseen_of(config, train)
    if unseen is not None:
        entities, stand_ins = unseen.introduce(z.entities, training=False)
        z = Representations(entities, z.relations, stand_ins)
    generator = torch.Generator().manual_seed(0)
    decoder = build_decoder(config, len(stored.entities), generator)
    evidence = evidence_of(config, train)
    _load_part(stored, "decoder.", decoder.to(z.entities.dtype))
    if evidence is not None:
        _load_part(stored, "evidence.", evidence.to(z.entities.dtype))
    return Scorer(decoder, z, precision_of(config), evidence)


def _load_part(stored: Stored, prefix: str, part: nn.Module) -> None:
    """Give a part of the model its own parameters."""
    own = {n.removeprefix(prefix): t for n, t in stored.tensors.items() if n.startswith(prefix)}
    check_tensors(stored.path / WEIGHTS, own, part)
    part.load_state_dict(own)
    part.eval()
