"""From a run directory to what answers questions, without building the encoder."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

from hyperfact.config import ExperimentConfig
from hyperfact.graph.hkg import Splits
from hyperfact.models.ensemble import Joint, Pool
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ
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
    facts_of,
    load_data,
    numbers_of,
    precision_of,
    training_facts,
    unseen_of,
)
from hyperfact.runs.ensemble_members import configs_of, is_ensemble, members_of, weights_of
from hyperfact.runs.extensions import refuse_missing
from hyperfact.runs.run import model_of

_TABLES = ("entities", "relations")


@dataclass(frozen=True)
class LoadedRun:
    """A run as it was read."""

    stored: Stored
    config: ExperimentConfig
    splits: Splits
    scorer: Scorer
    cache: RunCache

    def model(self) -> TransEQ:
        """The whole model, with its encoder."""
        return model_of(self.stored, self.config, self.splits).eval()

    @property
    def configs(self) -> tuple[ExperimentConfig, ...]:
        """Of the run, or of its members if it is an ensemble."""
        return configs_of(self.stored.path, self.config)


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
    if is_ensemble(config):
        runs = members_of(stored.path, config)
        scorers = [load_run(run, splits=splits, data_dir=None).scorer for run in runs]
        parts = [s.decoder for s in scorers], *weights_of(stored, len(runs))
        pool = Pool(*parts, [s.evidence for s in scorers])
        return Scorer(pool, Joint.join([s.z for s in scorers]), "float32")
    check_vectors(stored, config.training.dim)
    tensors = stored.tensors
    train = training_facts(config, splits)
    unseen, numbers = unseen_of(config, train), numbers_of(config, train)
    entities, relations, stand_ins = (*(tensors[VECTORS + n] for n in _TABLES), None)
    if unseen is not None:
        entities, stand_ins = unseen.introduce(entities, training=False)
    z = Representations(entities, relations, stand_ins, numbers, facts_of(config, train))
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
