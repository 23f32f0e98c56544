"""The shapes of what the JSON API sends back."""

from typing import Any

from typing_extensions import TypedDict


class Health(TypedDict):
    """The service answers."""

    status: str


class Card(TypedDict):
    """A run: what it is, and how well it did."""

    name: str
    dataset: str
    encoder: str
    decoder: str
    entities: int
    relations: int
    facts: dict[str, int]
    metrics: dict[str, Any]
    protocol: dict[str, Any]


class ModelList(TypedDict):
    """All runs."""

    models: list[Card]


class NewEntity(TypedDict):
    """An entity that nobody had named before, and the known one that it is most like."""

    name: str
    near: str | None


class FactsReply(TypedDict):
    """What came of adding and removing facts."""

    added: list[str]
    repeated: int
    new_entities: list[NewEntity]
    new_relations: list[str]
    facts: list[str]  # all that are added now


class FoundName(TypedDict):
    """A name, how people read it, and the number of its facts."""

    name: str
    label: str
    facts: int


class NameList(TypedDict):
    """Names, best first."""

    names: list[FoundName]


class AttributeList(TypedDict):
    """Attributes, frequent ones first."""

    attributes: list[FoundName]


class FactRow(TypedDict):
    """A fact and the split that holds it."""

    subject: str
    relation: str
    object: str
    qualifiers: list[tuple[str, str]]
    split: str
    text: str
    label: str


class FactList(TypedDict):
    """Some facts of an entity, and how many it has."""

    total: int
    facts: list[FactRow]


class AnswerRow(TypedDict):
    """One answer."""

    rank: int
    name: str
    label: str
    score: float
    probability: float
    where: list[str]
    known: bool


class EstimateRow(TypedDict):
    """A number where one is asked for, and what it may be as well."""

    value: float
    unit: str
    text: str
    level: float
    interval: list[float] | None
    interval_text: list[str] | None
    training: list[float]
    near: list[str]


class AnswerList(TypedDict):
    """The answers to a question."""

    question: str
    label: str
    candidates: int
    calibrated: bool
    seen_shape: bool
    seen_role: bool
    estimate: EstimateRow | None
    answers: list[AnswerRow]
    also_known: list[AnswerRow]  # the best known answers below the list


class PartRow(TypedDict):
    """A known part of a question, and the answer without it."""

    part: str
    text: str
    label: str
    how: str
    score: float
    rank: float
    score_change: float
    log_probability_change: float


class SupportRow(TypedDict):
    """A training fact near an answer."""

    fact: str
    label: str
    nearness: float
    shared: list[str]
    effect: float | None


#: A path from a known entity to the answer; `from` is a word of Python, so no class can name it.
PathRow = TypedDict(
    "PathRow",
    {"from": str, "to": str, "through": list[str], "facts": list[str], "labels": list[str]},
)


class CountRow(TypedDict):
    """How often training facts say what speaks for an answer."""

    text: str
    count: int
    effect: float
    facts: list[str]
    labels: list[str]


class ExplanationReply(TypedDict):
    """What speaks for an answer."""

    question: str
    answer: str
    label: str
    rank: float
    candidates: int
    score: float
    probability: float
    parts: list[PartRow]
    support: list[SupportRow]
    paths: list[PathRow]
    counts: list[CountRow]
    approximate: bool
    note: str


class ProposalRow(TypedDict):
    """A fact that no split holds, and the question that it answers."""

    fact: str
    label: str
    probability: float
    score: float
    question: str
    answer: str


class CompletionReply(TypedDict):
    """New facts, the most probable first, and how many questions were asked for them."""

    questions: int
    possible: int
    scored: int
    proposals: list[ProposalRow]


class BoundName(TypedDict):
    """Who stands for a variable."""

    name: str
    label: str


class QueryFact(TypedDict):
    """A fact of a query with the chosen entities in it."""

    fact: str
    label: str
    denied: bool
    truth: float | None
    where: list[str]
    known: bool


class QueryAnswerRow(TypedDict):
    """One answer to a query."""

    rank: int
    name: str
    label: str
    truth: float
    known: bool
    bindings: dict[str, BoundName]
    facts: list[QueryFact]


class QueryReply(TypedDict):
    """The answers to a query, and what was left out to find them in time."""

    query: str
    logic: str
    calibrated: bool
    candidates: int
    cuts: list[str]
    answers: list[QueryAnswerRow]


class ErrorText(TypedDict):
    """A code that stays the same, and one line for people."""

    code: str
    message: str


class ErrorReply(TypedDict):
    """What is wrong."""

    error: ErrorText


class BatchReply(TypedDict):
    """Answers in the order of the questions; an error where a question is wrong."""

    answers: list[AnswerList | ErrorReply]


class MapPoint(TypedDict):
    """A name on the map."""

    name: str
    kind: str
    x: float
    y: float
    label: str
    group: str


class MapReply(TypedDict):
    """The map of a run."""

    points: list[MapPoint]
    method: str
    shown: int
    of: int
