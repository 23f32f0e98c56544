"""Self-adversarial negatives: each is judged alone, and the better it scores the more it weighs."""

import torch
from torch import Tensor
from torch.nn import functional


def self_adversarial(scores: Tensor, factor: float) -> Tensor:  # (items,)
    """-log s(phi(x)) - sum_i w_i log s(-phi(x_i)), w = softmax(factor phi(x_i)), fixed (RotatE).

    Args:
        scores: Of answers, then of their negatives; -inf: not to be used.  # (items, 1 + k)
        factor: How much more the higher ones weigh.
    """
    rivals = scores[:, 1:]
    usable = ~torch.isneginf(rivals)
    weights = torch.softmax(factor * rivals.detach(), dim=1).nan_to_num(0.0)  # 0: none is usable
    wrong = functional.softplus(rivals.masked_fill(~usable, 0.0)) * weights
    return functional.softplus(-scores[:, 0]) + wrong.sum(dim=1)
