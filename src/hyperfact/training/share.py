"""A softmax over a share of the candidates that estimates the one over all."""

import math

import torch

from hyperfact.kernels.softmax import Targets
from hyperfact.models.decoders.decoder import LinearForm
from hyperfact.models.representations import rows_of


def sampled(
    form: LinearForm, targets: Targets, share: float, generator: torch.Generator
) -> tuple[LinearForm, Targets]:
    """Fewer candidates, numbered anew: all answers, and a sample of the rest.

    A sampled candidate stands for 1 / share others, by a bias of -log(share), so that the sum of
    exponentials is right on average.
    """
    candidates = len(form.table)
    chosen = torch.zeros(candidates, dtype=torch.bool)
    chosen[torch.randperm(candidates, generator=generator)[: round(share * candidates)]] = True
    bias = torch.full((candidates,), -math.log(share), dtype=form.table.dtype)
    chosen[targets.answers], bias[targets.answers] = True, 0.0
    kept = chosen.nonzero()[:, 0]
    place = torch.cumsum(chosen, dim=0) - 1
    bias, here = bias.index_select(0, kept).to(form.table.device), kept.to(form.table.device)
    own = 0.0 if form.bias is None else form.bias.index_select(0, here)
    added = None if form.added is None else form.added.only(kept)
    return (
        form._replace(table=rows_of(form.table, here), bias=bias + own, added=added),
        targets._replace(answers=place.index_select(0, targets.answers)),
    )
