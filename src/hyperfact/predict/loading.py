"""From a run directory to what answers questions, without building the encoder."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from hyperfact.artifacts import Stored, read_run
from hyperfact.assembly import load_data, precision_of
from hyperfact.config import ExperimentConfig
from hyperfact.decoders import DECODERS
from hyperfact.decoders.base import Decoder
from hyperfact.encoders import ENCODERS
from hyperfact.errors import DataError
from hyperfact.hkg import Splits
from hyperfact.kg import Representations
from hyperfact.predict.scoring import Scorer
from hyperfact.settings import member, settings_of
from hyperfact.sidecar import Sidecar, check_same

_VECTORS = "representations."


@dataclass(frozen=True)
class Parts:
    """A run as it was read."""

    stored: Stored
    config: ExperimentConfig
    splits: Splits
    scorer: Scorer
    sidecar: Sidecar

    @property
    def weights(self) -> Mapping[str, Tensor]:
        """The parameters of the whole model."""
        return {n: t for n, t in self.stored.tensors.items() if not n.startswith(_VECTORS)}


def read_parts(path: Path, *, splits: Splits | None, data_dir: Path | None) -> Parts:
    """Read a run; its facts come from its sidecar, else from its dataset."""
    stored = read_run(path)
    config = ExperimentConfig.from_toml(stored.config)
    if data_dir is not None:
        data = config.data.model_copy(update={"data_dir": str(data_dir)})
        config = config.model_copy(update={"data": data})
    sidecar = Sidecar(path, stored.manifest)
    kept = sidecar.facts(stored.entities, stored.relations) if splits is None else None
    if kept is None:
        kept = splits if splits is not None else load_data(config)
        check_same(kept, stored.manifest, path)
        if kept.entities != stored.entities or kept.relations != stored.relations:
            raise DataError(f"{path}: names or their order are not those of the run")
        sidecar.keep_facts(kept)
    return Parts(stored, config, kept, _scorer(stored, config), sidecar)


def _scorer(stored: Stored, config: ExperimentConfig) -> Scorer:
    """The decoder with its weights, and the vectors that the encoder made."""
    tensors = stored.tensors
    z = Representations(tensors[_VECTORS + "entities"], tensors[_VECTORS + "relations"])
    encoder = settings_of(ENCODERS, "encoder", config.encoder)
    decoder: Decoder = member(DECODERS, "decoder", config.decoder.name)(
        dim=config.training.dim,
        num_entities=len(stored.entities),
        scale=encoder.model_dump()["initial_scale"],
        settings=settings_of(DECODERS, "decoder", config.decoder),
        generator=torch.Generator().manual_seed(0),
    )
    prefix = "decoder."
    decoder.load_state_dict(
        {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    )
    return Scorer(decoder.to(z.entities.dtype).eval(), z, precision_of(config))
