"""Estimates: a blank in a role of numbers is answered with a number."""

from dataclasses import dataclass
from typing import Any

from hyperfact.graph.facts import Vocabulary
from hyperfact.graph.number_roles import NumberRoles
from hyperfact.graph.quantities import Quantity
from hyperfact.graph.role_index import VALUE, role_number
from hyperfact.predict.questions import QuestionIds
from hyperfact.predict.scoring import Scorer


@dataclass(frozen=True)
class Estimate:
    """A number, and between which ones the training facts have it in this role."""

    value: Quantity
    low: Quantity
    high: Quantity

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        value = self.value
        return {
            "value": value.value,
            "unit": "year" if value.is_date else value.unit,
            "text": value.text,
            "training": [self.low.value, self.high.value],
        }


def estimate(
    question: QuestionIds, scorer: Scorer, numbers: NumberRoles, entities: Vocabulary
) -> Estimate | None:
    """The number in the blank; None where names stand, or a relation is asked for."""
    if question.is_relation:
        return None
    kind, place = min(question.slot, VALUE), max(question.slot - 1, 0)
    relations = len(numbers.low) // 3
    role = int(role_number(kind, question.relations[place], relations))
    if not numbers.low[role] > float("-inf"):  # NaN: a role of names
        return None
    share = float(scorer.estimates([question])[0])
    return Estimate(*(numbers.quantity(x, role, entities) for x in (share, 0.0, 1.0)))
