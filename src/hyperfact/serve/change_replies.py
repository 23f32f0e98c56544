"""What the JSON API sends back of changed questions."""

from typing_extensions import TypedDict


class MoveRow(TypedDict):
    """Where an answer stood and stands."""

    name: str
    label: str
    before: int
    probability_before: float
    after: int
    probability_after: float
    rise: int


class WhatIfReply(TypedDict):
    """Two rankings side by side."""

    before: str
    after: str
    labels: dict[str, str]
    seen_shape: bool
    seen_role: bool
    moves: list[MoveRow]


class MovedAnswer(TypedDict):
    """An answer and its probability at each value."""

    name: str
    label: str
    probabilities: list[float]


class MovedReply(TypedDict):
    """A question at each value of a number."""

    question: str
    label: str
    attribute: str
    at: str | None
    values: list[str]
    numbers: list[float]
    answers: list[MovedAnswer]
