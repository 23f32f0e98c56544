"""Changes of a question: a qualifier added, removed, or given another value.

    + attribute = value     add this qualifier
    - attribute = value     remove it
    attribute = value       the qualifier of this attribute gets this value

An attribute that begins with + or - stands in double quotes, as names that would be misread do.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal as OneOf

from hyperfact.errors import FactSyntaxError, UserError
from hyperfact.graph.facts import name_of, show
from hyperfact.graph.labels import Labels
from hyperfact.graph.syntax import parse
from hyperfact.predict.questions import AnyQuestion, RelationQuestion, write_any

_ACTIONS = {"+": "add", "-": "remove"}


@dataclass(frozen=True)
class Change:
    """One change of one qualifier."""

    action: OneOf["add", "remove", "set"]
    attribute: str
    value: str

    def renamed(self, labels: Labels) -> "Change":
        """The change by the names that are meant, where it has labels."""
        attribute, value = labels.meant(self.attribute, "relation"), self.value
        return replace(self, attribute=attribute, value=labels.meant(value, "entity"))

    def __str__(self) -> str:
        sign = {"add": "+ ", "remove": "- ", "set": ""}[self.action]
        attribute = show(self.attribute)
        if attribute[0] in _ACTIONS:  # bare, it would be read as a sign
            attribute = json.dumps(self.attribute, ensure_ascii=False)
        return f"{sign}{attribute} = {show(self.value)}"


def read_change(text: str) -> Change:
    """Read one change.

    Raises:
        FactSyntaxError: Text that is no change.
    """
    stripped = text.strip(" \t")
    action = _ACTIONS.get(stripped[:1], "set")
    pair = stripped[1:] if action != "set" else stripped
    try:
        written = parse(f"s | r | o | {pair}")
    except FactSyntaxError:
        written = None
    if written is None or len(written.qualifiers) != 1 or written.blanks:
        raise FactSyntaxError(
            f"{text!r}: a change is '+ attribute = value', '- attribute = value' "
            "or 'attribute = new value'"
        )
    attribute, value = (name_of(token) for token in written.qualifiers[0])
    return Change(action, attribute, value)  # type: ignore[arg-type]  # one of the three


def apply_changes(question: AnyQuestion, changes: Sequence[Change]) -> AnyQuestion:
    """The question after all changes, one after the other.

    Raises:
        UserError: A change that does not fit the question.
    """
    for change in changes:
        question = _apply(question, change)
    return question


def _apply(question: AnyQuestion, change: Change) -> AnyQuestion:
    pairs: list[tuple[str | None, str | None]] = list(question.qualifiers)
    new = (change.attribute, change.value)
    if change.action == "add":
        if new in pairs:
            raise UserError(f"{change}: the question has this qualifier already")
        pairs.append(new)
    else:
        at = _find(question, pairs, change)
        pairs[at : at + 1] = [] if change.action == "remove" else [new]
    if isinstance(question, RelationQuestion):
        return replace(question, qualifiers=tuple(pairs))  # type: ignore[arg-type]  # values stay known
    return replace(question, qualifiers=tuple(pairs))  # type: ignore[arg-type]  # attributes stay known


def _find(
    question: AnyQuestion, pairs: Sequence[tuple[str | None, str | None]], change: Change
) -> int:
    """The place of the qualifier that a change is about; never the one with the blank."""
    fits = [
        i
        for i, (a, v) in enumerate(pairs)
        if a == change.attribute
        and v is not None
        and (change.action == "set" or str(v) == str(change.value))
    ]
    if len(fits) != 1:
        number = "no such qualifier" if not fits else f"{len(fits)} such qualifiers"
        raise UserError(f"{change}: the question '{write_any(question)}' has {number}")
    return fits[0]
