import pytest

from hyperfact.errors import DataError, UnknownNameError
from hyperfact.graph.facts import Derived, Fact, Literal, Slot, Vocabulary


def test_a_fact_prints_as_people_write_it() -> None:
    fact = Fact("Hank Aaron", "played for", "Milwaukee Braves", (("position", "OF"),))
    assert str(fact) == "Hank Aaron | played for | Milwaukee Braves | position = OF"


def test_the_order_of_qualifiers_does_not_make_another_fact() -> None:
    pairs = (("a", "x"), ("b", "y"))
    assert Fact("s", "r", "o", pairs) == Fact("s", "r", "o", pairs[::-1])
    assert hash(Fact("s", "r", "o", pairs)) == hash(Fact("s", "r", "o", pairs[::-1]))
    assert Fact("s", "r", "o", pairs) != Fact("s", "r", "o", pairs[:1])


def test_a_literal_is_never_the_entity_with_its_text() -> None:
    assert Literal("5") != "5"
    assert "5" != Literal("5")  # noqa: SIM300 -- both orders matter here
    assert Literal("5") == Literal("5")
    assert len({"5", Literal("5"), Literal("5")}) == 2
    assert str(Fact("s", "r", Literal("5"))) == "s | r | '5'"


def test_a_derived_relation_can_be_read_back() -> None:
    primary, attribute = Derived.primary("team_roster"), Derived.attribute("team_roster", 12)
    assert (primary, primary.base, primary.role) == ("team_roster_so", "team_roster", "so")
    assert (attribute, attribute.base, attribute.role) == ("team_roster_12", "team_roster", "12")


def test_slots_have_names_and_an_order() -> None:
    slots = [Slot.SUBJECT, Slot.OBJECT, Slot.value(1), Slot.value(2)]
    assert [str(s) for s in slots] == ["subject", "object", "value 1", "value 2"]
    assert sorted([slots[2], slots[0], slots[3], slots[1]]) == slots


def test_a_vocabulary_knows_its_names() -> None:
    names = Vocabulary(["b", "a", Literal("a")])
    assert [names.id(n) for n in names] == [0, 1, 2]
    assert names.get("c") is None
    assert "a" in names
    assert names == Vocabulary(["b", "a", Literal("a")])
    assert names != Vocabulary(["a", "b", Literal("a")])
    assert repr(Vocabulary("abcd")) == "Vocabulary(4 names: 'a', 'b', 'c', …)"


def test_a_literal_is_found_by_its_text_when_no_entity_has_it() -> None:
    assert Vocabulary(["x", Literal("5")]).id("5") == 1
    assert Vocabulary([Literal("5"), "5"]).id("5") == 1


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'Hank Aaron'"):
        Vocabulary(["Hank Aaron", "Babe Ruth"]).id("Hank Aron", "entity")


def test_a_name_twice_is_refused() -> None:
    with pytest.raises(DataError, match="'a' stands twice"):
        Vocabulary(["a", "b", "a"])
