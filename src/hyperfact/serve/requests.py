"""The shapes of what the JSON API is asked: strict JSON and checked fields."""

import json
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from hyperfact.errors import UserError
from hyperfact.predict.answers import Known, Request

#: Characters of a question, of a name, and of a change.
LONGEST = 4096
_MOST_ANSWERS = 20_000  # of a batch
#: Candidates that one completion scores, so that others do not wait for it.
MOST_SCORED = 2_000_000

Text = Annotated[str, Field(max_length=LONGEST)]
QuestionText = Annotated[
    str, Field(max_length=LONGEST, description="`s | r | ? | a = v`, with one ? anywhere")
]
KnownWay = Annotated[
    Known, Field(description="known answers: mark them, remove them, hide them, or list only them")
]
Count = Annotated[int, Field(ge=1, le=1000, description="how many answers")]
AnyName = Annotated[bool, Field(description="also candidates never seen in the asked role")]


class Body(BaseModel):
    """Every field is checked, and no other is taken."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Predict(Body):
    """A question."""

    question: QuestionText
    k: Count = 10
    known: KnownWay = "mark"
    any_name: AnyName = False

    @property
    def request(self) -> Request:
        """How it is to be answered."""
        return Request(self.k, self.known, not self.any_name)


class Explain(Body):
    """A question and the answer to explain."""

    question: QuestionText
    answer: Text
    count: int = Field(5, ge=1, le=50, description="supporting facts, and paths")
    known: KnownWay = "mark"
    any_name: AnyName = False

    @property
    def request(self) -> Request:
        """How the answers were asked for."""
        return Request(known=self.known, restrict_range=not self.any_name)


class WhatIf(Body):
    """A question and how it is to be changed."""

    question: QuestionText
    changes: list[Text] = Field(
        min_length=1, max_length=32, description="`+ a = v`, `- a = v` or `a = new value`"
    )
    k: Count = 10
    known: KnownWay = "mark"
    any_name: AnyName = False


class Move(Body):
    """A question and the number in it that moves."""

    question: QuestionText
    attribute: Text
    k: int = Field(5, ge=1, le=20, description="answers that are followed")
    known: KnownWay = "mark"
    any_name: AnyName = False


class Complete(Body):
    """An entity of which new facts are wanted."""

    entity: Text
    limit: int = Field(10, ge=1, le=100, description="how many facts")
    budget: int = Field(MOST_SCORED, ge=1, le=MOST_SCORED, description="candidates to score")
    any_name: AnyName = False


class Batch(Body):
    """Many questions."""

    questions: list[QuestionText] = Field(max_length=1000)
    k: int = Field(10, ge=1, le=100, description="how many answers to each")
    known: KnownWay = "mark"
    any_name: AnyName = False

    @model_validator(mode="after")
    def _bounded(self) -> "Batch":
        if len(self.questions) * self.k > _MOST_ANSWERS:
            raise ValueError(
                f"at most {_MOST_ANSWERS:,} answers at once: fewer questions or less k"
            )
        return self

    @property
    def request(self) -> Request:
        """How they are to be answered."""
        return Request(self.k, self.known, not self.any_name)


class Ask(Body):
    """A query with several blanks."""

    query: str = Field(
        max_length=LONGEST,
        description="`?x : ?p | r | ?x | a = v and not ?p | s | o`; or as JSON or SPARQL, as text",
    )
    model: str = Field("", max_length=64, description="the run; not needed where there is one")
    k: int = Field(10, ge=1, le=100, description="how many answers")
    logic: Literal["product", "godel"] = "product"
    beam: int = Field(64, ge=1, le=256, description="candidates of a variable that are tried")
    milliseconds: int = Field(2000, ge=10, le=5000, description="stop then, with what is found")
    any_name: AnyName = False


class ChangeFacts(Body):
    """Facts that count as true from now on, and such that do so no more."""

    add: list[Text] = Field([], max_length=1000, description="each as `s | r | o | a = v`")
    remove: list[Text] = Field([], max_length=1000, description="of those that were added")
    model: str = Field("", max_length=64, description="the run; not needed where there is one")


class Query(BaseModel):
    """What stands behind the ? of an address: texts, of which some must read as numbers."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Search(Query):
    """Search for names."""

    kind: Literal["entity", "relation"] = "entity"
    q: str = Field("", max_length=LONGEST, description="what was typed so far")
    limit: int = Field(20, ge=1, le=100)


class Facts(Query):
    """The facts of an entity."""

    entity: Text
    offset: int = Field(0, ge=0, le=10**9)
    limit: int = Field(50, ge=1, le=500)


class Slots(Query):
    """What stands with a relation."""

    relation: Text


class RequestError(UserError):
    """A request that is not what the interface takes."""


Shape = TypeVar("Shape", bound=BaseModel)


def read_body(shape: type[Shape], body: bytes) -> Shape:
    """A request from the bytes of its body.

    Raises:
        RequestError: No JSON, or JSON of another shape.
    """
    return _checked(shape, _json(body))


def read_query(shape: type[Shape], pairs: list[tuple[str, str]]) -> Shape:
    """A request from the parameters of an address.

    Raises:
        RequestError: A parameter that stands twice, is unknown, missing or wrong.
    """
    return _checked(shape, _unique(pairs))


def _json(body: bytes) -> Any:
    try:
        return json.loads(body.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_refuse)
    except UnicodeDecodeError:
        raise RequestError("the body is not UTF-8") from None
    except RecursionError:
        raise RequestError("the body is nested too deeply") from None
    except RequestError:
        raise
    except ValueError:
        raise RequestError("the body is not JSON") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RequestError("a name stands twice")
    return found


def _refuse(text: str) -> None:
    raise RequestError(f"{text} is not JSON")


def _checked(shape: type[Shape], value: Any) -> Shape:
    try:
        return shape.model_validate(value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"])[:80]
        where = f"{ascii(place)[1:-1]}: " if place else ""
        raise RequestError(f"{where}{first['msg'][:200]}") from None
