"""A softmax over a share of the candidates that estimates the one over all."""

import math
from dataclasses import replace

import torch
from torch import Tensor

from hyperfact.kernels.softmax import Part, SoftmaxOptions, Targets
from hyperfact.models.decoders.decoder import LinearForm
from hyperfact.models.representations import rows_of


def sampled(
    form: LinearForm,
    targets: Targets,
    options: SoftmaxOptions,
    *,
    share: float,
    generator: torch.Generator,
) -> tuple[LinearForm, Targets, SoftmaxOptions]:
    """Fewer candidates, numbered anew: all answers, and a sample of the rest.

    A sampled candidate stands for 1 / share others, by a bias of -log(share), so that the sum of
    exponentials is right on average. Where several processes divide the candidates, they draw
    alike, and each keeps those of the sample that are its own.
    """
    part = options.part or Part.all(len(form.table))
    chosen = torch.zeros(part.candidates, dtype=torch.bool)
    drawn = torch.randperm(part.candidates, generator=generator)
    chosen[drawn[: round(share * part.candidates)]] = True
    bias = torch.full((part.candidates,), -math.log(share), dtype=form.table.dtype)
    chosen[targets.answers], bias[targets.answers] = True, 0.0
    kept = chosen[part.columns].nonzero()[:, 0]
    device = form.table.device
    bias, here = bias[part.columns].index_select(0, kept).to(device), kept.to(device)
    own = 0.0 if form.bias is None else form.bias.index_select(0, here)
    added = None if form.added is None else form.added.only(kept)
    place = torch.cumsum(chosen, dim=0) - 1
    return (
        form._replace(table=rows_of(form.table, here), bias=bias + own, added=added),
        targets._replace(answers=place.index_select(0, targets.answers)),
        options if options.part is None else replace(options, part=_thinned(part, chosen)),
    )


def _thinned(part: Part, chosen: Tensor) -> Part:
    """The same with the chosen candidates only; ranges of all parts are as long as the widest."""
    counts = [int(some.sum()) for some in torch.split(chosen, part.widest)]
    before, own = int(chosen[: part.columns.start].sum()), int(chosen[part.columns].sum())
    return part._replace(
        columns=slice(before, before + own), candidates=sum(counts), widest=max(counts)
    )
