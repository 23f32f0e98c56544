"""From a run directory to what answers questions, without building the encoder."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from hyperfact.config import ExperimentConfig, member, settings_of
from hyperfact.errors import DataError
from hyperfact.graph.hkg import Splits
from hyperfact.graph.kg import Representations
from hyperfact.models.decoders import DECODERS
from hyperfact.models.decoders.decoder import Decoder
from hyperfact.models.encoders import ENCODERS
from hyperfact.models.unseen import Roles
from hyperfact.predict.cache import RunCache, check_same
from hyperfact.predict.scoring import Scorer
from hyperfact.runs.artifacts import (
    VECTORS,
    WEIGHTS,
    Stored,
    check_tensors,
    check_vectors,
    read_run,
)
from hyperfact.runs.build import load_data, precision_of, training_facts


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
    config = ExperimentConfig.from_toml(stored.config)
    if data_dir is not None:
        data = config.data.model_copy(update={"data_dir": str(data_dir)})
        config = config.model_copy(update={"data": data})
    cache = RunCache(path, stored.manifest)
    kept = cache.facts(stored.entities, stored.relations) if splits is None else None
    if kept is None:
        kept = splits if splits is not None else load_data(config)
        check_same(kept, stored.manifest, path)
        if kept.entities != stored.entities or kept.relations != stored.relations:
            raise DataError(f"{path}: names or their order are not those of the run")
        cache.keep_facts(kept)
    return LoadedRun(stored, config, kept, _scorer(stored, config, kept), cache)


def _scorer(stored: Stored, config: ExperimentConfig, splits: Splits) -> Scorer:
    """The decoder with its weights, and the vectors that the encoder made."""
    check_vectors(stored, config.training.dim)
    tensors = stored.tensors
    z = Representations(tensors[VECTORS + "entities"], tensors[VECTORS + "relations"])
    if config.graph.unseen == "role":
        z = Roles.of(training_facts(config, splits)).complete(z)
    encoder = settings_of(ENCODERS, "encoder", config.encoder)
    decoder: Decoder = member(DECODERS, "decoder", config.decoder.name)(
        dim=config.training.dim,
        num_entities=len(stored.entities),
        scale=encoder.model_dump()["initial_scale"],
        settings=settings_of(DECODERS, "decoder", config.decoder),
        generator=torch.Generator().manual_seed(0),
    )
    prefix, decoder = "decoder.", decoder.to(z.entities.dtype)
    own = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    check_tensors(stored.path / WEIGHTS, own, decoder)
    decoder.load_state_dict(own)
    return Scorer(decoder.eval(), z, precision_of(config))
