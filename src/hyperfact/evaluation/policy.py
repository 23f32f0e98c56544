"""The ranking policy: every choice that changes a number, declared and part of each result."""

from dataclasses import dataclass
from typing import Literal, get_args

from hyperfact.errors import UnknownNameError

Ties = Literal["realistic", "optimistic", "pessimistic"]
FilterRule = Literal["exact", "ignore-qualifiers", "train+valid", "train-only", "none"]
Slots = Literal["all", "so", "subject", "object", "value"]
Pool = Literal["all", "seen-so", "support"]
Unseen = Literal["keep", "skip"]
Given = Literal["all", "half", "none"]

_CHOICES = {
    "ties": Ties,
    "slots": Slots,
    "filter": FilterRule,
    "candidates": Pool,
    "unseen": Unseen,
    "given": Given,
}


@dataclass(frozen=True)
class Policy:
    """What was asked and how it was ranked; part of every result.

    Args:
        ties: Rank of an answer among entities of equal score: the middle, the best or the worst
            place.
        slots: Which slots are asked: all, `so` for subject and object, or one kind.
        filter: Which other answers do not compete. `exact`: those of every known fact that differs
            in the asked slot only. `ignore-qualifiers`: those of every known fact with the same
            primary triple but for the asked slot (of a value: the same attribute, whatever stands
            beside it). `train+valid`: as `exact`, but test facts count for nothing, as they must
            where something is chosen. `train-only`: as `exact`, of training facts. `none`: all
            compete.
        candidates: Who competes: all entities, or those that are subject or object of some known
            fact (StarE's rule for WD50K), or those that support facts name (the inference graph of
            WD20K). The answer always competes.
        given: How many of the qualifiers beside the asked slot a question gives: all, about half
            (each by a coin that always falls the same way), or none. A question that leaves some
            out is answered by every known fact that says at least as much, and where the filter is
            neither `none` nor `ignore-qualifiers`, those answers do not compete.
        unseen: Whether facts with an entity that no training fact holds are asked, or skipped and
            counted.
    """

    ties: Ties = "realistic"
    slots: Slots = "all"
    filter: FilterRule = "exact"
    candidates: Pool = "all"
    unseen: Unseen = "keep"
    given: Given = "all"
    average: str = "micro"

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in get_args(choices):
                raise UnknownNameError(f"choice of {name}", getattr(self, name), get_args(choices))

    def text(self, candidates: int) -> str:
        """In one line, with the number of entities that compete."""
        return (
            f"slots {self.slots}, qualifiers given {self.given}, filter {self.filter}, "
            f"ties {self.ties}, "
            f"{candidates:,} candidates ({self.candidates}), unseen {self.unseen}, "
            f"{self.average} average"
        )
