"""FactNorm: batch normalisation over the entries that exist, apart from where it is applied."""

import torch
from torch import Tensor, nn

_EPSILON, _MOMENTUM = 1e-5, 0.1


class FactNorm(nn.Module):
    """y -> gain * y + shift, with mean 0 and deviation 1 over the true facts of a batch.

    Statistics come from true facts alone, never from padding and never from candidates: those of
    training are then those of use, however many candidates there are. As gain and shift are given
    and not applied, sums can be normalised part by part.
    """

    mean: Tensor
    variance: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.register_buffer("mean", torch.zeros(features))
        self.register_buffer("variance", torch.ones(features))

    def forward(
        self,
        entries: Tensor,  # (…, features)
        mask: Tensor,  # the first dimensions of entries; true where one exists
    ) -> tuple[Tensor, Tensor]:  # (features,), (features,)
        """Gain and shift; while training from these entries, else from all that were seen."""
        mean, variance = self.mean, self.variance
        if self.training and bool(mask.any()):
            extra = entries.dim() - 1 - mask.dim()
            exists = mask.view(*mask.shape, *[1] * extra).expand(entries.shape[:-1])
            mean, variance = _moments(entries, exists.to(entries.dtype)[..., None])
            with torch.no_grad():
                self.mean.lerp_(mean, _MOMENTUM)
                self.variance.lerp_(variance, _MOMENTUM)
        gain = self.weight * torch.rsqrt(variance + _EPSILON)
        return gain, self.bias - mean * gain


def _moments(entries: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance over all dimensions but the last."""
    dims, count = tuple(range(entries.dim() - 1)), weight.sum()
    mean = (entries * weight).sum(dim=dims) / count
    return mean, ((entries - mean).square() * weight).sum(dim=dims) / count
