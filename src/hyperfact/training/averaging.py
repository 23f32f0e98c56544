"""Average: a moving mean of all weights over the steps of a training.

Late steps move around a good place rather than towards it; the mean of the places is better than
any of them.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor

from hyperfact.models.transeq import TransEQ

_FIRST = 10  # the mean of few steps forgets quickly: its share of memory is (n + 1) / (n + 10)


def snapshot(model: TransEQ) -> dict[str, Tensor]:
    """A copy of all weights that later training does not change."""
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


class Average:
    """Exponential mean of a model's weights.

    Args:
        model: Whose weights; their values of now are where the mean begins.
        decay: Share of the mean that stays after a step.
        steps: How many steps the mean has seen.
    """

    def __init__(self, model: TransEQ, decay: float, *, steps: int = 0) -> None:
        self.model, self.decay, self.steps = model, decay, steps
        self.mean = snapshot(model)
        self.is_in_model = False  # wholly or, where an exchange was cut off, in part

    def update(self) -> None:
        """Take note of the weights after a step."""
        self.steps += 1
        stays = min(self.decay, (1 + self.steps) / (_FIRST + self.steps))
        with torch.no_grad():
            for name, tensor in self.model.state_dict().items():
                if tensor.is_floating_point():
                    self.mean[name].lerp_(tensor, 1 - stays)
                else:
                    self.mean[name].copy_(tensor)

    def restore(self, tensors: Mapping[str, Tensor], steps: int) -> None:
        """Take up a stored mean."""
        for name, mean in self.mean.items():
            mean.copy_(tensors[name])
        self.steps = steps

    @contextmanager
    def in_model(self) -> Iterator[None]:
        """Meanwhile the model has the mean weights; afterwards its own, to the bit."""
        self.is_in_model = True
        self._exchange()
        try:
            yield
        finally:
            self._exchange()
            self.is_in_model = False

    def _exchange(self) -> None:
        for name, tensor in self.model.state_dict(keep_vars=True).items():
            tensor.data, self.mean[name] = self.mean[name], tensor.data
