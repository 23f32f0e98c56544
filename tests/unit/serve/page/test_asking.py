"""The question in fields, in the address and as text is one question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperfact.errors import UserError
from hyperfact.graph.facts import Fact, Literal
from hyperfact.graph.hkg import HKG, Splits
from hyperfact.graph.queries import Question
from hyperfact.predict import Predictor, RelationQuestion, read_any
from hyperfact.serve.asking import State, blanked, examples, form_of, question_of_form
from tests.support.names import HOSTILE
from tests.support.runs import league, untrained

FACT = Fact("a | b", "r = s", "?", (("", Literal("1")), ("+ x", "y")))


def test_every_place_of_a_fact_can_be_asked_for() -> None:
    found = {field: read_any(text) for field, text in blanked(FACT).items()}
    assert set(found) == {"s", "r", "o", "a1", "v1", "a2", "v2"}
    for field, question in found.items():
        name = {
            **{"s": FACT.subject, "r": FACT.relation, "o": FACT.object},
            **{f"a{i}": a for i, (a, _) in enumerate(FACT.qualifiers, start=1)},
            **{f"v{i}": v for i, (_, v) in enumerate(FACT.qualifiers, start=1)},
        }[field]
        assert question.answered(name) == FACT


def test_the_fields_hold_the_question() -> None:
    form = form_of(Question("a", "r", None, (("x", "y"),)))
    assert (form.subject.text, form.relation.text, form.object.blank) == ("a", "r", True)
    assert [(a.name, a.text, v.name, v.text) for a, v in form.qualifiers] == [
        ("a1", "x", "v1", "y")
    ]
    assert [field.name for field in form.spare] == ["a2", "v2"]
    form = form_of(RelationQuestion("a", "r", "b", ((None, "y"),)))
    assert form.qualifiers[0][0].blank
    assert form_of(None).object.blank


def names_only(*names: str) -> Predictor:
    facts = HKG.from_facts([Fact(name, name, name, ((name, name),)) for name in names])
    return Predictor.of(untrained(Splits({"train": facts})))


@pytest.mark.parametrize("blank", ["s", "r", "o", "a1", "v1"])
def test_a_form_with_any_name_gives_the_question_with_that_name(blank: str) -> None:
    names = [name for name in HOSTILE if name.strip()]
    predictor = names_only(*names)
    for name in names:
        params = dict.fromkeys(("s", "r", "o", "a1", "v1"), name) | {"blank": blank}
        question = read_any(question_of_form(params, predictor))
        assert question.answered(name) == Fact(name, name, name, ((name, name),))


def test_a_literal_is_found_by_its_text() -> None:
    predictor = names_only(Literal("1954"), "s", "r")
    text = question_of_form({"s": "s", "r": "r", "a1": "r", "v1": "1954"}, predictor)
    assert text == "s | r | ? | r = '1954'"


@given(
    st.builds(
        State,
        question=st.text(min_size=1).map(str.strip),
        k=st.integers(1, 100),
        known=st.sampled_from(["mark", "remove"]),
        any_name=st.booleans(),
        answer=st.none() | st.text(),
        answer_id=st.none() | st.integers(0, 2**31),
        changes=st.lists(st.text(min_size=1), max_size=3).map(tuple),
    )
)
def test_the_address_holds_the_whole_state(state: State) -> None:
    pairs = [(key, str(value)) for key, value in state.pairs() if value is not None]
    assert State.read(pairs) == state


@pytest.mark.parametrize("k", ["0", "101", "-1", "x", "٣", "9" * 40])
def test_a_number_out_of_range_is_refused(k: str) -> None:
    with pytest.raises(UserError, match="k is a number from 1 to 100"):
        State.read([("k", k)])


def test_examples_ask_for_different_places_of_held_out_facts() -> None:
    splits = league()
    found = examples(splits)
    assert len(found) == 4
    assert [isinstance(q, RelationQuestion) for q in found].count(True) == 1
    held = {(f.subject, f.object) for f in splits.test}
    assert any((q.subject, q.object) in held for q in found)
    assert examples(Splits({"train": splits.train[:1]}))
