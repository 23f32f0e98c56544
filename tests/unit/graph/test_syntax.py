import pytest
from hypothesis import given
from hypothesis import strategies as st

from hyperfact.errors import FactSyntaxError
from hyperfact.graph.facts import Fact, Literal, Slot
from hyperfact.graph.queries import read_fact, read_question
from tests.support.graphs import hkgs
from tests.support.names import HOSTILE

NAMES = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(codec="utf-8")))


def test_a_fact_and_a_question_are_read() -> None:
    fact = read_fact("Hank Aaron|played for |  Milwaukee Braves | position=OF")
    assert fact == Fact("Hank Aaron", "played for", "Milwaukee Braves", (("position", "OF"),))
    question = read_question("Hank Aaron | played for | ? | position = OF")
    assert question.slot == Slot.OBJECT
    assert question.answered("Milwaukee Braves") == fact
    assert read_question("s | r | o | a = v | b = ?").slot == Slot.value(2)
    assert read_question('"?" | r | ?').subject == "?"


@given(hkgs())
def test_what_is_printed_is_read_back(graph) -> None:  # type: ignore[no-untyped-def]
    for fact in graph:
        assert read_fact(str(fact)) == fact


@given(NAMES, NAMES, NAMES, NAMES, NAMES)
def test_any_name_can_be_written(s: str, r: str, o: str, a: str, v: str) -> None:
    fact = Fact(s, r, o, ((a, v), (a, Literal(v))))
    assert read_fact(str(fact)) == fact


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "a name is missing"),
        ("s", "got 1 field"),
        ("s | r", "got 2 field"),
        ("s | | o", "a name is missing at character 5"),
        ("s | r | o |", "a name is missing"),
        ("s | r | o | a", "qualifier 1 is not"),
        ("s | r | o | a = v = w", "qualifier 1 is not"),
        ("s = t | r | o", "the subject holds '='"),
        ('s | "r | o', "is not closed"),
        ('s | "r" x | o', "expected '|' or '='"),
        (r'"\x" | r | o', "wrong escape"),
        ("s | r | ?", "a fact has no blank"),
    ],
)
def test_a_wrong_fact_says_what_is_wrong(text: str, reason: str) -> None:
    with pytest.raises(FactSyntaxError, match=reason.replace("?", r"\?").replace("|", r"\|")):
        read_fact(text)


@pytest.mark.parametrize("text", ["s | r | o", "? | r | ?", "s | ? | o", "s | r | o | ? = v"])
def test_a_question_has_one_blank_entity(text: str) -> None:
    with pytest.raises(FactSyntaxError):
        read_question(text)
