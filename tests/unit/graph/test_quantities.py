"""What literals say as numbers, and the scale of each role."""

import numpy as np
import pytest

from hyperfact.graph.facts import Fact, Literal
from hyperfact.graph.hkg import HKG
from hyperfact.graph.number_roles import NumberRoles
from hyperfact.graph.quantities import Quantity, quantity_of, quantity_of_name
from hyperfact.graph.queries import Queries


@pytest.mark.parametrize(
    ("name", "value", "unit"),
    [
        ('"73.32"^^<km2>', 73.32, "km2"),
        ('"2016"^^xsd:integer', 2016.0, ""),
        ('"-1.5e3"^^<http://www.w3.org/2001/XMLSchema#double>', -1500.0, ""),
        ("+7.07", 7.07, ""),
        ("+5#metre", 5.0, "metre"),
    ],
)
def test_a_number_keeps_its_unit(name: str, value: float, unit: str) -> None:
    assert quantity_of(Literal(name)) == Quantity(value, unit)


def test_a_date_is_a_moment_in_years() -> None:
    found = quantity_of(Literal('"1912-07-01"^^xsd:date'))
    assert found is not None
    assert found.is_date
    assert 1912.5 < found.value < 1912.51
    assert found.text == "1912-07"
    year = quantity_of(Literal('"1912"^^<http://www.w3.org/2001/XMLSchema#gYear>'))
    assert year == Quantity(1912.5, is_date=True)
    early = quantity_of(Literal("-0044-03-15T00:00:00Z"))
    assert early is not None
    assert -44 < early.value < -43


@pytest.mark.parametrize("name", ['"chat"@fr', '"Paris"', '"Point(1 2)"^^<wktLiteral>', '"1e999"'])
def test_other_literals_are_no_numbers(name: str) -> None:
    assert quantity_of(Literal(name)) is None


def test_a_name_is_no_number() -> None:
    assert quantity_of("1912") is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("1912", 1912.0),
        ("-3.5", -3.5),
        ("0", 0.0),
        ("007", None),
        ("1e5", None),
        ("7-Eleven", None),
    ],
)
def test_a_name_can_be_read_as_a_number(name: str, value: float | None) -> None:
    assert quantity_of_name(name) == (None if value is None else Quantity(value))


def test_a_day_can_be_read_as_a_moment() -> None:
    found = quantity_of_name("1954-02-05")
    assert found is not None
    assert found.text == "1954-02"


@pytest.mark.parametrize(
    ("numbers", "others", "is_one"), [(8, 0, True), (7, 0, False), (9, 2, False)]
)
def test_names_are_numbers_where_nearly_all_in_a_role_are(
    numbers: int, others: int, is_one: bool
) -> None:
    names = [str(1900 + i) for i in range(numbers)] + [f"n{i}" for i in range(others)]
    graph = HKG.from_facts([Fact("a", "r", "b", (("year", name),)) for name in names])
    assert bool(NumberRoles.of(graph, names=True)) is is_one
    assert not NumberRoles.of(graph)


def towns() -> HKG:
    area = [Fact(f"town {i}", "area", Literal(f'"{i * 10}"^^<km2>')) for i in range(5)]
    near = [Fact("town 0", "near", f"town {i}", (("since", Literal("+2000")),)) for i in (1, 2)]
    return HKG.from_facts([*area, *near])


def test_a_role_of_numbers_has_a_scale() -> None:
    graph = towns()
    numbers = NumberRoles.of(graph)
    queries = Queries.of(graph)
    role, is_number = numbers.ask(graph, queries)
    assert is_number.sum() == 5 + 2
    areas = is_number & (queries.slot == 1)
    shares = numbers.share(numbers.values[queries.answer[areas]], role[areas])
    np.testing.assert_allclose(sorted(shares), [0.0, 0.25, 0.5, 0.75, 1.0])
    back = numbers.quantity(0.5, int(role[areas][0]), graph.entities)
    assert back == Quantity(20.0, "km2")
    assert back.text == "20 km2"
    since = is_number & (queries.slot == 2)
    assert numbers.span[role[since][0]] == 1.0  # all the same


def test_facts_without_numbers_have_none() -> None:
    assert not NumberRoles.of(HKG.from_facts([Fact("a", "r", "b")]))
