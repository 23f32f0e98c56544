"""ASNG: chances of signs that learn from which of two samples did better (ICML 2019).

Adaptive stochastic natural gradient of Akimoto, Shirakawa, Yoshinari, Uchida, Saito and Nishida:
the step along the natural gradient grows while steps agree and shrinks while they do not.
"""

import math

import torch
from torch import Tensor, nn

_ALPHA = 1.5  # how far steps must agree
_DELTA = 1.0  # the first step


class Signs(nn.Module):
    """Independent chances of -1, 0 and 1; buffers only, so that a run stores and resumes them.

    Args:
        start: The likeliest signs at first, each with a chance of one half.  # (n,)
    """

    chances: Tensor  # (n, 3) of -1, 0, 1
    path: Tensor  # (n, 2) where steps have led
    pace: Tensor  # (2,) weight of the path so far, logarithm of what the first step is divided by

    def __init__(self, start: Tensor) -> None:
        super().__init__()
        chances = torch.full((len(start), 3), 0.25)
        chances[torch.arange(len(start)), start.long() + 1] = 0.5
        self.register_buffer("chances", chances)
        self.register_buffer("path", torch.zeros(len(start), 2))
        self.register_buffer("pace", torch.zeros(2))

    def draw(self, generator: torch.Generator) -> Tensor:  # (n,)
        """Signs by their chances."""
        return torch.multinomial(self.chances, 1, generator=generator)[:, 0] - 1

    def likeliest(self) -> Tensor:  # (n,)
        """The sign with the best chance in each place."""
        return self.chances.argmax(dim=1) - 1

    def learn(self, better: Tensor, worse: Tensor) -> None:
        """A step of the natural gradient from one sample towards the other."""
        if torch.equal(better, worse):
            return
        gradient = (self._hot(better) - self._hot(worse)) / 2
        root, last = self.chances[:, :2].sqrt(), self.chances[:, 2:]
        shift = gradient[:, :2].sum(dim=1, keepdim=True) / (last + last.sqrt())
        whitened = gradient[:, :2] / root + root * shift  # (n, 2) by the root of Fisher's matrix
        length = torch.linalg.vector_norm(whitened)
        delta = _DELTA / float(self.pace[1].exp())
        beta = delta / math.sqrt(whitened.numel())
        self.chances.copy_(self._within(self.chances + delta * gradient / length))
        self.path.mul_(1 - beta).add_(whitened / length, alpha=math.sqrt(beta * (2 - beta)))
        weight = (1 - beta) ** 2 * self.pace[0] + beta * (2 - beta)
        growth = beta * (weight - self.path.square().sum() / _ALPHA)
        self.pace.copy_(torch.stack([weight, self.pace[1] + growth]))

    def _hot(self, signs: Tensor) -> Tensor:  # (n, 3)
        return torch.nn.functional.one_hot(signs + 1, 3).to(self.chances.dtype)

    def _within(self, chances: Tensor) -> Tensor:  # (n, 3)
        """The same, no chance below 1 / 2n, each place summing to 1."""
        least = min(1 / (2 * len(chances)), 0.25)
        chances = chances.clamp(min=least)
        total = chances.sum(dim=1, keepdim=True)
        chances = chances - (total - 1) * (chances - least) / (total - 3 * least)
        return chances / chances.sum(dim=1, keepdim=True)
