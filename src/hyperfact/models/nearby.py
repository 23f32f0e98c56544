"""Encode whom a batch names from a sample of their neighbours, and nobody else."""

import torch
from torch import Tensor

from hyperfact.models.deferred import Deferred
from hyperfact.models.graph_pass import GraphPass
from hyperfact.models.neighbourhood import neighbourhood
from hyperfact.models.representations import Representations
from hyperfact.models.transeq import TransEQ


def nearby(
    model: TransEQ, *, keep: Tensor | None = None, generator: torch.Generator | None = None
) -> Deferred:
    """What `TransEQ.encode` gives, for those whom facts and candidates will name.

    Args:
        model: With numbers of neighbours to hear.
        keep: Which edges exist; None: all.  # (edges,) bool
        generator: Source of the sample and of dropout; None: no dropout.
    """

    def make(seeds: Tensor) -> Representations:
        ids = seeds.cpu().numpy()
        kept = None if keep is None else keep.repeat(2).numpy()
        near = neighbourhood(
            model.encoder.heard(), ids, model.sample, keep=kept, generator=generator
        )
        step = GraphPass(keep, generator, model.coordinates(generator), near=near)
        with model.products():
            z: Representations = model.encoder(step)
        return z

    return Deferred.by(make, model.device)
