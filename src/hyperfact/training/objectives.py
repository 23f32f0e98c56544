"""Which objective the settings ask for."""

from hyperfact.config import ObjectiveConfig
from hyperfact.errors import ConfigError
from hyperfact.graph.hkg import HKG
from hyperfact.training.joint import JointSoftmax
from hyperfact.training.objective import AllEntities, Objective, SampledNegatives


def make_objective(train: HKG, settings: ObjectiveConfig, *, values: bool = True) -> Objective:
    """One softmax for each slot, over drawn or over all entities; or one for the whole fact.

    Args:
        train: The facts to learn from.
        settings: What is minimised.
        values: Whether the decoder can fill values of qualifiers.
    """
    if settings.joint and not values:
        raise ConfigError("objective.joint asks for every slot; this decoder fills no values")
    if settings.joint:
        return JointSoftmax(train, settings)
    kind = SampledNegatives if settings.negatives else AllEntities
    return kind(train, settings, values=values)
