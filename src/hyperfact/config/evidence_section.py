"""What is counted in training facts and added to scores."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field

from hyperfact.config.settings import Section


class EvidenceConfig(Section):
    """Counts of training facts that are added to scores."""

    order: int = Field(
        default=0,
        ge=0,
        le=3,
        description="how many slots are counted together, at most: 0 no counts, 1 how often the "
        "candidate fills the asked role, 2 also beside each known entity, 3 also beside each two",
    )
    start: tuple[float, float, float] = Field(
        default=(0.25, 1.0, 1.0), description="first weights of counts of one, two and three slots"
    )

    related: bool = Field(
        default=False,
        description="also counts of candidates beside known entities in other roles, where both "
        "pairs of roles are seen to go together",
    )

    related_two: bool = Field(
        default=False,
        description="the same beside two known entities at once, where three roles are seen to go "
        "together with three others",
    )

    chains: float = Field(
        default=0.0,
        ge=0.0,
        le=1.0,
        description="also chains of two facts from a known subject or object to the candidate, by "
        "rules of at least this confidence, such as 0.02; 0: none",
    )

    profiles: bool = Field(
        default=False,
        description="also what others answer of whom the same is known: each other step from the "
        "known subject or object",
    )

    learn: Literal["training", "validation", "nothing"] = Field(
        default="training",
        description="what weights are learned by: training facts, with everything else; validation "
        "facts, after a training without counts, one factor for each kind of count; or nothing: "
        "after a training without counts, first weights stay",
    )

    quiet: float = Field(
        default=0.0,
        ge=0.0,
        lt=1.0,
        description="share of the training questions that are asked without counts, drawn anew in "
        "each step, so that vectors learn also what counts explain (learn = training)",
    )

    def unused(self) -> Mapping[str, str]:
        """Without counts nothing else counts, and one role has no others beside it."""
        names = () if self.order else ("start", "chains", "profiles", "learn", "quiet")
        found = dict.fromkeys(names, "order > 0")
        if self.learn != "training":
            found["quiet"] = "learn = training"
        if self.order < 2:
            found["related"] = "order > 1"
        if self.order < 3:
            found["related_two"] = "order > 2"
        return found
