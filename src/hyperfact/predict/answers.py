"""What comes back from a question: ranked names with score, probability and what is known."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, get_args, overload

from hyperfact.errors import UnknownNameError, UserError
from hyperfact.graph.facts import Fact, Vocabulary
from hyperfact.graph.frames import make_frame
from hyperfact.graph.labels import Labels
from hyperfact.graph.quantities import Quantity
from hyperfact.graph.ragged import Array
from hyperfact.graph.syntax import quote
from hyperfact.predict.questions import AnyQuestion, ResolvedQuestion, label_of, write_any

Known = Literal["mark", "remove", "hide", "only"]
LEVEL = 0.8  # share of true numbers that intervals of estimates should hold
TOLD = 3  # known answers below the list that are named
_SHAPES = {
    "new": "training saw no fact with this relation and these attributes; this is a guess",
    "partial": "this run never saw questions that leave qualifiers out, so this is a guess; train "
    "with objective.partial",
}


@dataclass(frozen=True)
class Request:
    """How questions are to be answered."""

    k: int = 10
    known: Known = "mark"
    restrict_range: bool = True  # only those whom training facts show in the asked role

    def __post_init__(self) -> None:
        if self.k < 1:
            raise UserError(f"k must be at least 1, got {self.k}")
        if self.known not in get_args(Known):
            raise UnknownNameError("way to treat known answers", self.known, get_args(Known))


@dataclass(frozen=True)
class Answer:
    """One name that may fill the blank."""

    rank: int  # place among the candidates, from 1; equal scores in the order of ids
    name: str
    label: str  # how people read the name
    score: float
    probability: float  # over the candidates of this ranking
    where: tuple[str, ...]  # splits in which the fact stands

    @property
    def known(self) -> bool:
        """Whether some split holds the completed fact."""
        return bool(self.where)

    @property
    def is_told(self) -> bool:
        """Whether the run learned or was told it, so that it is nothing to be found out."""
        return not {"train", "added"}.isdisjoint(self.where)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "rank": self.rank,
            "name": self.name,
            "label": self.label,
            "score": self.score,
            "probability": self.probability,
            "where": list(self.where),
            "known": self.known,
        }


@dataclass(frozen=True)
class Estimate:
    """A number, what it may be as well, and what training facts have in this role."""

    value: Quantity
    low: Quantity
    high: Quantity
    interval: tuple[Quantity, Quantity] | None = None  # None: no validation fact says how wide
    near: tuple[Fact, ...] = ()  # training facts that share most with the question

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        value, interval = self.value, self.interval
        return {
            "value": value.value,
            "unit": "year" if value.is_date else value.unit,
            "text": value.text,
            "level": LEVEL,
            "interval": None if interval is None else [end.value for end in interval],
            "interval_text": None if interval is None else [end.text for end in interval],
            "training": [self.low.value, self.high.value],
            "near": [str(fact) for fact in self.near],
        }


@dataclass(frozen=True, eq=False)
class Answers(Sequence[Answer]):
    """The best answers of one question, as columns; a row is made when it is looked at."""

    asked: ResolvedQuestion
    names: Vocabulary
    labels: Labels
    ids: Array  # (answers,)
    ranks: Array  # (answers,)
    scores: Array  # (answers,)
    probabilities: Array  # (answers,)
    where: tuple[tuple[str, ...], ...]
    candidates: int  # how many were ranked
    calibrated: bool  # whether a temperature was fitted on validation facts
    shape: Literal["seen", "partial", "new"]  # what training saw of such questions
    seen_role: bool  # whether training facts show anybody in the asked role, where that is asked
    told: tuple[Answer, ...] = ()  # best known answers that are not listed, one more than is named
    estimating: Callable[[], Estimate | None] | None = None  # done when it is looked at

    @cached_property
    def estimate(self) -> Estimate | None:
        """The number in the blank, where numbers stand in the asked role."""
        return None if self.estimating is None else self.estimating()

    @property
    def question(self) -> AnyQuestion:
        """The question as it was asked."""
        return self.asked.question

    @property
    def label(self) -> str:
        """The question as people read it."""
        return label_of(self.question, self.labels)

    @property
    def seen_shape(self) -> bool:
        """Whether training saw questions with this relation and these attributes."""
        return self.shape == "seen"

    @property
    def notes(self) -> list[str]:
        """What to know before one trusts these answers, a line each."""
        found = [_SHAPES[self.shape]] if self.shape in _SHAPES else []
        if not self.seen_role:
            found.append("training saw nobody in the asked role, so that everybody is a candidate")
        return found

    @property
    def also(self) -> str:
        """Known answers that are not listed, in words; empty: there are none."""
        texts = [f"{quote(self.labels.full(a.name))} ({', '.join(a.where)})" for a in self.told]
        more = " …" if len(texts) > TOLD else ""
        return f"known facts also say: {'; '.join(texts[:TOLD])}{more}" if texts else ""

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> Answer: ...
    @overload
    def __getitem__(self, place: slice) -> list[Answer]: ...
    def __getitem__(self, place: int | slice) -> Answer | list[Answer]:
        if isinstance(place, slice):
            return [self[i] for i in range(len(self))[place]]
        i = range(len(self))[place]
        name = self.names[int(self.ids[i])]
        return Answer(
            int(self.ranks[i]),
            name,
            self.labels.show(name),
            float(self.scores[i]),
            float(self.probabilities[i]),
            self.where[i],
        )

    def __iter__(self) -> Iterator[Answer]:
        return (self[i] for i in range(len(self)))

    def head(self, k: int) -> "Answers":
        """The first k of them."""
        parts = {f: getattr(self, f)[:k] for f in ("ids", "ranks", "scores", "probabilities")}
        told = (*(a for a in self[k:] if a.is_told), *self.told)[: TOLD + 1]
        return replace(self, where=self.where[:k], told=told, **parts)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "question": write_any(self.question),
            "label": self.label,
            "candidates": self.candidates,
            "calibrated": self.calibrated,
            "seen_shape": self.seen_shape,
            "seen_role": self.seen_role,
            "estimate": None if self.estimate is None else self.estimate.as_dict(),
            "answers": [answer.as_dict() for answer in self],
            "also_known": [answer.as_dict() for answer in self.told[:TOLD]],
        }

    def to_frame(self, kind: str | None = None) -> Any:
        """A row for each answer, with the splits in which it is known; see `HKG.to_frame`."""
        columns = {
            "rank": self.ranks,
            "answer": [self.names[i] for i in self.ids.tolist()],
            "score": self.scores,
            "probability": self.probabilities,
            "known": [" ".join(where) for where in self.where],
        }
        return make_frame(columns, kind)

    def __repr__(self) -> str:
        head = f"Answers({self.label})"
        marks = [f" (known: {', '.join(a.where)})" if a.known else "" for a in self]
        rows = [
            f"  {a.rank:>3}  {a.probability:.3f}  {self.labels.full(a.name)}{mark}"
            for a, mark in zip(self, marks, strict=True)
        ]
        notes = [*self.notes, *([self.also] if self.told else [])]
        return "\n".join([head, *rows, *(f"  ({note})" for note in notes)])
