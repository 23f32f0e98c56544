"""What the page of a question shows: answers, moves, an explanation, ways to change it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hyperfact.draw.pages.moved_chart import HUES, MovedChart, moved_chart
from hyperfact.errors import UnknownNameError, UserError
from hyperfact.graph.queries import Question
from hyperfact.predict import Answer, Answers, RelationQuestion, read_any, write_any
from hyperfact.predict.explain import Change, Explanation, WhatIf, explain, read_change
from hyperfact.predict.moving import movable, move
from hyperfact.predict.questions import AnyQuestion, ResolvedQuestion
from hyperfact.predict.whatif import whatif
from hyperfact.serve.addresses import LONGEST, entity_address, frame, home_of, reason
from hyperfact.serve.asking import (
    QUALIFIERS,
    Form,
    State,
    examples,
    form_of,
    form_of_text,
    question_of,
)
from hyperfact.serve.opened import Served

_SUGGESTED = 6


@dataclass(frozen=True)
class Row:
    """One answer of the list."""

    answer: Answer
    why: str  # address of its explanation
    page: str | None  # of the entity
    open: bool  # whether it is explained
    before: int | None = None  # rank in the question as it was
    rise: int = 0
    probability_before: float = 0.0


@dataclass(frozen=True)
class Chip:
    """A qualifier that can be left out or put back."""

    attribute: str
    value: str
    state: str  # kept, removed, added
    toggle: str  # address with the other state


def ask_view(served: Served, state: State) -> dict[str, Any]:
    """Everything that the template of a question needs.

    Raises:
        UserError: A question or a change that cannot be read, or a name nobody has.
    """
    view = {**_frame(served, state), "may_suppose": served.most_facts > 0}
    if not state.question:
        return {**view, "form": form_of(None), "found": None, "examples": _examples(served, state)}
    with served.lock:
        asked, moves = served.predictor.resolve(state.question), None
        if state.changes:
            moves = whatif(
                served.predictor,
                asked,
                state.changes,
                k=state.k,
                known=state.known,
                restrict_range=not state.any_name,
            )
            found = moves.after
        else:
            found = served.predictor.answer([asked], state.request)[0]
        why = _explanation(served, state, found)
        moved = _moved(served, state, asked)
    question = asked.question
    chips = _chips(question, state, home_of(served.name))
    return {
        **view,
        "form": form_of(question, served.predictor.labels),
        "found": found,
        "rows": _rows(served, state, found, moves, why),
        "moves": moves,
        "moved": moved,
        "movers": _movers(served, state, question),
        "still": state.moving("").at(home_of(served.name)),
        "why": why,
        "chips": chips,
        "suggested": _attributes(served, found.question),
        "kind": "relation" if isinstance(question, RelationQuestion) else "entity",
        "canonical": write_any(found.question),
        "csv": state.asking(write_any(found.question)).at(f"{home_of(served.name)}/answers.csv"),
        "keep": state.asking(write_any(found.question)).at(home_of(served.name)),
        "close": state.explaining(None).at(home_of(served.name)),
        "reset": state.changed(()).at(home_of(served.name)),
        "supposed": [
            (fact, state.supposing([f for f in state.also if f != fact]).at(home_of(served.name)))
            for fact in state.also
        ],
    }


def refused_view(
    served: Served, state: State, params: Mapping[str, str], error: UserError
) -> dict[str, Any]:
    """The same page with what is wrong, and the form as it was filled in."""
    form = _form_again(state, params)
    near = error.nearest if isinstance(error, UnknownNameError) else None
    repaired = None
    if near is not None and state.question and isinstance(error, UnknownNameError):
        repaired = _repaired(state, error.name, near)
    return {
        **_frame(served, state),
        "form": form,
        "found": None,
        "error": reason(error) if repaired is not None else str(error),
        "near": near,
        "repaired": None if repaired is None else repaired.at(home_of(served.name)),
        "examples": _examples(served, State()),
    }


def changed_by_form(served: Served, state: State, params: Mapping[str, str]) -> State:
    """The state with the qualifier that the form of the what-if adds."""
    attribute, value = (params.get(key, "").strip() for key in ("add_a", "add_v"))
    if not attribute or not value:
        raise UserError("a qualifier needs an attribute and a value")
    change = Change("add", attribute, value).renamed(served.predictor.labels)
    return state.changed((*state.changes, str(change)))


def _frame(served: Served, state: State) -> dict[str, Any]:
    return {
        **frame(served, "ask"),
        "state": state,
        "error": None,
        "near": None,
        "repaired": None,
        "why": None,
        "moves": None,
    }


def _examples(served: Served, state: State) -> list[tuple[AnyQuestion, str]]:
    home = home_of(served.name)
    found = examples(served.predictor.splits)
    links = [(question, state.asking(write_any(question)).at(home)) for question in found]
    return [(question, link) for question, link in links if len(link) <= LONGEST]


def _form_again(state: State, params: Mapping[str, str]) -> Form:
    """The fields with what a person typed, whether it makes sense or not."""
    if state.question:
        try:
            return form_of(read_any(state.question))
        except UserError:
            return form_of_text(state.question)
    blank = params.get("blank", "o")

    def text(field: str) -> str | None:
        return None if field == blank else params.get(field, "")

    pairs = [(text(f"a{i}"), text(f"v{i}")) for i in range(1, QUALIFIERS + 1)]
    kept = [pair for pair in pairs if pair != ("", "")]
    return form_of(Question(text("s"), text("r"), text("o"), tuple(kept)))  # type: ignore[arg-type]  # any field may be blank


def _repaired(state: State, name: str, near: str) -> State | None:
    """The same question with the nearest name in place of an unknown one."""
    try:
        question = read_any(state.question)
    except UserError:
        return None

    def repair(text: str | None) -> str | None:
        return near if text == name else text

    pairs = tuple((repair(a), repair(v)) for a, v in question.qualifiers)
    names = (repair(question.subject), repair(question.relation), repair(question.object))
    return state.asking(write_any(question_of(*names, pairs)))


# -- answers --------------------------------------------------------------------------------------


def _rows(
    served: Served, state: State, found: Answers, moves: WhatIf | None, why: Explanation | None
) -> list[Row]:
    home, names = home_of(served.name), found.names
    before = {} if moves is None else {move.name: move for move in moves.moves}
    relation = names is served.predictor.relations
    rows = []
    for answer, number in zip(found, found.ids.tolist(), strict=True):
        link = state.explaining(answer.name).at(home)
        if len(link) > LONGEST:
            link = state.explaining(None, number).at(home)
        move = before.get(answer.name)
        rows.append(
            Row(
                answer,
                link,
                None if relation else entity_address(home, answer.name, number),
                open=why is not None and why.answer == answer.name,
                before=None if move is None else move.before,
                rise=0 if move is None else move.rise,
                probability_before=0.0 if move is None else move.probability_before,
            )
        )
    return rows


def _explanation(served: Served, state: State, found: Answers) -> Explanation | None:
    answer = state.answer
    if state.answer_id is not None:
        if state.answer_id >= len(found.names):
            raise UserError(f"there is no answer with the number {state.answer_id}")
        answer = found.names[state.answer_id]
    if answer is None:
        return None
    return explain(served.predictor, found.asked, answer, request=state.request)


# -- what if --------------------------------------------------------------------------------------


def _chips(question: AnyQuestion, state: State, home: str) -> list[Chip]:
    """The qualifiers of the question and those that were added, each with its switch."""
    chips = []
    for attribute, value in question.qualifiers:
        if attribute is None or value is None:
            continue
        change = str(Change("remove", attribute, value))
        chips.append(_chip(attribute, value, change, state, home, kinds=("kept", "removed")))
    own = {str(Change("remove", c.attribute, c.value)) for c in chips}
    for change in state.changes:
        if change not in own:
            read = read_change(change)
            other = tuple(c for c in state.changes if c != change)
            link = state.changed(other).at(home)
            chips.append(Chip(read.attribute, read.value, "added", link))
    return chips


def _chip(
    attribute: str, value: str, change: str, state: State, home: str, *, kinds: Sequence[str]
) -> Chip:
    removed = change in state.changes
    rest = tuple(c for c in state.changes if c != change)
    other = rest if removed else (*state.changes, change)
    return Chip(attribute, value, kinds[int(removed)], state.changed(other).at(home))


def _movers(served: Served, state: State, question: AnyQuestion) -> list[tuple[str, str]]:
    """Attributes of the question, or of its relation, whose number can move, and the address."""
    if question.relation is None:
        return []
    fixed = [attribute for attribute, value in question.qualifiers if value is not None]
    asked = {attribute for attribute, value in question.qualifiers if value is None}
    others = [one.name for one in served.attributes_of(question.relation) if one.name not in asked]
    numbers = set(movable(served.predictor))
    chosen = [name for name in dict.fromkeys([*fixed, *others]) if name in numbers][:_SUGGESTED]
    return [(name, state.moving(name).at(home_of(served.name))) for name in chosen if name]


def _moved(served: Served, state: State, asked: ResolvedQuestion) -> MovedChart | None:
    """How the answers change while a number moves."""
    if not state.move:
        return None
    known, in_range = state.known, not state.any_name
    found = move(served.predictor, asked, state.move, k=HUES, known=known, restrict_range=in_range)
    columns = list(zip(found.labels, found.probabilities.T.tolist(), strict=True))
    numbers = [number.value for number in found.numbers]
    labels = [served.predictor.labels.show(value) for value in found.values]
    return moved_chart(found.attribute, numbers, labels, columns, found.at)


def _attributes(served: Served, question: AnyQuestion) -> list[str]:
    """Attributes that facts of this relation have and the question has not."""
    if question.relation is None:
        return []
    used = {attribute for attribute, _ in question.qualifiers}
    found = served.attributes_of(question.relation)
    return [one.label for one in found if one.name not in used][:_SUGGESTED]
