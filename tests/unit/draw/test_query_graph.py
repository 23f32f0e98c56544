"""The graph of a query: well formed, every name in it, colours by variable."""

import random
import xml.etree.ElementTree as ET

import pytest

from hyperfact.draw.query_graph import draw_query, hue_of
from hyperfact.graph.language.formula import Atom, Query, Variable
from hyperfact.graph.language.query_text import read_query
from tests.support.logic import random_query
from tests.support.names import HOSTILE

X, Y = Variable("x"), Variable("y")


def test_every_fact_is_a_line_and_every_variable_a_box() -> None:
    query = read_query("?x : a | r | ?y | q = ?z and not ?y | s | ?x")
    text = draw_query(query, {Y: "somebody"})
    for word in ("?x", "?y = somebody", "?z", "not s", "q = ?z", ">a<"):
        assert word in text
    assert [hue_of(query, v) for v in (X, Y, Variable("z"))] == [0, 1, 2]
    assert text.count("<circle") == 3
    assert text.count("<polygon") == 2


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_can_be_drawn(name: str) -> None:
    query = Query(X, Atom(name, name, X, ((name, name),)))
    ET.fromstring(draw_query(query, {X: name}))


def test_any_query_can_be_drawn() -> None:
    rng = random.Random(4)
    for _ in range(50):
        ET.fromstring(draw_query(random_query(rng), {X: "a"}))
