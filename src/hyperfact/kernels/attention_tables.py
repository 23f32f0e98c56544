"""What attention over edges is made from."""

from typing import NamedTuple

from torch import Tensor

SLOPE = 0.2  # of LeakyReLU below 0


class AttentionTables(NamedTuple):
    """Scores come from receiver, sender and relation, values from sender and relation."""

    receiver: Tensor  # (nodes, dim)
    sender: Tensor  # (nodes, dim)
    relation: Tensor  # (relations, dim)
    values: Tensor  # (nodes, dim)
    relation_values: Tensor  # (relations, dim)
    vector: Tensor  # (1, dim) p, which makes a score of a vector
    bias: Tensor  # (relations, heads) added to scores
