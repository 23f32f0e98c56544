"""Labels: how names are shown, and which name is meant by a label."""

import pytest

from hyperfact.errors import UnknownNameError, UserError
from hyperfact.graph.facts import Derived, Fact, Literal, Vocabulary
from hyperfact.graph.label_texts import LabelCollector, LabelTexts
from hyperfact.graph.labels import Labels

WD = "http://www.wikidata.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
TEXTS = LabelTexts.of(
    [
        ("Q42", "Douglas\n Adams"),
        ("Q1", "Mercury"),
        ("Q2", "Mercury"),
        ("Q3", "Q42"),
        (f"{WD}entity/P69", "educated at"),
        ("Q11573", "metre"),
    ],
    {"ex": "http://example.org/"},
)
ENTITIES = Vocabulary(
    [
        *("Q1", "Q2", "Q3", "Q42", "plain", "http://example.org/a", "http://a.org/x"),
        *("http://b.org/x", "http://b.org/y", f"{WD}entity/Q937"),
        *(Literal(f'"1971"^^<{XSD}gYear>'), Literal('"chat"@fr'), Literal("bare")),
    ]
)
RELATIONS = Vocabulary(["P69", f"{WD}prop/direct/P19", Derived("P69_so")])


@pytest.fixture
def labels() -> Labels:
    return Labels(TEXTS, ENTITIES, RELATIONS)


@pytest.mark.parametrize(
    ("name", "shown", "full"),
    [
        ("Q42", "Douglas Adams", "Douglas Adams (Q42)"),
        ("Q1", "Mercury (Q1)", "Mercury (Q1)"),  # two have this label
        ("Q3", "Q42 (Q3)", "Q42 (Q3)"),  # the label is another's name
        ("plain", "plain", "plain"),
        (f"{WD}entity/Q937", "wd:Q937", "wd:Q937"),
        (f"{WD}entity/Q42", "Douglas Adams", "Douglas Adams (wd:Q42)"),
        (f"{WD}prop/direct/P19", "wdt:P19", "wdt:P19"),
        ("P69", "educated at", "educated at (P69)"),
        (Derived("P69_so"), "educated at (so)", "educated at (so) (P69_so)"),
        ("http://example.org/a", "ex:a", "ex:a"),
        ("http://b.org/y", "y", "y"),
        ("http://a.org/x", "http://a.org/x", "http://a.org/x"),  # two end so
    ],
)
def test_a_name_is_shown_by_label_prefix_or_segment(
    labels: Labels, name: str, shown: str, full: str
) -> None:
    assert (labels.show(name), labels.full(name)) == (shown, full)


@pytest.mark.parametrize(
    ("literal", "shown"),
    [
        (f'"1954-02-05"^^<{XSD}date>', "1954-02-05"),
        (f'"1956-10-21T12:30:00Z"^^<{XSD}dateTime>', "1956-10-21 12:30 UTC"),
        (f'"2013-01-01T00:00:00"^^<{XSD}dateTime>', "2013-01-01"),
        ('"1949-12-25"^^xsd:date', "1949-12-25"),
        ("+1964-00-00T00:00:00Z", "1964"),
        ("+00000002014-01-01T00:00:00Z", "2014-01-01"),
        (f"+1915-01-01T00:00:00Z#0#0#0#9#{WD}entity/Q1985727", "1915"),
        ('"+1850-00-00T00:00:00Z#0#0#0#7#x"^^<http://wikiba.se/ontology#Time>', "19th century"),
        ('"+1884-00-00T00:00:00Z#0#0#0#8#x"^^<http://wikiba.se/ontology#Time>', "1880s"),
        ('"-0044-03-00T00:00:00Z#0#0#0#9#x"^^<http://wikiba.se/ontology#Time>', "44 BC"),
        ('"3.5"^^xsd:decimal', "3.5"),
        ('"chat"@fr', "chat (fr)"),
        ('"a\\"b"', 'a"b'),
        (f'"+5"^^<{WD}entity/Q11573>', "5 metre"),
        (f"+5#{WD}entity/Q999", "5 Q999"),
        ('"+5[+4,+6]"^^<http://wikiba.se/ontology#Quantity>', "5 (4 to 6)"),
        ('"3.73"^^<km2>', "3.73 km2"),
        ('"48.8,-2.3#0.1#earth"^^<http://wikiba.se/ontology#GlobeCoordinate>', "48.8° N, 2.3° W"),
        ('"Point(2.3 48.8)"^^<http://x#wktLiteral>', "48.8° N, 2.3° E"),
        ("bare", "bare"),
        ('"broken', '"broken'),
        ("+", "+"),
        ("", ""),
    ],
)
def test_a_literal_is_shown_as_a_person_writes_it(labels: Labels, literal: str, shown: str) -> None:
    assert labels.show(Literal(literal)) == shown


def test_a_fact_is_shown_in_the_syntax_of_facts(labels: Labels) -> None:
    year = Literal(f'"1971"^^<{XSD}gYear>')
    assert labels.fact(Fact("Q42", "P69", "a|b", (("P69", year),))) == (
        'Douglas Adams | educated at | "a|b" | educated at = 1971'
    )


@pytest.mark.parametrize("text", ["Q42", "Douglas Adams", "Douglas Adams (Q42)"])
def test_a_person_may_type_what_is_shown(labels: Labels, text: str) -> None:
    assert labels.meant(text, "entity") == "Q42"


@pytest.mark.parametrize("name", ENTITIES)
def test_what_may_be_typed_means_the_name(labels: Labels, name: str) -> None:
    found = labels.find(labels.typed(name, "entity"), "entity")
    assert found is not None
    assert ENTITIES.get(found) == ENTITIES.get(name)


def test_a_label_of_several_is_an_error_that_says_which(labels: Labels) -> None:
    with pytest.raises(UserError, match="'Mercury' may be Q1, Q2; name one of them"):
        labels.meant("Mercury", "entity")


def test_a_misspelt_label_is_an_error_that_says_the_nearest(labels: Labels) -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'Douglas Adams'"):
        labels.meant("Duglas Adams", "entity")
    assert labels.meant("nothing like it", "entity") == "nothing like it"


def test_search_finds_labels_and_ids(labels: Labels) -> None:
    weights = [0] * len(ENTITIES)
    index = labels.search("entity")
    assert ENTITIES[index.search("adams", 1, weights=weights)[0]] == "Q42"
    assert ENTITIES[index.search("q937", 1, weights=weights)[0]] == f"{WD}entity/Q937"


def test_english_goes_before_untagged_and_both_before_others() -> None:
    collected = LabelCollector()
    for text, language in (("Chat", "fr"), ("Cat", ""), ("cat", "en"), ("Katze", "de")):
        collected.add("Q146", text, language)
    assert collected.used_by(["Q146"]).texts == {"Q146": "cat"}
    assert not collected.used_by(["Q1"])


def test_only_prefixes_that_shorten_a_name_are_kept() -> None:
    assert TEXTS.used_by(ENTITIES).prefixes == {"ex": "http://example.org/"}
    assert not TEXTS.used_by(["x"])
