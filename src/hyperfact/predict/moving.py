"""The same question with a number moved: how the answers change from year to year.

The number stands in one qualifier. It takes each value that training facts have in its role, or
some of them at even steps where there are many, and the question is answered at every one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from hyperfact.errors import UserError
from hyperfact.graph.number_roles import NumberRoles
from hyperfact.graph.quantities import Quantity, quantity_of_name
from hyperfact.graph.ragged import Array
from hyperfact.graph.role_index import VALUE, RoleIndex, role_number
from hyperfact.predict.answers import Answers, Known, Request
from hyperfact.predict.predictor import Predictor, QuestionLike
from hyperfact.predict.questions import AnyQuestion, label_of, write_any

STEPS = 40  # values that are tried, at most
_SCORED = 4_000_000  # candidates, in all; of large graphs fewer values are tried
_FEWEST = 5


@dataclass(frozen=True)
class Moved:
    """Probabilities of the best answers at each value."""

    question: AnyQuestion  # as it was asked
    label: str
    attribute: str
    values: tuple[str, ...]  # from the smallest
    numbers: tuple[Quantity, ...]  # (values,)
    names: tuple[str, ...]  # answers, those that reach most first
    labels: tuple[str, ...]  # (names,) how people read them
    probabilities: Array  # (values, names)
    at: int | None  # the value that the question itself has

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "question": write_any(self.question),
            "label": self.label,
            "attribute": self.attribute,
            "at": None if self.at is None else self.values[self.at],
            "values": list(self.values),
            "numbers": [number.value for number in self.numbers],
            "answers": [
                {"name": name, "label": label, "probabilities": column.tolist()}
                for name, label, column in zip(
                    self.names, self.labels, self.probabilities.T, strict=True
                )
            ],
        }


def movable(predictor: Predictor) -> list[str]:
    """Attributes whose values are numbers."""
    return [name for name in predictor.relations if _role(predictor, name) is not None]


def move(
    predictor: Predictor,
    question: QuestionLike,
    attribute: str,
    *,
    k: int = 5,
    known: Known = "mark",
    restrict_range: bool = True,
) -> Moved:
    """Answer a question at each value of a number.

    Args:
        predictor: Of a run.
        question: As for `Predictor.ask`.
        attribute: Of the qualifier whose number moves; it need not stand in the question.
        k: How many answers are followed.
        known: As for `Predictor.ask`.
        restrict_range: As for `Predictor.ask`.

    Raises:
        UnknownNameError: An attribute that the run does not know.
        UserError: The attribute has no numbers, or stands twice, or its value is the blank.
    """
    asked = predictor.resolve(question).question
    attribute = predictor.labels.meant(attribute, "relation")
    predictor.relations.id(attribute, "relation")
    own = [value for name, value in asked.qualifiers if name == attribute]
    if len(own) > 1 or None in own:
        raise UserError(f"{attribute!r} must stand once in the question, with a value, to be moved")
    values = _values(predictor, attribute, own[0] if own else None)
    questions = [_with(asked, attribute, value) for value in values]
    everyone = Request(len(predictor.entities) + len(predictor.relations), known, restrict_range)
    found = [predictor.answer([one], everyone)[0] for one in questions]
    ids, probabilities = _best(found, k)
    names = tuple(found[0].names[int(i)] for i in ids)
    numbers = tuple(quantity_of_name(value) or Quantity(0.0) for value in values)
    return Moved(
        asked,
        label_of(asked, predictor.labels),
        attribute,
        values,
        numbers,
        names,
        tuple(predictor.labels.show(name) for name in names),
        probabilities,
        values.index(own[0]) if own and own[0] in values else None,
    )


def _role(predictor: Predictor, attribute: str) -> int | None:
    relation = predictor.relations.get(attribute)
    numbers = predictor.numbers
    if relation is None or numbers is None:
        return None
    role = int(role_number(VALUE, relation, len(predictor.relations)))
    return role if role < len(numbers.low) and np.isfinite(numbers.low[role]) else None


def _values(predictor: Predictor, attribute: str, own: str | None) -> tuple[str, ...]:
    """The numbers of the role from the smallest; at even steps, but with the question's own."""
    numbers, role = predictor.numbers, _role(predictor, attribute)
    if numbers is None or role is None:
        some = ", ".join(movable(predictor)) or "none of this run"
        raise UserError(f"the values of {attribute!r} are no numbers; those that are: {some}")
    names = _rising(predictor, numbers, role)
    most = min(STEPS, len(names), max(_FEWEST, _SCORED // max(1, len(predictor.entities))))
    steps = np.unique(np.linspace(0, len(names) - 1, most).round().astype(int))
    chosen = {names[i] for i in steps} | ({own} & set(names))
    return tuple(name for name in names if name in chosen)


def _rising(predictor: Predictor, numbers: NumberRoles, role: int) -> list[str]:
    train = predictor.splits.train
    members = RoleIndex.of(train).entities_of(role)
    members = members[np.isfinite(numbers.values[members])]
    order = np.argsort(numbers.values[members], kind="stable")
    return [train.entities[i] for i in members[order].tolist()]


def _with(question: AnyQuestion, attribute: str, value: str) -> AnyQuestion:
    """The question whose qualifier of this attribute has this value."""
    pairs = tuple((a, value if a == attribute else v) for a, v in question.qualifiers)
    if pairs == question.qualifiers and (attribute, value) not in pairs:
        pairs = (*pairs, (attribute, value))
    return replace(question, qualifiers=pairs)  # type: ignore[arg-type]  # of its own kind


def _best(found: Sequence[Answers], k: int) -> tuple[Array, Array]:
    """The answers that reach most anywhere, and what they have at each value."""
    most = 1 + max(int(answers.ids.max(initial=-1)) for answers in found)
    table = np.zeros((len(found), most))
    for row, answers in zip(table, found, strict=True):
        row[answers.ids] = answers.probabilities
    ids = np.argsort(-table.max(axis=0), kind="stable")[:k]
    ids = ids[table[:, ids].any(axis=0)]  # others are no candidates
    return ids, table[:, ids]
