"""The question as the page holds it: fields of a form, the text of the address, and back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from hyperfact.errors import UserError
from hyperfact.graph.facts import Fact, Vocabulary
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.labels import Kind, Labels
from hyperfact.graph.queries import Question
from hyperfact.graph.syntax import BLANK
from hyperfact.predict import Predictor, RelationQuestion, write_any
from hyperfact.predict.answers import Known, Request
from hyperfact.predict.questions import AnyQuestion
from hyperfact.serve.addresses import Value, address

QUALIFIERS = 24  # fields for so many at most
MOST = 100  # answers on a page
SUPPOSED = 8  # facts that a page supposes
_KNOWN = ("mark", "remove")


@dataclass(frozen=True)
class State:
    """What the address of a question says; the whole state of the page."""

    question: str = ""
    k: int = 10
    known: Known = "mark"
    any_name: bool = False  # also those whom training never shows in the asked role
    answer: str | None = None
    answer_id: int | None = None
    changes: tuple[str, ...] = ()
    also: tuple[str, ...] = ()  # facts that are supposed to be true too
    move: str = ""  # attribute whose number moves

    @classmethod
    def read(cls, params: Sequence[tuple[str, str]]) -> "State":
        """From the query of an address.

        Raises:
            UserError: A number that is none, or out of its range.
        """
        one = dict(params)
        known = one.get("known", "mark")
        if known not in _KNOWN:
            raise UserError(f"known is one of {', '.join(_KNOWN)}, got {known[:40]!r}")
        return cls(
            question=one.get("q", "").strip(),
            k=_number(one.get("k") or "10", "k", 1, MOST),
            known=known,  # type: ignore[arg-type]  # checked above
            any_name=one.get("any") == "1",
            answer=one.get("answer"),
            answer_id=_number(one["answer_id"], "answer_id", 0, 2**31)
            if "answer_id" in one
            else None,
            changes=tuple(value for key, value in params if key == "change" and value),
            also=tuple(dict.fromkeys(v for k, v in params if k == "also" and v.strip()))[:SUPPOSED],
            move=one.get("move", ""),
        )

    @property
    def request(self) -> Request:
        """How the question is to be answered."""
        return Request(self.k, self.known, not self.any_name)

    def pairs(self) -> list[tuple[str, Value]]:
        """The query of the address that `read` reads back."""
        return [
            ("q", self.question or None),
            ("k", self.k if self.k != 10 else None),
            ("known", self.known if self.known != "mark" else None),
            ("any", 1 if self.any_name else None),
            *(("also", fact) for fact in self.also),
            *(("change", change) for change in self.changes),
            ("move", self.move or None),
            ("answer", self.answer),
            ("answer_id", self.answer_id),
        ]

    def at(self, path: str) -> str:
        """The address of this state."""
        return address(path, self.pairs())

    def asking(self, question: str) -> "State":
        """Another question under the same settings."""
        return replace(self, question=question, answer=None, answer_id=None, changes=(), move="")

    def explaining(self, answer: str | None, number: int | None = None) -> "State":
        """The same with an answer to explain, or none."""
        return replace(self, answer=answer, answer_id=number)

    def supposing(self, facts: Sequence[str]) -> "State":
        """The same question if these facts were true too."""
        return replace(self, also=tuple(facts), answer=None, answer_id=None)

    def moving(self, attribute: str) -> "State":
        """The same with this number moved, or none."""
        return replace(self, move=attribute, answer=None, answer_id=None)

    def changed(self, changes: Sequence[str]) -> "State":
        """The same question with these changes."""
        return replace(self, changes=tuple(changes), answer=None, answer_id=None)


def _number(text: str, name: str, low: int, high: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 12 and low <= int(text) <= high):
        raise UserError(f"{name} is a number from {low} to {high}, got {text[:40]!r}")
    return int(text)


# -- fields of the form ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Field:
    """One place of a fact in the form."""

    name: str  # s, r, o, a1, v1, a2 …
    label: str
    kind: Kind
    text: str = ""
    blank: bool = False

    def by_label(self, labels: Labels) -> "Field":
        """The same with the label of its name."""
        return self if self.blank else replace(self, text=labels.typed(self.text, self.kind))


@dataclass(frozen=True)
class Form:
    """The fields of a question."""

    subject: Field
    relation: Field
    object: Field
    qualifiers: tuple[tuple[Field, Field], ...]
    spare: tuple[Field, Field]  # for one more qualifier

    def by_labels(self, labels: Labels) -> "Form":
        """The same with labels in place of names, as far as they can be read back."""
        s, r, o = (one.by_label(labels) for one in (self.subject, self.relation, self.object))
        pairs = [(a.by_label(labels), v.by_label(labels)) for a, v in self.qualifiers]
        return Form(s, r, o, tuple(pairs), self.spare)


def form_of(question: AnyQuestion | None, labels: Labels | None = None) -> Form:
    """The fields that hold this question, by labels; without one the object is blank."""
    if question is None:
        names: Sequence[str | None] = ("", "", None)
        pairs: Sequence[tuple[str | None, str | None]] = ()
    else:
        names, pairs = (question.subject, question.relation, question.object), question.qualifiers
    subject = _field("s", "subject", "entity", names[0])
    relation = _field("r", "relation", "relation", names[1])
    obj = _field("o", "object", "entity", names[2])
    rows = [_row(i, a, v) for i, (a, v) in enumerate(pairs, start=1)]
    form = Form(subject, relation, obj, tuple(rows), _row(len(rows) + 1, "", ""))
    return form if labels is None else form.by_labels(labels)


def _field(name: str, label: str, kind: Kind, text: str | None) -> Field:
    return Field(name, label, kind, text or "", blank=text is None)


def _row(number: int, attribute: str | None, value: str | None) -> tuple[Field, Field]:
    return (
        _field(f"a{number}", f"attribute {number}", "relation", attribute),
        _field(f"v{number}", f"value {number}", "entity", value),
    )


def form_of_text(text: str) -> Form:
    """The fields that hold a text which is no question, as far as it goes; nothing is refused."""

    def name(part: str) -> str | None:
        return None if part.strip() == BLANK else part.strip()

    parts = text.split("|")[: 3 + QUALIFIERS]
    subject, relation, obj = (name(part) for part in (*parts, "", "", "")[:3])
    sides = [part.partition("=") for part in parts[3:]]
    pairs = tuple((name(attribute), name(value)) for attribute, _, value in sides)
    if not obj and None not in (subject, relation, *(one for pair in pairs for one in pair)):
        obj = None
    return form_of(question_of(subject, relation, obj, pairs))


def question_of_form(params: Mapping[str, str], predictor: Predictor) -> str:
    """The text of the question that the fields of a form hold.

    Raises:
        UserError: A field that must hold something is empty.
    """
    blank = params.get("blank", "o")

    vocabularies = {"entity": predictor.entities, "relation": predictor.relations}

    def name(field: str, label: str, kind: Kind) -> str | None:
        if field == blank:
            return None
        text, names = params.get(field, ""), vocabularies[kind]
        if text not in names and not text.strip():
            raise UserError(f"the {label} is empty; fill it in, or put the blank there")
        known = _known(text, names)
        return names[known] if known is not None else predictor.labels.meant(text.strip(), kind)

    subject, relation = name("s", "subject", "entity"), name("r", "relation", "relation")
    obj = name("o", "object", "entity")
    pairs: list[tuple[str | None, str | None]] = []
    for i in range(1, QUALIFIERS + 1):
        fields = (f"a{i}", f"v{i}")
        if blank in fields or any(params.get(field, "").strip() for field in fields):
            attribute = name(fields[0], f"attribute of qualifier {i}", "relation")
            pairs.append((attribute, name(fields[1], f"value of qualifier {i}", "entity")))
    return write_any(question_of(subject, relation, obj, tuple(pairs)))


def _known(text: str, names: Vocabulary) -> int | None:
    """The name in the vocabulary that a person wrote, if it is one."""
    found = names.get(text)
    return names.get(text.strip()) if found is None else found


def question_of(
    subject: str | None,
    relation: str | None,
    obj: str | None,
    pairs: tuple[tuple[str | None, str | None], ...],
) -> AnyQuestion:
    """The question with None where its blank is; how many blanks there are is not looked at."""
    if relation is None or any(attribute is None for attribute, _ in pairs):
        return RelationQuestion(subject, relation, obj, pairs)  # type: ignore[arg-type]  # looked up later
    return Question(subject, relation, obj, pairs)  # type: ignore[arg-type]  # no attribute is None


# -- questions from facts -------------------------------------------------------------------------


def blanked(fact: Fact) -> dict[str, str]:
    """For each field of a fact the question that asks for it."""
    s, r, o = fact.primary
    found = {
        "s": question_of(None, r, o, fact.qualifiers),
        "r": question_of(s, None, o, fact.qualifiers),
        "o": question_of(s, r, None, fact.qualifiers),
    }
    for i, (a, v) in enumerate(fact.qualifiers):
        before, after = fact.qualifiers[:i], fact.qualifiers[i + 1 :]
        found[f"a{i + 1}"] = question_of(s, r, o, (*before, (None, v), *after))
        found[f"v{i + 1}"] = question_of(s, r, o, (*before, (a, None), *after))
    return {field: write_any(question) for field, question in found.items()}


def examples(splits: Splits, count: int = 4) -> list[AnyQuestion]:
    """Questions to begin with, about facts that were held out, with the blank in turn elsewhere.

    The first of them leaves all qualifiers out, as people do.
    """
    source = next((part for part in (splits.test, splits.valid) if len(part)), splits.all)
    turns = ("o", "v1", "s", "r")
    found: list[AnyQuestion] = []
    for fact, field in zip(_different(source, count), turns * count, strict=False):
        pairs = fact.qualifiers
        if field == "v1" and pairs:
            question = question_of(*fact.primary, ((pairs[0][0], None), *pairs[1:]))
        else:
            question = question_of(
                None if field == "s" else fact.subject,
                None if field == "r" else fact.relation,
                None if field in ("o", "v1") else fact.object,
                pairs if found else (),
            )
        found.append(question)
    return found


def _different(hkg: HKG, count: int) -> Iterator[Fact]:
    """Facts of different relations where there are enough, those with qualifiers first."""
    rows = sorted(range(min(len(hkg), 2000)), key=lambda i: (-int(hkg.num_qualifiers[i] > 0), i))
    firsts: dict[int, int] = {}
    for row in rows:
        firsts.setdefault(int(hkg.columns.relation[row]), row)
    chosen = list(firsts.values())[:count]
    chosen += [row for row in rows if row not in chosen][: count - len(chosen)]
    return (hkg[row] for row in chosen)
