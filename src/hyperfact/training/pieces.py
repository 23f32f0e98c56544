"""Pieces of a checkpoint: the rows that each process of a team owns, in a file of its own.

All lie in one folder, which every process sees. Any number of processes reads them again.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load as tensors_of
from safetensors.torch import save as bytes_of
from torch import Tensor

from hyperfact.errors import DataError, StorageError
from hyperfact.system.reading import read_checked
from hyperfact.system.writing import write_atomically
from hyperfact.training.distributed import Team

TENSOR_LIMIT = 2**40
_NOTHING, _FAILED = "-" * 64, "!" * 64  # instead of a SHA-256: nothing to write, could not


def tensor_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """As they lie in a file."""
    return bytes_of({name: t.detach().cpu().contiguous() for name, t in tensors.items()})


def write_pieces(
    folder: Path, name: str, tensors: Mapping[str, Tensor], team: Team
) -> list[dict[str, Any]]:
    """Write the own rows, and learn of the files of the others; the first has a file anyway.

    Args:
        folder: Of the checkpoints.
        name: What the files of this checkpoint begin with.
        tensors: The own rows.
        team: Every process of it calls this.

    Returns:
        The files in the order of rows, each with its SHA-256.

    Raises:
        StorageError: One of them could not be written.
    """
    shard, digest, size = team.shard, _NOTHING, 0
    if shard.replica == 0 and shard.rank > 0:
        content = tensor_bytes(tensors)
        size = len(content)
        try:
            digest = write_atomically(folder / f"{name}.{shard.rank}.safetensors", content)
        except (OSError, StorageError):
            digest = _FAILED
    said = [(text[:64], int(text[64:])) for text in team.hear(f"{digest}{size:020}")]
    failed = [rank for rank, (found, _) in enumerate(said) if found == _FAILED]
    if failed:
        raise StorageError(f"{folder}: process {failed[0]} could not write its part")
    files = [(rank, found, size) for rank, (found, size) in enumerate(said) if found != _NOTHING]
    return [
        {"file": f"{name}.{rank}.safetensors", "sha256": found, "bytes": size}
        for rank, found, size in files
    ]


def read_pieces(
    folder: Path, first: Mapping[str, Tensor], stated: Mapping[str, Any]
) -> dict[str, Tensor]:
    """The divided tensors with all their rows.

    Args:
        folder: Of the checkpoints.
        first: What the first process has written.
        stated: What the checkpoint says of itself.

    Raises:
        DataError: A piece is missing, damaged or of another checkpoint.
    """
    pieces, names = stated.get("pieces"), stated.get("divided")
    if not isinstance(pieces, list) or not isinstance(names, list) or not {*names} <= {*first}:
        raise DataError(f"{folder}: the checkpoint does not say what its pieces are")
    parts = [first]
    for piece in pieces:
        name = piece.get("file") if isinstance(piece, dict) else None
        content = read_checked(folder, str(name), piece, limit=TENSOR_LIMIT)
        parts.append(tensors_of(content))
        if {*parts[-1]} != {*names}:
            raise DataError(f"{folder / str(name)}: a piece of another checkpoint")
    return {name: torch.cat([part[name] for part in parts]) for name in names}
