"""How far estimates of numbers are off, beside the ranks of names.

Errors are on the scale of their role: 0 the smallest number that training facts have there, 1 the
largest, so that areas and years count alike (as in HyNT).
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hyperfact.graph.batches import FactBatch
from hyperfact.graph.hkg import HKG
from hyperfact.graph.number_roles import NumberRoles
from hyperfact.graph.queries import Queries
from hyperfact.graph.ragged import Array

#: The number in the asked slot of each fact, on the scale of its role.  # (batch,)
Estimator = Callable[[FactBatch, Tensor], Tensor]


@dataclass(frozen=True)
class NumberErrors:
    """Of all queries for numbers of some facts."""

    rmse: float
    mae: float
    queries: int
    baseline_rmse: float  # of the mean of training facts in the same role

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def number_errors(
    estimate: Estimator, graph: HKG, numbers: NumberRoles, *, rows: int, slots: tuple[int, ...]
) -> NumberErrors | None:
    """Ask for every number of some facts; None where there is none.

    Args:
        estimate: Of the model.
        graph: The facts.
        numbers: Where numbers stand in training facts.
        rows: Queries at once.
        slots: Kinds of slots to ask for.
    """
    queries = Queries.of(graph)
    role, is_number = numbers.ask(graph, queries)
    wanted = np.flatnonzero(is_number & np.isin(np.minimum(queries.slot, 2), slots))
    if not len(wanted):
        return None
    queries, role = queries.take(wanted), role[wanted]
    true = numbers.share(numbers.values[queries.answer], role)
    parts = []
    for start in range(0, len(queries), rows):
        some = queries.take(np.arange(start, min(start + rows, len(queries))))
        asked = torch.from_numpy(some.slot.astype(np.int64))
        parts.append(estimate(FactBatch.of(graph, some.fact), asked).double().numpy())
    errors: Array = np.concatenate(parts) - true
    plain = numbers.share(numbers.mean[role], role) - true
    return NumberErrors(_root(errors), float(np.abs(errors).mean()), len(errors), _root(plain))


def _root(errors: Array) -> float:
    return float(np.sqrt(np.square(errors).mean()))
