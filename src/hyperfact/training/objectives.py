"""Which objective the settings ask for."""

from hyperfact.config import ObjectiveConfig
from hyperfact.graph.hkg import HKG
from hyperfact.training.joint import JointSoftmax
from hyperfact.training.objective import AllEntities, Objective, SampledNegatives


def make_objective(train: HKG, settings: ObjectiveConfig) -> Objective:
    """One softmax for each slot, over drawn or over all entities; or one for the whole fact."""
    if settings.joint:
        return JointSoftmax(train, settings)
    return SampledNegatives(train, settings) if settings.negatives else AllEntities(train, settings)
