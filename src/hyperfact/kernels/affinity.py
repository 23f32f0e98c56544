"""How often two columns of a sparse table meet in a row: S^T S, dense."""

import numpy as np
from numpy.typing import NDArray

from hyperfact.kernels.jit import Array, kernel


def column_affinity(
    offsets: NDArray[np.int64],  # (rows + 1,)
    column: Array,  # (entries,) those of row i are offsets[i] to offsets[i + 1]
    value: NDArray[np.float64],  # (entries,)
    columns: int,
) -> NDArray[np.float64]:  # (columns, columns)
    """The sum over rows of the products of their entries."""
    found = np.zeros((columns, columns))
    _add_pairs(offsets, column.astype(np.int64), value, found)
    return found


@kernel
def _add_pairs(offsets: Array, column: Array, value: Array, found: Array) -> None:
    for row in range(len(offsets) - 1):
        for i in range(offsets[row], offsets[row + 1]):
            for j in range(offsets[row], offsets[row + 1]):
                found[column[i], column[j]] += value[i] * value[j]
