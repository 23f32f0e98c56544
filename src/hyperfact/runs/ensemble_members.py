"""The members of an ensemble: runs that its configuration names by place and hash.

    [decoder]
    name = "ensemble"
    members = ["../ram", "../gran"]     from the directory of the ensemble
    hashes = ["9f2c…", "41d0…"]         of what decides a member's scores

Nothing of a member is copied but the names. The weights of the ensemble are two tensors.
"""

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

from torch import Tensor

from hyperfact.config import DecoderChoice, ExperimentConfig
from hyperfact.errors import DataError
from hyperfact.runs.artifacts import (
    ADDED,
    CONFIG,
    MANIFEST,
    WEIGHTS,
    Stored,
    read_config,
    read_manifest,
)

ENSEMBLE = "ensemble"  # the name that its configuration has in the place of a decoder
_TENSORS = ("weights", "temperatures")


def is_ensemble(config: ExperimentConfig) -> bool:
    """Whether a run is made of others."""
    return config.decoder.name == ENSEMBLE


def choice_of(runs: Sequence[Path], out: Path) -> DecoderChoice:
    """How the configuration of an ensemble in the directory `out` names its members."""
    places = [Path(os.path.relpath(run, out)).as_posix() for run in runs]
    return DecoderChoice(name=ENSEMBLE, members=places, hashes=[_hash(run) for run in runs])  # type: ignore[call-arg]


def members_of(ensemble: Path, config: ExperimentConfig) -> list[Path]:
    """The directories of the members, each as it was.

    Raises:
        DataError: A member is not there, or not the one that the ensemble was made of.
    """
    options, found = config.decoder.options, []
    for place, wanted in zip(options.get("members", ()), options.get("hashes", ()), strict=True):
        run = Path(os.path.normpath(ensemble / str(place)))
        if not (run / MANIFEST).is_file():
            raise DataError(f"{ensemble}: its member {run} is not there")
        if (run / ADDED).is_file():
            raise DataError(f"{ensemble}: its member {run} has facts added after training")
        if _hash(run) != wanted:
            raise DataError(f"{ensemble}: its member {run} is not the run it was made of")
        found.append(run)
    if not found:
        raise DataError(f"{ensemble / CONFIG}: names no member")
    return found


def configs_of(run: Path, config: ExperimentConfig) -> tuple[ExperimentConfig, ...]:
    """That of a run, or those of its members if it is an ensemble."""
    if not is_ensemble(config):
        return (config,)
    return tuple(map(read_config, members_of(run, config)))


def weights_of(stored: Stored, members: int) -> tuple[Tensor, Tensor]:  # (members,), (members,)
    """Weights and temperatures of the members."""
    for name in _TENSORS:
        tensor = stored.tensors.get(name)
        good = tensor is not None and tensor.shape == (members,) and bool((tensor > 0).all())
        if not good:
            raise DataError(f"{stored.path / WEIGHTS}: expected {members} positive {name}")
    return stored.tensors["weights"], stored.tensors["temperatures"]


def _hash(run: Path) -> str:
    """Of the files that decide the scores of a run, by the checksums it has of them."""
    files = read_manifest(run).get("files", {})
    told = [str(files.get(name, {}).get("sha256")) for name in (CONFIG, WEIGHTS)]
    return hashlib.sha256(" ".join(told).encode()).hexdigest()
