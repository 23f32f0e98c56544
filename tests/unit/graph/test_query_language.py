"""Queries as text, as JSON, as SPARQL and as Python: one meaning, and errors that say the place."""

import json
import random

import pytest

from hyperfact.errors import FactSyntaxError, QuerySyntaxError, UserError
from hyperfact.graph.language.any_query import any_query
from hyperfact.graph.language.formula import And, Atom, Formula, Not, Or, Query, fact, variables
from hyperfact.graph.language.query_json import query_from_json, query_to_json
from hyperfact.graph.language.query_text import read_query
from hyperfact.graph.language.sparql import read_sparql
from tests.support.logic import random_query
from tests.support.names import HOSTILE

X, P = variables("x p")
STUDIED = Query(X, fact(P, "educated at", X, {"degree": "PhD"}) & ~fact(P, "born in", "USA"))


@pytest.mark.parametrize(
    "text",
    [
        "?x : ?p | educated at | ?x | degree = PhD and not ?p | born in | USA",
        "?x:\n  ?p | educated at | ?x | degree = PhD\n  and not ?p | born in | USA\n",
        "?x : (?p | educated at | ?x | degree = PhD) and not (?p | born in | USA)",
        "SELECT ?x WHERE { ?p <educated%20at> ?x {| <degree> <PhD> |} . "
        "FILTER NOT EXISTS { ?p <born%20in> <USA> } }",
        "select distinct ?x { << ?p <educated%20at> ?x >> <degree> 'PhD' . MINUS { ?p <born%20in> "
        "<USA> } }",
        "PREFIX e: <educated%20> SELECT ?x { ?f rdf:reifies <<( ?p <educated%20at> ?x )>> . "
        "?f <degree> :PhD FILTER NOT EXISTS { ?p <born%20in> :USA . } }",
        json.dumps(query_to_json(STUDIED)),
    ],
)
def test_one_query_in_every_form(text: str) -> None:
    assert any_query(text) == STUDIED


def test_writing_and_reading_are_inverse() -> None:
    rng = random.Random(3)
    for _ in range(200):
        query = random_query(rng)
        read = read_query(str(query))  # an `or` inside an `or` becomes one
        assert read_query(str(read)) == read
        assert list(read.where.atoms) == list(query.where.atoms)
        assert query_from_json(json.loads(json.dumps(query_to_json(query)))) == query


@pytest.mark.parametrize("name", [*HOSTILE, "?x", "a and b", "not c", "(d", "e)", "f (g)", "or"])
def test_any_name_can_stand_in_a_query(name: str) -> None:
    query = Query(X, Atom(name, "r", X, (("a", name),)) & Not(Atom(X, name, name)))
    assert read_query(str(query)) == query


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("? | in | Trinidad and Tobago", fact("?", "in", "Trinidad and Tobago")),
        ("? | in | Trinidad and Tobago | a = v or w", None),
        ("? | in | Georgia (country)", None),
        ("s | r | o | a = ?", None),
        ("s | ? | o", None),
        ("s | r | o | ? = v", None),
    ],
)
def test_a_question_with_one_blank_is_a_query(text: str, where: Formula | None) -> None:
    query = read_query(text)
    assert query.asked.name == ""
    assert isinstance(query.where, Atom)
    if where is not None:
        assert isinstance(where, Atom)
        assert query.where.object == where.object


@pytest.mark.parametrize(
    ("text", "left", "right"),
    [
        ("?x : ?x | r | A and B | s | ?x", "A", "B"),
        ("?x : a | r | Trinidad and Tobago and ?x | s | b", "Trinidad and Tobago", "?x"),
        ("?x : a | r | ?x and B and C | s | ?x", "?x", "B and C"),
        ('?x : a | r | A and B and "C | D" | s | ?x', "A and B", "C | D"),
    ],
)
def test_the_joint_between_facts_is_found(text: str, left: str, right: str) -> None:
    where = read_query(text).where
    assert isinstance(where, And)
    first, second = where.atoms
    assert (str(first.object), str(second.subject)) == (left, right)


def test_or_binds_less_than_and() -> None:
    where = read_query("?x : a | r | ?x or b | r | ?x and not c | r | ?x").where
    assert isinstance(where, Or)
    assert isinstance(where.parts[1], And)
    assert isinstance(where.parts[1].parts[1], Not)


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("a | r", 5, "expected '|'"),
        ("?x : ?x | r | a b | s | c", 18, "expected 'and' or 'or'"),
        ("?x : (a | r | ?x", 16, "for the '(' of character 6"),
        ("?x : a | r | ?x)", 15, "or the end"),
        ("?x : a | r | ?x | b", 16, "and a fact before"),
        ("?x : a | r | ?x | q = ", 22, "a value is missing"),
        ("?x y | r | b", 0, "a variable is"),
        ("?x : a | r | ?y", 0, "stands in no fact"),
        ("? | r | ?", 0, "has one blank"),
        ("?x | r | ?y", 0, "begin with who"),
        ("?x : A | r | B and C and D | s | ?x", 13, "more than one"),
        ('?x : a | r | "b', 13, "not closed"),
        ("SELECT ?x { ?x ?p ?y }", 15, "must be known"),
        ("SELECT ?x { ?x <a> ?y } LIMIT 3", 24, "are not read"),
        ("SELECT ?x { OPTIONAL { ?x <a> ?y } }", 12, "OPTIONAL is not read"),
        ("SELECT ?x { ?x <a> ?y . FILTER(?y > 3) }", 30, "only NOT EXISTS"),
        ("SELECT ?x { ?x <a> ~ }", 19, "no sign"),
    ],
)
def test_errors_say_the_place(text: str, place: int, words: str) -> None:
    with pytest.raises(QuerySyntaxError, match="character") as caught:
        any_query(text)
    assert words in str(caught.value)
    assert caught.value.place == place


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"find": "x"}, "the query: expected"),
        ({"find": 3, "where": {}}, "find: expected"),
        ({"find": "x", "where": []}, "where: expected and, or, not"),
        ({"find": "x", "where": {"and": [{"not": 3}]}}, "where.and[0].not"),
        ({"find": "x", "where": {"subject": 1, "relation": "r", "object": "o"}}, "where.subject"),
    ],
)
def test_errors_in_json_say_the_place(value: object, words: str) -> None:
    with pytest.raises(FactSyntaxError) as caught:
        query_from_json(value)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "?x : " + "(" * 60 + "a | r | ?x" + ")" * 60,
        "?x : " + " and ".join(["a | r | ?x"] * 60),
        "?x : " + " and ".join(f"?v{i} | r | ?x" for i in range(20)),
        "?x : " + "a" * 20_000 + " | r | ?x",
        '{"find": "x", "where": ' + '{"not": ' * 2000 + "1" + "}" * 2001,
        "SELECT ?x " + "{" * 60 + "}" * 60,
        "?x : ?y | ?r | ?x",
    ],
)
def test_queries_that_are_too_large_are_refused(text: str) -> None:
    with pytest.raises(UserError):
        any_query(text)


def test_sparql_keeps_literals_and_unions() -> None:
    text = "SELECT ?x { { ?x :a 'chat'@fr } UNION { ?x :b _:y ; :c 3, '4'^^<int> } }"
    where = read_sparql(text).where
    assert str(where) == (
        "?x | a | '\"chat\"@fr' or ?x | b | ?_y and ?x | c | 3 and ?x | c | '\"4\"^^<int>'"
    )
