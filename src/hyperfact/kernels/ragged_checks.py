"""Ragged columns: row i holds `columns[offsets[i]:offsets[i + 1]]`."""

from torch import Tensor

from hyperfact.errors import DataError


def check_ragged(offsets: Tensor, ids: Tensor, *, rows: int, columns: int) -> None:
    """Refuse offsets or ids that a kernel could not follow.

    Raises:
        DataError: Offsets that do not rise from 0 to the number of ids, or an id out of range.
    """
    if offsets.shape != (rows + 1,):
        raise DataError(f"expected {rows + 1} offsets for {rows} rows, got {tuple(offsets.shape)}")
    if int(offsets[0]) != 0 or int(offsets[-1]) != len(ids) or bool((offsets.diff() < 0).any()):
        raise DataError(f"offsets must rise from 0 to {len(ids)}, the number of ids")
    if len(ids) and not 0 <= int(ids.min()) <= int(ids.max()) < columns:
        found = f"{int(ids.min())}..{int(ids.max())}"
        raise DataError(f"ids must be in 0..{columns - 1}, got {found}")
