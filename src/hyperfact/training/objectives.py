"""Which objective the settings ask for."""

from hyperfact.config import ObjectiveConfig
from hyperfact.errors import ConfigError
from hyperfact.graph.facts_in_parts import FactsInParts
from hyperfact.graph.hkg import HKG
from hyperfact.graph.number_roles import NumberRoles
from hyperfact.training.joint import JointSoftmax
from hyperfact.training.objective import AllEntities, Objective, SampledNegatives
from hyperfact.training.streamed import Streamed
from hyperfact.training.with_numbers import WithNumbers


def make_objective(
    train: HKG,
    settings: ObjectiveConfig,
    *,
    values: bool = True,
    numbers: NumberRoles | None = None,
) -> Objective:
    """One softmax for each slot, over drawn or over all entities; or one for the whole fact.

    Args:
        train: The facts to learn from.
        settings: What is minimised.
        values: Whether the decoder can fill values of qualifiers.
        numbers: Where numbers stand, if the decoder estimates them.
    """
    if settings.joint and not values:
        raise ConfigError("objective.joint asks for every slot; this decoder fills no values")
    if settings.joint and numbers is not None:
        raise ConfigError("objective.joint knows no numbers; set decoder.numbers = false")
    if isinstance(train, FactsInParts):
        return Streamed(train, settings, values=values)
    if settings.joint:
        return JointSoftmax(train, settings)
    if numbers is not None:
        if settings.negatives:
            raise ConfigError("a decoder that estimates numbers needs objective.negatives = 0")
        return WithNumbers(train, settings, numbers=numbers, values=values)
    kind = SampledNegatives if settings.negatives else AllEntities
    return kind(train, settings, values=values)
