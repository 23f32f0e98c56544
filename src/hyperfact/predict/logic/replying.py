"""What comes back from a query: answers with their truth, who stands for the others, and why."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hyperfact.graph.facts import Fact
from hyperfact.graph.labels import Labels
from hyperfact.graph.language.formula import Query


@dataclass(frozen=True)
class Evidence:
    """A fact of the query with the chosen entities in it."""

    text: str  # in the fact syntax; variables that nobody was chosen for stay
    label: str  # as people read it
    denied: bool  # whether the query says `not`
    truth: float | None  # of the fact itself; None: nobody was chosen, or nobody had to be
    where: tuple[str, ...]  # splits in which it is known

    @property
    def known(self) -> bool:
        """Whether some split holds the fact."""
        return bool(self.where)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "fact": self.text,
            "label": self.label,
            "denied": self.denied,
            "truth": self.truth,
            "where": list(self.where),
            "known": self.known,
        }


@dataclass(frozen=True)
class QueryAnswer:
    """One entity that may be meant."""

    rank: int
    name: str
    label: str
    truth: float
    bindings: tuple[tuple[str, str], ...]  # the other variables, and the name chosen for each
    evidence: tuple[Evidence, ...]

    @property
    def known(self) -> bool:
        """Whether known facts alone make it an answer."""
        said = [e for e in self.evidence if not e.denied and e.truth is not None]
        return bool(said) and all(e.known for e in said)

    def as_dict(self, labels: Labels) -> dict[str, Any]:
        """For JSON."""
        return {
            "rank": self.rank,
            "name": self.name,
            "label": self.label,
            "truth": self.truth,
            "known": self.known,
            "bindings": {
                variable: {"name": name, "label": labels.show(name)}
                for variable, name in self.bindings
            },
            "facts": [evidence.as_dict() for evidence in self.evidence],
        }


@dataclass(frozen=True, eq=False)
class QueryAnswers(Sequence[QueryAnswer]):
    """The best answers of a query."""

    query: Query
    labels: Labels
    answers: tuple[QueryAnswer, ...]
    candidates: int  # whose truth is above 0
    logic: str
    calibrated: bool
    cuts: tuple[str, ...]  # what was left out

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, place: Any) -> Any:
        return self.answers[place]

    def __iter__(self) -> Iterator[QueryAnswer]:
        return iter(self.answers)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "query": str(self.query),
            "logic": self.logic,
            "calibrated": self.calibrated,
            "candidates": self.candidates,
            "cuts": list(self.cuts),
            "answers": [answer.as_dict(self.labels) for answer in self.answers],
        }

    def __repr__(self) -> str:
        rows = [f"  {a.rank:>3}  {a.truth:.3f}  {a.label}{_chosen(a, self.labels)}" for a in self]
        return "\n".join([f"QueryAnswers({self.query})", *rows])


def _chosen(answer: QueryAnswer, labels: Labels) -> str:
    parts = [f"?{variable} = {labels.show(name)}" for variable, name in answer.bindings]
    return f"  ({', '.join(parts)})" if parts else ""


def fact_of(names: Sequence[str], relations: Sequence[str]) -> Fact:
    """A fact by the names of its slots and of its relations."""
    pairs = tuple(zip(relations[1:], names[2:], strict=True))
    return Fact(names[0], relations[0], names[1], pairs)
