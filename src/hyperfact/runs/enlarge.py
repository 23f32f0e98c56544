"""The model of a run over more facts than it was trained on, with the weights that it has."""

from collections.abc import Sequence

import torch

from hyperfact.config import ExperimentConfig
from hyperfact.graph.joining import Joined
from hyperfact.models.ensemble import Ensemble
from hyperfact.models.newcomers import inherit
from hyperfact.models.transeq import TransEQ
from hyperfact.runs.build import build, numbers_of


def enlarged(model: TransEQ, configs: Sequence[ExperimentConfig], joined: Joined) -> TransEQ:
    """The same weights over the larger graph; numbers keep the scale that training gave them.

    Args:
        model: Trained on the graph's own facts.
        configs: Its configuration; of an ensemble those of its members.
        joined: The facts it was trained on, and those that join them.

    Raises:
        UserError: The facts bring something that the encoder has no weights for.
    """
    if isinstance(model, Ensemble):
        pool = model.decoder
        both = zip(model.members, configs, strict=True)
        members = [enlarged(member, [config], joined) for member, config in both]
        return Ensemble(members, pool.weights, pool.temperatures).eval()
    config = configs[0]
    uncounted = config.evidence.model_copy(update={"order": 0})  # it is inherited, not counted anew
    plain = config.model_copy(update={"evidence": uncounted})
    new = build(plain, joined.graph, torch.Generator().manual_seed(0))
    inherit(new, model, joined)
    new.numbers = numbers_of(config, joined.own)
    return new.eval()
